package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/metrics"
	"gorun/internal/render/term"
	"gorun/internal/table"
	"gorun/internal/units"
)

// Formats are the formats of a report, the default first.
var Formats = []string{"table", "json", "markdown", "prometheus"}

// answer returns the first sentences: ready or not and why, how much a run would suffer, and what else does not work.
func (r *Report) answer() (lines []string) {
	var reasons, others []string
	for _, area := range r.Areas {
		switch {
		case area.Ready:
		case slices.Contains(needed, area.Area):
			reasons = append(reasons, area.Reason)
		default:
			others = append(others, fmt.Sprintf("Not ready for %s: %s.", area.Area.title(), area.Reason))
		}
	}
	t := r.Trial
	switch {
	case !r.Ready:
		lines = []string{"Not ready: " + strings.Join(reasons, "; ") + "."}
	case t == nil:
		lines = []string{"Ready, as far as files show: no runs were compared."}
	default:
		lines = []string{fmt.Sprintf("Ready: a run of %s can find differences from %s on.", units.Duration(t.PromisedSeconds), percent(t.Resolution))}
	}
	if t != nil {
		equal := fmt.Sprintf("Two equal runs of %s differ by %s here", units.Seconds(t.RunSeconds), percent(t.Differs))
		if t.Resolution > 0 && !r.Ready {
			equal += fmt.Sprintf(": after %s, expect “can't tell” below %s", units.Duration(t.PromisedSeconds), percent(t.Resolution))
		}
		lines = append(lines, equal+".")
	}
	return append(lines, others...)
}

func (a Area) title() string {
	if a == NUMA {
		return "NUMA"
	}
	return string(a)
}

// text returns what the condition means and what can be done, in sentences; "" where it means nothing.
func (c Condition) text() string {
	text := c.Effect
	if c.Remedy != "" {
		text += "; " + c.Remedy
	}
	return text
}

// nameWidth is the width of the names' column.
func nameWidth() int {
	width := 0
	for _, c := range conditions {
		width = max(width, term.Width(c.name))
	}
	return width
}

// Table shows the report to a person: the answer, then the conditions of each area.
func (r *Report) Table(w io.Writer, opts term.Options) error {
	r = term.Clean(r)
	var blocks []string
	for i, line := range r.answer() {
		if i == 0 {
			blocks = append(blocks, opts.Paint(term.Bold, line)+"\n")
			continue
		}
		blocks[0] += term.Paragraph("  ", line, opts.Columns())
	}
	width := nameWidth()
	for _, area := range Areas {
		block := opts.Paint(term.Bold, area.title()) + "\n"
		for _, c := range r.Conditions {
			if c.Area != area {
				continue
			}
			text := c.Value
			if about := c.text(); about != "" {
				text += ": " + about
			}
			block += term.Paragraph(fmt.Sprintf("  %-5s  %s  ", c.Level, term.Pad(c.Name, width)), text, opts.Columns())
		}
		blocks = append(blocks, block)
	}
	warnings := ""
	for _, warning := range r.Warnings {
		warnings += term.Paragraph("warning: ", warning, opts.Columns())
	}
	_, err := io.WriteString(w, term.Page(append(blocks, warnings)))
	return err
}

// Markdown shows the report in GitHub Flavored Markdown.
func (r *Report) Markdown(w io.Writer) error {
	r = term.Clean(r)
	var page strings.Builder
	for i, line := range r.answer() {
		if i == 0 {
			page.WriteString("**" + term.EscapeMarkdown(line) + "**\n\n")
			continue
		}
		page.WriteString("- " + term.EscapeMarkdown(line) + "\n")
	}
	text := func(of func(c Condition) string) func(c Condition) table.Value {
		return func(c Condition) table.Value { return table.Text(of(c)) }
	}
	page.WriteString("\n" + term.MarkdownTable(table.Of(r.Conditions).
		With("Area", text(func(c Condition) string { return c.Area.title() })).
		With("Condition", text(func(c Condition) string { return c.Name })).
		With("", text(func(c Condition) string { return string(c.Level) })).
		With("Value", text(func(c Condition) string { return c.Value })).
		With("Effect and remedy", text(func(c Condition) string { return c.text() })).
		Table("", "")))
	for _, warning := range r.Warnings {
		page.WriteString("\n> " + term.EscapeMarkdown(warning) + "\n")
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// Fixes writes the commands that change conditions above OK, each with its undo.
func (r *Report) Fixes(w io.Writer) error {
	var page strings.Builder
	for _, c := range r.Conditions {
		if c.Fix == nil || c.Level == OK {
			continue
		}
		fmt.Fprintf(&page, "# %s: %s\n%s\n# undo: %s\n", c.Name, c.Value, c.Fix.Do, c.Fix.Undo)
	}
	if page.Len() == 0 {
		page.WriteString("# no command changes what was found\n")
	}
	_, err := io.WriteString(w, page.String())
	return err
}

// Prometheus writes the report in the text exposition format, for node_exporter's textfile collector.
func (r *Report) Prometheus(w io.Writer) error {
	ready, counts := map[string]float64{}, map[string]float64{}
	for _, area := range r.Areas {
		ready[string(area.Area)] = 0
		if area.Ready {
			ready[string(area.Area)] = 1
		}
	}
	for _, level := range levels {
		counts[string(level)] = 0
	}
	for _, c := range r.Conditions {
		counts[string(c.Level)]++
	}
	gauges := []metrics.Metric{{
		Name: "gorun_doctor_ready", Help: "Whether the machine is ready for measurements of an area: 1 or 0.",
		Label: "area", Values: ready,
	}, {
		Name: "gorun_doctor_conditions", Help: "The number of conditions of each level.", Label: "level", Values: counts,
	}}
	if t := r.Trial; t != nil {
		gauges = append(gauges, metrics.Metric{
			Name:   "gorun_doctor_equal_runs_difference_ratio",
			Help:   "The median difference of two equal runs, one after the other: 0.02 is 2%.",
			Values: map[string]float64{"": t.Differs},
		})
		if t.Resolution > 0 {
			gauges = append(gauges, metrics.Metric{
				Name:   "gorun_doctor_resolution_ratio",
				Help:   "The least difference that a run of 30 seconds is expected to find: 0.02 is 2%.",
				Values: map[string]float64{"": t.Resolution},
			})
		}
	}
	return metrics.WriteGauges(w, gauges)
}
