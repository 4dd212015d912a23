package view

import (
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

// ReferenceText shows a figure that a published text reports of a row of the run, with the text's decimals; units.None
// where it has none.
func ReferenceText(r *result.Reference, row int, column result.ReferenceColumn) string {
	x, found := r.Figure(row, column.Name)
	if !found {
		return units.None
	}
	return strconv.FormatFloat(x, 'f', column.Decimals, 64)
}

// ReferenceColumns returns the columns of a run's reference that a table shows; none without a reference.
func ReferenceColumns(run *result.Run) (columns []result.ReferenceColumn) {
	if run.Reference == nil {
		return nil
	}
	for _, c := range run.Reference.Columns {
		if !c.Hidden {
			columns = append(columns, c)
		}
	}
	return columns
}

// ReferenceGrid returns the reference's columns of a grid with a row for each of these rows of the run, and their texts.
func ReferenceGrid(run *result.Run, rows []int) (columns []term.Column, cells [][]string) {
	cells = make([][]string, len(rows))
	for _, c := range ReferenceColumns(run) {
		columns = append(columns, term.Right(c.Title))
		for i, row := range rows {
			cells[i] = append(cells[i], ReferenceText(run.Reference, row, c))
		}
	}
	return columns, cells
}

// WithReference adds the reference's columns to a grid with a row for each of these rows of the run. Where there is no room
// for them, the grid stays as it is, and they stand below it, after as many of its columns as there are labels.
func WithReference(
	run *result.Run, rows []int, columns []term.Column, cells [][]string, labels int, opts term.Options,
) (with []term.Column, withCells [][]string, below string) {
	published, figures := ReferenceGrid(run, rows)
	if len(published) == 0 {
		return columns, cells, ""
	}
	with = slices.Concat(columns, published)
	for i := range cells {
		withCells = append(withCells, slices.Concat(cells[i], figures[i]))
	}
	if term.GridWidth(with, withCells) <= opts.Columns() {
		return with, withCells, ""
	}
	labelled := make([][]string, len(cells))
	for i := range cells {
		labelled[i] = cells[i][:labels]
	}
	return columns, cells, "\n" + ReferenceBelow(columns[:labels], labelled, published, figures, opts)
}

// ReferenceBelow is a grid of the figures that a published text reports of rows, after what tells the rows apart.
func ReferenceBelow(
	labels []term.Column, labelled [][]string, published []term.Column, figures [][]string, opts term.Options,
) string {
	columns, cells := slices.Concat(labels, published), make([][]string, len(figures))
	room := opts.Columns()
	if len(labels) == 1 {
		room = max(8, room-term.GridWidth(published, figures)-2)
	}
	for i := range figures {
		cells[i] = slices.Concat(labelled[i], figures[i])
		cells[i][0] = term.Snip(cells[i][0], room)
	}
	return term.FoldedGrid(columns, cells, opts)
}

// ReferenceBlock names the text whose figures stand beside the run's, its machine, and what its columns are.
func ReferenceBlock(run *result.Run, opts term.Options) string {
	r := run.Reference
	if r == nil {
		return ""
	}
	block := term.Paragraph(opts.Paint(term.Bold, "reference")+": ", r.Source, opts.Columns()) +
		term.Paragraph("  on ", r.Machine, opts.Columns()-2)
	var columns []string
	for _, c := range ReferenceColumns(run) {
		column := c.Title + " is " + c.Meaning
		if c.Unit != "" {
			column += ", in " + c.Unit
		}
		columns = append(columns, column)
	}
	if len(columns) > 0 {
		block += term.Paragraph("  ", strings.Join(columns, "; ")+".", opts.Columns()-2)
	}
	if r.Notes != "" {
		block += term.Paragraph("  ", r.Notes, opts.Columns()-2)
	}
	return block
}
