package fleet

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/publish/metrics"
	"gorun/internal/publish/render"
	"gorun/internal/publish/report"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// document is what `gorun fleet judge` shows: as JSON it is itself.
type document interface {
	Answer() []view.Statement
	Tables() []table.Table
	warnings() []string
	question() string
	// sheet is the table for a spreadsheet.
	sheet() table.Table
	drawings() []chart.Drawing
}

// format is a row of the table of formats.
type format struct {
	name string
	show func(w io.Writer, d document, opts term.Options) error
}

// formats are the formats of a judgement, the default first.
var formats = [...]format{
	{"table", showTable},
	{"json", showJSON},
	{"csv", func(w io.Writer, d document, _ term.Options) error { return render.TableCSV(w, d.sheet()) }},
	{"markdown", showMarkdown},
	{"html", showPage},
	{"prometheus", ofVisits((*Judgement).prometheus)},
	{"slurm", ofVisits(drainBy(func(node, reason string) string {
		return shell.Join([]string{"scontrol", "update", "nodename=" + node, "state=drain", "reason=" + reason})
	}))},
	{"kubernetes", ofVisits(drainBy(func(node, reason string) string {
		return shell.Join([]string{"kubectl", "cordon", "--", node}) + " # " + reason
	}))},
}

// Formats returns the names of the formats, the default first.
func Formats() (names []string) {
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Show shows a judgement in one of Formats.
func Show(w io.Writer, d document, name string, opts term.Options) error {
	i := slices.IndexFunc(formats[:], func(f format) bool { return f.name == name })
	if name != "json" { // which escapes what cannot be printed
		d = term.Clean(d)
	}
	err := formats[i].show(w, d, opts)
	if errors.Is(err, errNotVisits) {
		return hint.Flag("format", name, err)
	}
	return err
}

var errNotVisits = errors.New("journals of a matrix name no slow nodes: this format is for visits")

// ofVisits returns the show of a format that only a judgement of visits has.
func ofVisits(show func(*Judgement, io.Writer) error) func(io.Writer, document, term.Options) error {
	return func(w io.Writer, d document, _ term.Options) error {
		j, is := d.(*Judgement)
		if !is {
			return errNotVisits
		}
		return show(j, w)
	}
}

func showJSON(w io.Writer, d document, _ term.Options) error { return render.IndentedJSON(w, d) }

func contents(d document) view.Document {
	return view.Document{Answer: d.Answer(), Tables: d.Tables(), Warnings: d.warnings()}
}

func showTable(w io.Writer, d document, opts term.Options) error {
	_, err := io.WriteString(w, contents(d).Text(opts))
	return err
}

func showMarkdown(w io.Writer, d document, _ term.Options) error {
	_, err := io.WriteString(w, contents(d).Markdown())
	return err
}

func showPage(w io.Writer, d document, _ term.Options) error {
	return report.WriteDocument(w, d.question(), contents(d), d.drawings())
}

func (h *Hosts) question() string          { return "On which hosts does a placement help?" }
func (h *Hosts) sheet() table.Table        { return h.cellsTable() }
func (h *Hosts) drawings() []chart.Drawing { return nil }

// reasons returns why each node of which this is certain should be taken out of service, by node in the order of the names, and a
// comment on each other node that is named.
func (j *Judgement) reasons() (nodes []string, reasons map[string]string, comments []string) {
	reasons = map[string]string{}
	unexpected := map[string]bool{}
	for _, n := range j.Nodes {
		unexpected[n.Name] = n.State == Unexpected
	}
	add := func(node, reason string) {
		if reasons[node] == "" {
			nodes = append(nodes, node)
			reasons[node] = "gorun: " + reason
			return
		}
		reasons[node] += ", " + reason
	}
	for _, w := range j.Wrong {
		reason := "wrong result at " + w.Time
		switch {
		case unexpected[w.Node]:
			comments = append(comments, fmt.Sprintf("%s (%s): it is not in --expect", w.Node, reason))
		case !strings.Contains(reasons[w.Node], "wrong result"):
			add(w.Node, reason)
		}
	}
	for _, s := range j.Slow {
		reason := s.words()
		if s.Part != "" {
			reason += " (" + s.Part + ")"
		}
		if s.Unsure != "" {
			comments = append(comments, fmt.Sprintf("%s (%s): %s", s.Node, reason, s.Unsure))
			continue
		}
		add(s.Node, reason)
	}
	return nodes, reasons, comments
}

// drainBy returns a format that has a line for each node that is certain to be slow or wrong, by which an administrator takes it out of
// service. gorun runs none.
func drainBy(line func(node, reason string) string) func(*Judgement, io.Writer) error {
	return func(j *Judgement, w io.Writer) error {
		var page strings.Builder
		nodes, reasons, comments := j.reasons()
		for _, node := range nodes {
			page.WriteString(line(node, reasons[node]) + "\n")
		}
		for _, comment := range comments {
			page.WriteString("# no line for " + comment + "\n")
		}
		if len(nodes)+len(comments) == 0 {
			page.WriteString("# no node is named\n")
		}
		for _, warning := range j.Warnings {
			page.WriteString("# warning: " + warning + "\n")
		}
		_, err := io.WriteString(w, page.String())
		return err
	}
}

// prometheus writes the judgement in the text exposition format, for node_exporter's textfile collector.
func (j *Judgement) prometheus(w io.Writer) error {
	slow := metrics.Metric{Name: "gorun_fleet_slow_ratio", Help: "Of a node that is named: its time divided by its peers', or their rate divided by its own.", Labels: []string{"node", "measure"}}
	for _, s := range j.Slow {
		slow.Points = append(slow.Points, metrics.Point{Labels: []string{s.Node, s.Measure}, Value: s.Ratio})
	}
	wrong := metrics.Metric{Name: "gorun_fleet_wrong_results", Help: "The number of wrong results of a node.", Labels: []string{"node"}}
	for _, node := range distinct(j.Wrong, func(w Wrong) string { return w.Node }) {
		n := len(slices.DeleteFunc(slices.Clone(j.Wrong), func(w Wrong) bool { return w.Node != node }))
		wrong.Points = append(wrong.Points, metrics.Point{Labels: []string{node}, Value: float64(n)})
	}
	states := metrics.Metric{Name: "gorun_fleet_nodes", Help: "The number of nodes in each state.", Labels: []string{"state"}}
	for _, state := range States {
		states.Points = append(states.Points, metrics.Point{Labels: []string{string(state)}, Value: float64(j.States[state])})
	}
	medians := metrics.Metric{Name: "gorun_fleet_class_median", Help: "The median figure of a class of nodes, in the measure's unit.", Labels: []string{"class", "measure"}}
	for _, c := range j.Classes {
		for _, m := range c.Measures {
			medians.Points = append(medians.Points, metrics.Point{Labels: []string{c.Name, m.Measure}, Value: m.Median})
		}
	}
	visits := metrics.Metric{Name: "gorun_fleet_visits_judged", Help: "The number of visits that were judged.", Points: []metrics.Point{{Value: float64(j.Visits.Judged)}}}
	return metrics.WriteGauges(w, []metrics.Metric{slow, wrong, states, visits, medians})
}
