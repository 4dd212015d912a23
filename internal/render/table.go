package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/column"
	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// Views are the experiments of which runs are shown, each as its View says. A run of another one is shown by the names of
// its options and by the columns that all have.
type Views []experiment.Experiment

// Of returns how runs of an experiment are shown.
func (v Views) Of(name string) experiment.View {
	for _, x := range v {
		if x.Name == name && x.View != nil {
			return *x.View
		}
		if other, found := x.Others[name]; found {
			return other.View
		}
	}
	return experiment.View{
		Title: view.OptionsTitle, Blocks: view.SampleBlocks(v.Columns(name)), Plan: view.PlanShares,
	}
}

// Derive adds the findings and warnings that follow from a run's samples alone, so that a run that was resumed, interrupted, or
// read from its journal has the same.
func (v Views) Derive(run *result.Run) {
	derived := v.Of(run.Experiment).Derived
	if derived == nil {
		return
	}
	findings, warnings := derived(run)
	run.Findings, run.Warnings = findings, append(run.Warnings, warnings...)
}

// Columns returns the columns of runs of an experiment: of one that is not known, those that all have.
func (v Views) Columns(name string) column.List {
	columns, _ := v.Known(name)
	return columns
}

// Known returns the columns of runs of an experiment, and reports whether the experiment is among these.
func (v Views) Known(name string) (columns column.List, known bool) {
	for _, x := range v {
		if x.Name == name {
			return x.Columns, true
		}
		if other, found := x.Others[name]; found {
			return other.Columns, true
		}
	}
	return column.Common(), false
}

// Table shows a run to a person, in opts.Width columns: its answer; its figures (the median over the samples and their
// range), each CPU's share and how good the samples are, or what the experiment shows instead; what ran and where; and the
// warnings. A matrix is a row a cell, with what was found of it. Without a terminal the table has neither bars nor colour.
func (v Views) Table(w io.Writer, run *result.Run, opts term.Options) error {
	run = term.Clean(run)
	options, err := view.SpecOf(run.Spec)
	if err != nil {
		return err
	}
	blocks := v.runBlocks
	if run.Matrix != nil && !v.ownCells(run) {
		blocks = v.matrixBlocks
	}
	_, err = io.WriteString(w, term.Page(blocks(run, options, opts)))
	return err
}

// ownCells reports whether the cells of a run are rows of its experiment's own table, and not of a matrix's.
func (v Views) ownCells(run *result.Run) bool {
	own := v.Of(run.Experiment).OwnCells
	return own != nil && own(run)
}

// runBlocks are the table of a run that is not a matrix.
func (v Views) runBlocks(run *result.Run, options view.Spec, opts term.Options) []string {
	of := v.Of(run.Experiment)
	blocks := append([]string{v.answerBlock(run, opts)}, of.Blocks(run, options, opts)...)
	return append(blocks, v.findingsBlock(run, opts), heading(run, of, options, opts), warningsBlock(run.Warnings, opts))
}

// Answer returns the findings of a run, the answer first.
func (v Views) Answer(run *result.Run) []view.Statement {
	of := v.Of(run.Experiment)
	var statements []view.Statement
	if options, err := view.SpecOf(run.Spec); err == nil && of.Answer != nil {
		statements = of.Answer(run, options)
	}
	if len(statements) == 0 {
		statements = of.Compared.Answer(run)
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

func (v Views) answerBlock(run *result.Run, opts term.Options) string {
	return view.AnswerBlock(v.Answer(run), opts)
}

// heading says what ran, how it was placed, and on what.
func heading(run *result.Run, of experiment.View, options view.Spec, opts term.Options) string {
	title, parts := of.Title(run, options)
	width := opts.Columns()
	block := ""
	for _, line := range term.WrapPhrases([]term.Phrase{{Text: title}}, width, opts) {
		block += line + "\n"
	}
	if len(parts) > 0 {
		block += "  " + term.Flow(parts, " · ", "  ", width-2)
	}
	if placed := placementText(run.Samples, opts); placed != "" {
		block += term.Paragraph("  placement ", placed, width)
	}
	return block + "  " + term.Flow(hostParts(run, options), " · ", "  ", width-2)
}

// placementText says what was asked, and whether the kernel's answers were the same in all samples.
func placementText(samples []result.Sample, opts term.Options) string {
	if len(samples) == 0 {
		return ""
	}
	asked := samples[0].Placement.Requested
	settings := requests(samples)
	if settings > 1 {
		asked = units.Things(settings, "setting")
	}
	checked, differing, unread, ignored, why := 0, 0, 0, 0, ""
	var mismatches []string
	for i := range samples {
		placed := &samples[i].Placement
		checked += placed.Checked
		if placed.NoEffect != "" {
			ignored, why = ignored+1, placed.NoEffect
		}
		for _, mismatch := range placed.Mismatches {
			if len(mismatches) < 3 && !slices.Contains(mismatches, mismatch) {
				mismatches = append(mismatches, mismatch)
			}
		}
		switch {
		case placed.Verified:
		case placed.Checked > 0 || len(placed.Mismatches) > 0:
			differing++
		default:
			unread++
		}
	}
	// Colour is put on single words, since a paragraph may break between any two.
	switch {
	case differing > 0:
		text := asked + ": " + opts.Paint(term.Red, "not") + " what was asked"
		if len(samples) > 1 {
			text += fmt.Sprintf(" in %d of %d samples", differing, len(samples))
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
			asked, opts.Paint(term.Yellow, "without"), ignored, len(samples), why)
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

// requests returns the number of different placements that the samples requested.
func requests(samples []result.Sample) int {
	asked := map[string]struct{}{}
	for i := range samples {
		asked[samples[i].Placement.Requested] = struct{}{}
	}
	return len(asked)
}

// hostParts is the machine, and the share of it that the run used.
func hostParts(run *result.Run, options view.Spec) []string {
	host := &run.Host
	var parts []string
	if host.CPUModel != "" {
		parts = append(parts, strings.Join(strings.Fields(host.CPUModel), " "))
	}
	cpus := fmt.Sprintf("%d CPUs", host.CPUs)
	share := options.Text("cpus")
	if share == "" {
		share = host.Allowed
	}
	if used, err := cpuset.Parse(share); err == nil && !used.Empty() {
		cpus = fmt.Sprintf("%d of %s (%s)", used.Len(), cpus, term.Shorten(used.String(), 24))
	}
	parts = append(parts, cpus)
	system := strings.TrimSpace(host.OS + " " + host.Kernel)
	if host.Conditions != nil {
		return append(append(parts, host.Conditions...), system, run.Tool.Go)
	}
	if host.Nodes > 1 { // a journal from before the conditions
		parts = append(parts, fmt.Sprintf("%d nodes", host.Nodes))
	}
	if host.CPUQuota != nil {
		parts = append(parts, "quota "+units.Ratio(*host.CPUQuota)+" CPUs")
	}
	if host.Hypervisor {
		system += " (virtual machine)"
	}
	return append(parts, system, run.Tool.Go)
}

// FindingsTitle is the heading of a run's findings.
func (v Views) FindingsTitle(run *result.Run) string {
	return cmp.Or(v.Of(run.Experiment).Found, "What limited this run")
}

// answers reports whether the run's answer has its findings.
func (v Views) answers(run *result.Run) bool {
	answer := v.Answer(run)
	return !slices.ContainsFunc(run.Findings, func(f result.Finding) bool {
		return !slices.ContainsFunc(answer, func(s view.Statement) bool {
			return strings.EqualFold(strings.TrimSuffix(s.Text, "."), strings.TrimSuffix(f.Message, "."))
		})
	})
}

// findingsBlock shows what limited the run, and the other findings that the answer leaves out.
func (v Views) findingsBlock(run *result.Run, opts term.Options) string {
	if len(run.Findings) == 0 || v.answers(run) {
		return ""
	}
	block := opts.Paint(term.Bold, v.FindingsTitle(run)+":") + "\n"
	for _, finding := range run.Findings {
		block += term.Paragraph("  - ", finding.Message, opts.Columns())
	}
	return block
}

// warningsBlock is the footnotes. Those with the same hint come together, with the hint after the last.
func warningsBlock(warnings []result.Warning, opts term.Options) string {
	warnings = result.OneEach(warnings)
	if len(warnings) == 0 {
		return ""
	}
	block := opts.Paint(term.Bold, "Warnings:") + "\n"
	for i, warning := range warnings {
		alike := func(w result.Warning) bool { return w.Hint != "" && w.Hint == warning.Hint }
		if slices.ContainsFunc(warnings[:i], alike) {
			continue
		}
		block += term.Paragraph("  ! ", warning.Message, opts.Columns())
		for _, w := range warnings[i+1:] {
			if alike(w) {
				block += term.Paragraph("  ! ", w.Message, opts.Columns())
			}
		}
		if warning.Hint != "" {
			text, command, found := strings.Cut(warning.Hint, ": gorun ")
			if found { // never broken: it is there to be copied
				text, command = text+":", "      gorun "+command+"\n"
			}
			block += term.Paragraph("    hint: ", text, opts.Columns()) + command
		}
	}
	return block
}
