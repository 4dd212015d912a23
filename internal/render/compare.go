package render

import (
	"fmt"
	"io"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/table"
	"gorun/internal/units"
)

// ComparisonFormats are the formats of two runs that are compared, the default first.
var ComparisonFormats = []string{"table", "json"}

// Comparison shows two runs side by side, in one of ComparisonFormats.
func Comparison(w io.Writer, c *result.Comparison, format string, opts term.Options) error {
	switch format {
	case "json":
		full := *c
		full.Differences, full.Cells, full.Warnings = orEmpty(c.Differences), orEmpty(c.Cells), orEmpty(c.Warnings)
		full.OnlyA, full.OnlyB = orEmpty(c.OnlyA), orEmpty(c.OnlyB)
		return indented(w, &full)
	case "table":
		c = term.Clean(c)
		_, err := io.WriteString(w, term.Page([]string{
			view.AnswerBlock(comparisonAnswer(c), opts),
			term.Table(comparedTable(c, opts.Verbose), opts),
			unmatchedBlock(c, opts),
			differencesBlock(c, opts),
			comparisonHeading(c, opts),
			warningsBlock(c.Warnings, opts),
		}))
		return err
	}
	return fmt.Errorf("%w %q for a comparison: there are %s", ErrFormat, format, strings.Join(ComparisonFormats, ", "))
}

// comparisonAnswer says what B is against A.
func comparisonAnswer(c *result.Comparison) []view.Statement {
	if len(c.Cells) == 0 {
		return []view.Statement{{Text: "Nothing can be compared: no cell of A has a partner in B"}}
	}
	var claims []view.Claim
	for _, cell := range c.Cells {
		claims = append(claims, view.Claim{Name: cell.A, Verdict: cell.Verdict})
	}
	statements := view.Judgements(claims, "A")
	statements = append(statements, gateStatement(c.Gate)...)
	if c.Forced {
		statements = append(statements, view.Statement{Text: "Forced, although not alike: " + view.Names(c.Unmeant)})
	}
	return append(statements, view.Statement{Text: fmt.Sprintf("A is %s, and B is %s, which is compared with it", c.A.File, c.B.File)})
}

// comparisonHeading says which runs are compared, and where they ran.
func comparisonHeading(c *result.Comparison, opts term.Options) string {
	block := "gorun compare " + c.Experiment + ": B against A" + "\n"
	hosts := [2][]string{}
	runs := []result.Origin{c.A, c.B}
	for i := range min(len(c.MoreA), len(c.MoreB)) {
		runs = append(runs, c.MoreA[i], c.MoreB[i])
	}
	for i, origin := range runs {
		parts := []string{origin.File, origin.Started, units.Things(origin.Samples, "sample")}
		if origin.Host.Hostname != "" {
			parts = append(parts, "on "+origin.Host.Hostname)
		}
		name := fmt.Sprintf("%c  ", 'A'+i%2)
		if i > 1 {
			name = fmt.Sprintf("%c%d ", 'A'+i%2, i/2+1)
		}
		block += labelled("  "+name, parts, opts)
		if i > 1 {
			continue
		}
		hosts[i] = HostParts(&result.Run{Host: origin.Host, Tool: origin.Tool})
	}
	if strings.Join(hosts[0], " · ") == strings.Join(hosts[1], " · ") {
		return block + labelled("  on ", hosts[0], opts)
	}
	return block + labelled("  A on ", hosts[0], opts) + labelled("  B on ", hosts[1], opts)
}

// labelled sets parts in lines after a label.
func labelled(label string, parts []string, opts term.Options) string {
	indent := strings.Repeat(" ", len(label))
	width := opts.Columns() - len(indent)
	for i, part := range parts {
		parts[i] = term.Snip(part, width)
	}
	return label + term.Flow(parts, " · ", indent, width)
}

// differencesBlock names the conditions that the runs do not share.
func differencesBlock(c *result.Comparison, opts term.Options) string {
	if len(c.Differences) == 0 {
		return ""
	}
	block := opts.Paint(term.Bold, "Not the same in both:") + "\n"
	for _, d := range c.Differences {
		block += term.Paragraph("  - ", fmt.Sprintf("%s: %s in A, %s in B", d.What, orNothing(d.A), orNothing(d.B)),
			opts.Columns())
	}
	return block
}

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// comparedTable is a row a cell, with what is said of B against A.
func comparedTable(c *result.Comparison, verbose bool) table.Table {
	t := table.Table{Name: "compared", Columns: []table.Column{{Title: "cell", Label: true}, {Title: "A"}, {Title: "B"}, {Title: "B against A"}}}
	for _, cell := range c.Cells {
		t.Rows = append(t.Rows, table.Row{Name: cell.A, Values: []table.Value{
			table.Text(cell.A), table.Seconds(cell.SecondsA.Median), table.Seconds(cell.SecondsB.Median), comparedWords(cell, verbose),
		}})
	}
	return t
}

// comparedWords are what is said of a cell: the verdict, that on its ratio to the baseline, what else it is in B, and
// what the runs said of it by themselves; undecided figures and the last are for verbose. The verdict of a forced comparison begins with what was forced.
func comparedWords(cell result.ComparedCell, verbose bool) table.Words {
	words := table.Words{{Text: cell.Words, Tone: table.ToneOf(cell.Verdict.Kind)}}
	if cell.Relative != nil {
		words = append(words,
			table.Phrase{
				Text: "relative to the baseline: " + cell.Relative.String(),
				Tone: table.ToneOf(cell.Relative.Kind),
			})
	}
	for _, figure := range cell.Figures {
		if !verbose && (figure.Verdict.Kind == stats.CantTell || figure.Verdict.Kind == cell.Verdict.Kind) {
			continue
		}
		words = append(words, table.Phrase{
			Text: figure.Label + ": " + figure.Words, Tone: table.ToneOf(figure.Verdict.Kind),
		})
		if v := figure.Relative; v != nil {
			words = append(words, table.Phrase{
				Text: figure.Label + ", relative to the baseline: " + v.String(),
				Tone: table.ToneOf(v.Kind),
			})
		}
	}
	if verbose && cell.VerdictA != cell.VerdictB {
		words = append(words, table.Phrase{Text: fmt.Sprintf("A's own verdict: %s; B's: %s", orNone(cell.VerdictA),
			orNone(cell.VerdictB))})
	}
	if cell.B != cell.A {
		text := "in B: " + cell.B
		if cell.Relation != "" {
			text += " (" + cell.Relation + " in both)"
		}
		words = append(words, table.Phrase{Text: text})
	}
	return words
}

func orNone(verdict string) string {
	if verdict == "" {
		return "none"
	}
	return verdict
}

// unmatchedBlock lists the cells that only one run has.
func unmatchedBlock(c *result.Comparison, opts term.Options) string {
	block := ""
	for _, side := range [...]struct {
		label string
		names []string
	}{{"only in A: ", c.OnlyA}, {"only in B: ", c.OnlyB}} {
		if len(side.names) > 0 {
			block += labelled(side.label, side.names, opts)
		}
	}
	return block
}
