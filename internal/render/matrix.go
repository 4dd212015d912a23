package render

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// matrixBlocks are the table of a matrix: the verdicts and the command that continues it, a row a cell, what to think of the
// samples, and what was compared and how.
func (v Views) matrixBlocks(run *result.Run, options view.Spec, opts term.Options) []string {
	of, below := v.Of(run.Experiment), ""
	if of.Below != nil {
		below = of.Below(run, opts)
	}
	return []string{
		v.answerBlock(run, opts) + view.NextBlock(run, opts),
		view.CellsBlock(run, opts),
		view.GroupsBlock(run, opts),
		below,
		view.ControlBlock(run, opts),
		view.DoubtsBlock(run, opts),
		v.findingsBlock(run, opts),
		matrixHeading(run, of, options, opts),
		warningsBlock(run.Warnings, opts),
	}
}

// matrixHeading says what was compared, by what rules, and on what.
func matrixHeading(run *result.Run, of experiment.View, options view.Spec, opts term.Options) string {
	m, width := run.Matrix, opts.Columns()
	title := "gorun matrix " + run.Experiment
	if len(run.Command) > 0 && (run.Command[0] == run.Experiment || run.Command[0] == "ab") {
		title = "gorun " + run.Command[0]
	}
	compared := []string{units.Things(len(run.Cells), "cell"), run.BaselineWords()}
	var parts []string
	if of.Placed != nil {
		if placed := of.Placed(run); placed != "" {
			parts = append(parts, placed)
		}
	}
	if m.Title == "" {
		title += ": " + strings.Join(compared, ", ")
	} else {
		parts = slices.Concat([]string{title}, parts, compared)
		title = m.Title
	}

	rounds := map[int]struct{}{}
	for i := range run.Samples {
		if slot := run.Samples[i].Slot; slot != nil {
			rounds[slot.Round] = struct{}{}
		}
	}
	taken := units.Things(len(rounds), "round")
	if len(rounds) < m.Rounds {
		taken = fmt.Sprintf("%d of %s", len(rounds), units.Things(m.Rounds, "round"))
	}
	parts = append(parts, taken, units.Things(len(run.Samples), "sample"))
	if m.Warmup > 0 {
		dropped := units.Things(m.Warmup, "warm-up") + " dropped before each"
		if m.WarmupSeconds > 0 {
			dropped += ", cut after " + units.Duration(m.WarmupSeconds)
		}
		parts = append(parts, dropped)
	}
	parts = append(append(parts, m.LayoutWords()...), "margin "+units.Share(m.Margin), "alpha "+units.Share(m.Alpha))

	var block strings.Builder
	for _, line := range term.WrapPhrases([]term.Phrase{{Text: title}}, width, opts) {
		block.WriteString(line + "\n")
	}
	flags, differ := view.CellFlags(run.Cells)
	var common []string
	for _, flag := range flags {
		if !differ[flag] {
			common = append(common, view.Option(flag, run.Cells[0].Flags[flag]))
		}
	}
	for _, parts := range [][]string{common, parts, hostParts(run, options)} {
		for i, part := range parts {
			parts[i] = term.Snip(part, width-2)
		}
		if len(parts) > 0 {
			block.WriteString("  " + term.Flow(parts, " · ", "  ", width-2))
		}
	}
	return block.String() + chosenLines(run.Cells, width)
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
