package result

// Reference holds the figures that a published text reports of rows that a run has too. It is added when a run is shown (--with-reference);
// no journal has it.
type Reference struct {
	Source  string            `json:"source"`          // the text
	Machine string            `json:"machine"`         // that it measured on
	Notes   string            `json:"notes,omitempty"` // what else its figures mean
	Columns []ReferenceColumn `json:"columns"`
	Rows    []ReferenceRow    `json:"rows"` // those that the run has too
}

// ReferenceColumn is a figure of a text.
type ReferenceColumn struct {
	Name     string `json:"name"`     // key of ReferenceRow.Figures
	Title    string `json:"title"`    // of the table's column
	Unit     string `json:"unit"`     // "s", "ns", "%"; "" for a ratio
	Decimals int    `json:"decimals"` // that the text writes
	Meaning  string `json:"meaning"`
	Hidden   bool   `json:"-"` // the table has no column for it
}

// ReferenceRow is a row of a text.
type ReferenceRow struct {
	Row     int                `json:"row"`  // the number of the run's row: the index of its cell, or its number in the plan
	Name    string             `json:"name"` // what the text calls it
	Figures map[string]float64 `json:"figures"`
}

// ReferenceRatio is the name of the column with a row's ratio to the row of the text that the run's baseline is.
const ReferenceRatio = "ratio"

// Figure returns a figure of a row; false where the text has none. A nil reference has no rows.
func (r *Reference) Figure(row int, name string) (figure float64, found bool) {
	if r != nil {
		for i := range r.Rows {
			if r.Rows[i].Row == row {
				figure, found = r.Rows[i].Figures[name]
				return figure, found
			}
		}
	}
	return 0, false
}

// Compare adds the column of ratios: each row's figure over that of the row that it is compared with. Rows without such a
// figure have none.
func (r *Reference) Compare(of string, against func(row int) int) {
	compared := false
	for _, row := range r.Rows {
		figure, known := row.Figures[of]
		base, has := r.Figure(against(row.Row), of)
		if known && has && base > 0 {
			row.Figures[ReferenceRatio], compared = figure/base, true
		}
	}
	if compared {
		r.Columns = append(r.Columns, ReferenceColumn{
			Name: ReferenceRatio, Title: "its ratio", Decimals: 3, Meaning: "over the source's own row of the baseline",
		})
	}
}
