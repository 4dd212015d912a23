package pair

import (
	"gorun/internal/experiment"
	"gorun/internal/reference"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// published has the three cases of the text that `gorun pair` grew from.
var published = &experiment.Reference{
	Usage: "show the published times of the three cases, by the relation of the CPUs",
	Of: func(run *result.Run) (*result.Reference, error) {
		table, err := reference.Read("pair")
		if err != nil {
			return nil, err
		}
		columns := []result.ReferenceColumn{
			{Name: "real", Title: "ref real", Unit: "s", Decimals: 2, Meaning: "wall time of 100,000,000 loops"},
			{Name: "user", Title: "ref user", Unit: "s", Decimals: 2, Meaning: "user time of both processes"},
			{Name: "sys", Title: "ref sys", Unit: "s", Decimals: 2, Meaning: "system time of both processes"},
		}
		r := table.For("", columns...)
		seen := map[int]bool{}
		for i := range run.Samples {
			v, ok := result.Typed[Figures](&run.Samples[i])
			number := shown.RowOf(run, &run.Samples[i])
			if !ok || v.Work != "syscall" || seen[number] {
				continue
			}
			seen[number] = true
			name := casesOf[v.Relation]
			if row := table.Find(func(row reference.Row) bool { return row["case"] == name }); row != nil {
				r.Rows = append(r.Rows, result.ReferenceRow{Row: number, Name: name, Figures: row.Figures(columns)})
			}
		}
		if run.Matrix != nil {
			r.Compare("real", run.Against)
		}
		return r, nil
	},
}

// casesOf are the text's cases by relation. Its "different cores" are on one node.
var casesOf = map[string]string{
	topology.SameCPU.String():  "same-cpu",
	topology.SameCore.String(): "same-core",
	topology.SameLLC.String():  "different-core",
	topology.SameNode.String(): "different-core",
}
