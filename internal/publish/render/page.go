// Package render makes documents of runs, plans, comparisons and machines. Package document shows them in each format.
package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// Views are the experiments of which runs are shown. A run of another one is shown by the columns that all have.
type Views []experiment.Experiment

// find returns an experiment; one that is not known has the columns that all have.
func (v Views) find(name string) (x experiment.Experiment, of experiment.View) {
	x, err := experiment.Find(v, name)
	if err != nil {
		x.Columns = column.Common()
	}
	if x.View != nil {
		of = *x.View
	}
	return x, of
}

// Of returns how runs of an experiment are shown.
func (v Views) Of(name string) experiment.View {
	_, of := v.find(name)
	return of
}

// Known returns the columns of runs of an experiment, and reports whether the experiment is among these: one that is not has the
// columns that all have.
func (v Views) Known(name string) (columns column.List, known bool) {
	x, _ := v.find(name)
	return x.Columns, x.Name != ""
}

// Shape returns the shape of a run's tables.
func (v Views) Shape(run *result.Run) view.Shape {
	x, _ := v.find(run.Experiment)
	return x.Shape(false).In(run.Units)
}

// Tables returns the tables of a run.
func (v Views) Tables(run *result.Run, verbose bool) []table.Table {
	x, _ := v.find(run.Experiment)
	return x.Tables(run, verbose)
}

// Derive adds what follows from a run's samples alone, so that a run that was resumed, interrupted, or read from its journal has the same: the
// findings and warnings, and where the time of cells went that differ. A journal does not keep them.
func (v Views) Derive(run *result.Run) {
	_, changed := run.FilesAtEnd()
	run.Warnings = append(run.Warnings, changed...)
	matrix.Explain(run, false)
	derived := v.Of(run.Experiment).Derived
	if derived == nil {
		return
	}
	findings, warnings := derived(run)
	run.Findings, run.Warnings = findings, append(run.Warnings, warnings...)
}

// Run is a run as a document. As JSON it is itself.
type Run struct {
	*result.Run
	views Views
}

// Run returns a run as a document.
func (v Views) Run(run *result.Run) Run { return Run{run, v} }

// Page implements document.Document: what ran, how it went, and what limited it.
func (r Run) Page(verbose bool) view.Page {
	page := r.page(verbose)
	x, of := r.views.find(r.Experiment)
	if slices.ContainsFunc(x.Tables(r.Run, verbose), func(t table.Table) bool {
		return slices.ContainsFunc(t.Columns, table.Column.IsVerdict)
	}) {
		page.Above = append(page.Above, func(opts term.Options) string { return view.NextBlock(r.Run, x.Resumes(r.Run), opts) })
	}
	if of.Drawn != nil {
		page.Above = append(page.Above, func(opts term.Options) string { return of.Drawn(r.Run, opts) })
	}
	if !verbose {
		shorten(&page, r.Samples)
	}
	return page
}

// Brief implements document.Summarised.
func (r Run) Brief() view.Page { return r.page(false) }

// page has what all readers want: the run's answer, its tables, how good its samples are, how they were taken, and the warnings.
func (r Run) page(verbose bool) view.Page {
	return view.Page{
		Answer: r.views.Answer(r.Run),
		Tables: slices.Concat(r.views.Tables(r.Run, verbose), view.WhyTables(r.Run), view.Quality(r.Run, verbose)),
		Below: []view.Text{
			func(opts term.Options) string { return interrupted(r.Run, opts) },
			func(opts term.Options) string { return r.views.findingsBlock(r.Run, opts) },
			func(opts term.Options) string { return term.Dimmed(r.views.howBlock(r.Run, opts), opts) },
		},
		Warnings: result.OneEach(r.Warnings),
	}
}

// shorten leaves out the table of the reasons why samples are not valid where the answer has the first of them, and says where the others
// are.
func shorten(page *view.Page, samples result.Samples) {
	grades := view.ByGrade(samples)
	others := len(grades[result.Invalid].Reasons) + len(grades[result.Suspect].Reasons) - 1
	if others >= 0 && !slices.ContainsFunc(page.Answer, func(s view.Statement) bool { return s.Doubts }) {
		return
	}
	at := slices.IndexFunc(page.Tables, func(t table.Table) bool { return t.Name == view.QualityTable })
	var more []string
	if others > 0 {
		more = []string{"--verbose shows " + units.Things(others, "more reason")}
	}
	if more = append(more, page.Tables[at].Notes...); len(more) > 0 {
		page.Answer = append(page.Answer, view.Statement{Text: strings.Join(more, "; ")})
	}
	page.Tables = slices.Delete(page.Tables, at, at+1)
}

// interrupted tells that there could be more.
func interrupted(run *result.Run, opts term.Options) string {
	if !run.Partial {
		return ""
	}
	return term.Paragraph(opts.Paint(term.Yellow, "interrupted")+": ",
		"what is shown was measured, and more was planned", opts.Columns())
}

// Answer returns the findings of a run, the answer first.
func (v Views) Answer(run *result.Run) []view.Statement {
	var statements []view.Statement
	if of := v.Of(run.Experiment); of.Answer != nil {
		statements = of.Answer(run)
	}
	if len(statements) == 0 {
		statements = v.Shape(run).Answer(run)
	}
	return append(statements, gateStatement(run.Gate)...)
}

// gateStatement says what --fail-on found.
func gateStatement(gate *result.Gate) []view.Statement {
	if gate == nil {
		return nil
	}
	return []view.Statement{{Text: gate.String()}}
}

// howBlock says what ran, with what options, how often and where. Options that the experiment does not count among the first, the
// rules of the verdicts and the warm-ups are for opts.Verbose.
func (v Views) howBlock(run *result.Run, opts term.Options) string {
	width := opts.Columns()
	words := slices.DeleteFunc(slices.Clone(run.Command), func(word string) bool {
		return !opts.Verbose && strings.HasPrefix(word, "--seed=")
	})
	if len(words) == 0 {
		words = []string{run.Experiment}
	}
	block := term.Flow(strings.Fields(shell.Join(append([]string{"gorun"}, words...))), " ", "    ", width)
	for _, parts := range [][]string{v.optionParts(run, opts.Verbose), scheduleParts(run, opts.Verbose), overheadParts(run, opts.Verbose)} {
		block += flowed(parts, width)
	}
	if placed := placementText(run.Samples, opts); placed != "" {
		block += term.Paragraph("  placement ", placed, width)
	}
	return block + flowed(hostParts(run), width) + chosenLines(run.Cells, width)
}

// flowed returns parts in lines that are indented.
func flowed(parts []string, width int) string {
	if len(parts) == 0 {
		return ""
	}
	for i, part := range parts {
		parts[i] = term.Snip(part, width-2)
	}
	return "  " + term.Flow(parts, " · ", "  ", width-2)
}

// optionParts are the options that all cells have in common.
func (v Views) optionParts(run *result.Run, verbose bool) (parts []string) {
	if len(run.Cells) > 1 {
		flags, differ := view.CellFlags(run.Cells)
		for _, flag := range flags {
			if !differ[flag] {
				parts = append(parts, view.Option(flag, run.Cells[0].Flags[flag]))
			}
		}
		if parts != nil {
			return parts
		}
	}
	options, first := view.OptionsOf(run.Spec), v.Of(run.Experiment).Options
	for _, name := range options.Names(first...) {
		if (verbose || first == nil || slices.Contains(first, name)) && name != "cpus" && name != "command" {
			parts = append(parts, view.Option(name, options.Text(name)))
		}
	}
	return parts
}

// scheduleParts say how many samples were taken, and by what rules they were judged.
func scheduleParts(run *result.Run, verbose bool) (parts []string) {
	m := run.Matrix
	if m == nil {
		return nil
	}
	rounds := 0
	for _, s := range run.Samples.Each() {
		if slot := s.Slot; slot != nil {
			rounds = max(rounds, slot.Round+1)
		}
	}
	taken := units.Things(rounds, "round")
	if rounds < m.Planned() {
		taken = fmt.Sprintf("%d of %s", rounds, units.Things(m.Planned(), "round"))
	}
	parts = append(parts, taken, units.Things(run.Samples.Len(), "sample"))
	if m.Warmup > 0 && verbose {
		dropped := units.Things(m.Warmup, "warm-up") + " dropped before each"
		if m.WarmupSeconds > 0 {
			dropped += ", cut after " + units.Duration(m.WarmupSeconds)
		}
		parts = append(parts, dropped)
	}
	parts = append(append(parts, m.LayoutWords()...), "margin "+units.Share(m.Margin))
	if rounds < stats.FirstLook && m.Enough != "" && m.Order.Design == "" && len(m.Steps) == 0 && m.Planned() != rounds {
		parts = append(parts, fmt.Sprintf("total: not looked at (%d rounds)", stats.FirstLook))
	}
	if verbose {
		parts = append(parts, "alpha "+units.Share(m.Alpha))
	}
	return parts
}

// overheadParts say what gorun itself used.
func overheadParts(run *result.Run, verbose bool) []string {
	of := run.Overhead
	if of == nil || !verbose {
		return nil
	}
	return []string{fmt.Sprintf("gorun itself used %s of CPU time in %s, %s of a CPU",
		units.Seconds(of.CPUSeconds), units.Seconds(of.Seconds), units.Share(of.Share()))}
}

// chosenLines are a line for each CPU that was chosen among others.
func chosenLines(cells []result.Cell, width int) (block string) {
	seen := map[string]bool{"": true}
	for _, cell := range cells {
		if !seen[cell.Chosen] {
			seen[cell.Chosen] = true
			block += term.Paragraph("  ", cell.Chosen, width)
		}
	}
	return block
}

// mostMismatches is how many of the kernel's other answers are quoted.
const mostMismatches = 3

// placementText says what was asked, and whether the kernel's answers were the same in all samples.
func placementText(samples result.Samples, opts term.Options) string {
	requests := map[string]struct{}{}
	asked, ran, checked, differing, unread, ignored, why := "", 0, 0, 0, 0, 0, ""
	var mismatches []string
	for _, s := range samples.Each() {
		placed := s.Placement
		if placed.Requested == "" { // it did not run
			continue
		}
		requests[placed.Requested] = struct{}{}
		asked, ran = placed.Requested, ran+1
		checked += placed.Checked
		mismatches = append(mismatches, placed.Mismatches...)
		if placed.NoEffect != "" {
			ignored, why = ignored+1, placed.NoEffect
		}
		switch {
		case placed.Verified:
		case placed.Checked > 0 || len(placed.Mismatches) > 0:
			differing++
		default:
			unread++
		}
	}
	settings := len(requests)
	if settings > 1 {
		asked = units.Things(settings, "setting")
	}
	slices.Sort(mismatches)
	mismatches = slices.Compact(mismatches)
	mismatches = mismatches[:min(len(mismatches), mostMismatches)]
	// Colour is put on single words, since a paragraph may break between any two.
	switch {
	case differing > 0:
		text := asked + ": " + opts.Paint(term.Red, "not") + " what was asked"
		if ran > 1 {
			text += fmt.Sprintf(" in %d of %d samples", differing, ran)
		}
		if len(mismatches) > 0 {
			text += ": " + strings.Join(mismatches, "; ")
		}
		return text
	case unread > 0 && asked != "none":
		return asked + ": " + opts.Paint(term.Yellow, "not") + " read back"
	case len(mismatches) > 0:
		return asked + ": as asked at first; then " + strings.Join(mismatches, "; ")
	case ignored > 0:
		return fmt.Sprintf("%s: accepted, and %s effect in %d of %d samples: %s",
			asked, opts.Paint(term.Yellow, "without"), ignored, ran, why)
	case checked > 0:
		if opts.Verbose {
			return fmt.Sprintf("%s: read back as asked, %s", asked, units.Things(checked, "time"))
		}
		if settings > 1 {
			return "read back as asked in each sample"
		}
		return asked + ": read back as asked"
	}
	return asked
}

// Machine names the machine, and the share of it that the run used.
func Machine(run *result.Run) string {
	parts := hostParts(run)
	if run.Host.Hostname != "" {
		parts = slices.Insert(parts, 0, run.Host.Hostname)
	}
	return strings.Join(parts, " · ")
}

// hostParts is the machine without its name, and the share of it that the run used.
func hostParts(run *result.Run) []string {
	host := &run.Host
	var parts []string
	if model := chart.CPUModel(*host); model != "" {
		parts = append(parts, model)
	}
	cpus := fmt.Sprintf("%d CPUs", host.CPUs)
	if used, err := cpuset.Parse(cmp.Or(view.OptionsOf(run.Spec).Text("cpus"), host.Allowed)); err == nil && !used.Empty() {
		cpus = fmt.Sprintf("%d of %s (%s)", used.Len(), cpus, term.Shorten(used.String(), 24))
	}
	return append(append(append(parts, cpus), host.Conditions...), strings.TrimSpace(host.OS+" "+host.Kernel), run.Tool.Go)
}

// FindingsTitle is the heading of a run's findings.
func (v Views) FindingsTitle(run *result.Run) string {
	return cmp.Or(v.Of(run.Experiment).Found, "What limited this run")
}

// Findings are what limited the run, and what else was found, as far as the answer leaves it out.
func (v Views) Findings(run *result.Run) []result.Finding {
	answer := v.Answer(run)
	return slices.DeleteFunc(slices.Clone(run.Findings), func(f result.Finding) bool {
		return slices.ContainsFunc(answer, func(s view.Statement) bool { return s.Finding == f.Message })
	})
}

// findingsBlock shows the findings that the answer leaves out.
func (v Views) findingsBlock(run *result.Run, opts term.Options) string {
	findings := v.Findings(run)
	if len(findings) == 0 {
		return ""
	}
	block := opts.Paint(term.Bold, v.FindingsTitle(run)+":") + "\n"
	for _, finding := range findings {
		block += term.Paragraph("  - ", finding.Message, opts.Columns())
	}
	return block
}
