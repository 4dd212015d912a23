package bind

import (
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/render/chart"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

// SVG writes the table of a run of `gorun bind` as a self-contained SVG file.
func SVG(w io.Writer, run *result.Run) error {
	return chart.Write(w, run, hint.With(errors.New("cannot draw the table: no trial has a good sample"),
		"the samples in --out have the reasons"), Trials)
}

// Trials draws the time of each process's sum in each trial, unbound above bound. It returns false if no sample is
// good.
func Trials(run *result.Run) (chart.Figure, bool) {
	if run.Experiment != "bind" {
		return chart.Figure{}, false
	}
	run = term.Clean(run)
	m, ok := trialsOf(run).heat()
	if !ok || !chart.Drawable(m.scale.Lo, m.scale.Hi) {
		return chart.Figure{}, false
	}
	f := chart.Figure{
		Title:       "Time of each sum, in ms, by process and trial",
		Description: "Rows are processes, columns are trials. " + m.legend(),
		Table:       table.Table{Name: "trials", Title: "Times by process and trial"},
	}
	f.Table.Add("process")
	for _, c := range m.columns {
		f.Table.Add(c.name)
	}
	add := func(name string, of func(c trialsColumn) float64) {
		row := []table.Value{table.Text(name)}
		for _, c := range m.columns {
			row = append(row, table.Seconds(of(c)/1e3))
		}
		f.Table.Rows = append(f.Table.Rows, table.Row{Values: row})
	}
	for row, name := range m.rows {
		add(name, func(c trialsColumn) float64 { return c.at[row] })
	}
	add(meanName, func(c trialsColumn) float64 { return c.mean })

	var b strings.Builder
	height := 0
	for _, bound := range []bool{false, true} {
		drawn, taken := m.svgSide(bound)
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n%s</g>\n", chart.Margin, height, drawn)
		height += taken
	}
	b.WriteString(chart.DrawScale(m.scale.Legend(), "ms", chart.Margin+namesWidth, height))
	f.SVG = chart.Frame(f, chart.CPUModel(run.Host), height+chart.Margin+22, b.String())
	return f, true
}

// namesWidth is the width of the names of rows, in units.
const namesWidth = 40

// svgSide draws the bound or the unbound trials, and returns their height.
func (m heat) svgSide(bound bool) (drawn string, height int) {
	const line = 17
	var columns []trialsColumn
	for _, c := range m.columns {
		if c.bound == bound {
			columns = append(columns, c)
		}
	}
	if len(columns) == 0 {
		return "", 0
	}
	cell := min(chart.MapCell, float64(chart.Inside-namesWidth)/float64(len(columns)))
	title := "A, unbound"
	if bound {
		title = "B, bound"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<text y="12" font-weight="600">%s</text><g transform="translate(%d 34)" font-size="10">`+"\n", title, namesWidth)
	for row, name := range m.rows {
		fmt.Fprintf(&b, `<text x="-5" y="%d" text-anchor="end">%s</text>`+"\n", row*line+12, name)
	}
	foot := len(m.rows)*line + 14
	fmt.Fprintf(&b, `<text x="-5" y="%d" text-anchor="end" font-weight="600">%s</text>`+"\n", foot, meanName)
	for n, c := range columns {
		left := float64(n) * cell
		fmt.Fprintf(&b, `<text x="%.4g" y="-5" text-anchor="middle">%s</text>`+
			`<text x="%[1]g" y="%[3]d" text-anchor="middle" font-weight="600">%[4]s</text>`+"\n", left+cell/2, c.name, foot,
			html.EscapeString(m.show(c.mean)))
		for row, ms := range c.at {
			if math.IsNaN(ms) {
				continue
			}
			shade := chart.Shades[m.scale.Level(ms)]
			fmt.Fprintf(&b, `<g><title>%s in %s: %s ms</title><rect x="%.4g" y="%d" width="%.4g" height="%d" fill="%s"/>`+
				`<text x="%.4g" y="%d" text-anchor="middle" fill="%s">%s</text></g>`+"\n", m.rows[row], c.name, units.Tenths(ms),
				left, row*line, cell, line, shade.Web, left+cell/2, row*line+12, shade.Ink, html.EscapeString(m.show(ms)))
		}
	}
	return b.String() + "</g>\n", 34 + foot + 20
}
