package bind

import (
	"gorun/internal/experiment"
	"gorun/internal/reference"
	"gorun/internal/result"
)

// published has the figures of the article that `gorun bind` grew from.
var published = &experiment.Reference{
	Usage: "show the published figures of bound processes",
	Of: func(run *result.Run) (*result.Reference, error) {
		table, err := reference.Read("bind")
		if err != nil {
			return nil, err
		}
		columns := []result.ReferenceColumn{{
			Name: "faster_percent", Title: "ref faster", Unit: "%", Meaning: "how much faster bound processes are, about",
		}}
		r := table.For("", columns...)
		seen := map[int]bool{}
		for i := range run.Samples {
			v, ok := result.Typed[Figures](&run.Samples[i])
			number := shown.RowOf(run, &run.Samples[i])
			if !ok || !v.Bound || seen[number] || !shown.OwnCells(run) {
				continue
			}
			seen[number] = true
			row := table.Find(func(row reference.Row) bool { return row["case"] == "bound" })
			if row != nil {
				r.Rows = append(r.Rows, result.ReferenceRow{Row: number, Name: "bound", Figures: row.Figures(columns)})
			}
		}
		return r, nil
	},
}
