package view

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// Statement is a sentence about what a run found, followed by rows. The first cell of a row is a name.
type Statement struct {
	Text  string
	Rows  [][]string
	Apart bool // it is about something else than the statement before it

	Doubts  bool   // it says how many samples are not valid
	Finding string // the message of the finding that it says; "": it says none
}

// table returns the rows of a statement.
func (s Statement) table() table.Table {
	t := table.Table{Columns: []table.Column{{Label: true}, {}}}
	for _, row := range s.Rows {
		words := table.Phrases{{Text: strings.Join(row[1:], "  ")}}
		t.Rows = append(t.Rows, table.Row{Name: row[0], Values: []table.Value{table.Text(row[0]), words}})
	}
	return t
}

// Sentences are statements one after another, for where there are no lines.
func Sentences(statements []Statement) string {
	var texts []string
	for _, s := range statements {
		text := s.Text
		for i, row := range s.Rows {
			text += [...]string{" ", "; "}[min(i, 1)] + strings.Join(row, " ")
		}
		if !strings.HasSuffix(text, ".") {
			text += "."
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// AnswerBlock shows statements: the first is the answer, and the others support it.
func AnswerBlock(statements []Statement, opts term.Options) string {
	var block strings.Builder
	for i, s := range statements {
		phrase, indent := table.Phrase{Text: s.Text}, "  "
		if i == 0 {
			phrase.Tone, indent = table.Strong, ""
		}
		if len(s.Rows) > 0 {
			indent = ""
		}
		if i > 1 && s.Apart || i > 0 && len(statements[i-1].Rows) > 0 {
			block.WriteString("\n")
		}
		for _, line := range term.WrapPhrases([]table.Phrase{phrase}, opts.Columns()-len(indent), opts) {
			block.WriteString(indent + line + "\n")
		}
		block.WriteString(term.Table(s.table(), opts))
	}
	return block.String()
}

// AnswerMarkdown shows statements in GitHub Flavored Markdown.
func AnswerMarkdown(statements []Statement) string {
	block := ""
	for i, s := range statements {
		text := term.EscapeMarkdown(Sentences([]Statement{s}))
		if i == 0 {
			block += "**" + text + "**\n\n"
			continue
		}
		block += "- " + text + "\n"
	}
	return block
}

// Answer returns the statements about a run whose experiment has none of its own: its verdicts, or what was measured.
func (s Shape) Answer(run *result.Run) []Statement {
	judged := slices.ContainsFunc(run.Cells, func(cell result.Cell) bool { return cell.Verdict != nil })
	switch {
	case run.Matrix != nil && judged:
		return Verdicts(run)
	case run.Samples.Len() == 0:
		return []Statement{{Text: "Nothing was measured."}}
	}
	set := s.Series(run)
	statements := []Statement{{Text: set.answer() + "."}}
	statements = append(statements, Doubts(run.Samples)...)
	return append(statements, Found(run.Findings)...)
}

// Found says findings.
func Found(findings []result.Finding) (statements []Statement) {
	for _, finding := range findings {
		statements = append(statements, Statement{Text: finding.Message, Finding: finding.Message})
	}
	return statements
}

// answer names the ends of what stands for cells, or sums up the samples of one.
func (set SeriesSet) answer() string {
	least, most := -1, -1
	medians := make([]float64, len(set.Series))
	for i, s := range set.Series {
		median, ok := s.Median()
		if medians[i] = median; !ok {
			continue
		}
		if least < 0 || median < medians[least] {
			least = i
		}
		if most < 0 || median > medians[most] {
			most = i
		}
	}
	switch {
	case least < 0:
		return "No sample can be used"
	case least == most:
		d, n := set.Series[least].Distribution()
		return set.What + " " + Samples(d, n, set.show)
	}
	text := fmt.Sprintf("%s: least with %s (%s), most with %s (%s)", set.What, set.Series[least].Name,
		set.show(medians[least]), set.Series[most].Name, set.show(medians[most]))
	if medians[least] > 0 {
		text += ", " + units.Digits(medians[most]/medians[least]) + " times as " + set.much()
	}
	return text
}

// Samples says what n samples had: their median, and between what they lie.
func Samples(d result.Distribution, n int, show func(float64) string) string {
	if n == 1 {
		return show(d.Median) + ", 1 sample"
	}
	if low, high := show(d.Min), show(d.Max); low != high {
		return fmt.Sprintf("%s, the median of %d samples between %s and %s", show(d.Median), n, low, high)
	}
	return fmt.Sprintf("%s, the median of %d samples", show(d.Median), n)
}

// Claim is a verdict on something that was compared.
type Claim struct {
	Name    string
	Setting string // in which what has the name is compared with itself; "": it is compared with another one
	Figure  string // that was compared; "": a time
	Verdict stats.Verdict
}

// ClaimOf returns the verdict on a cell against its baseline.
func ClaimOf(run *result.Run, cell int) Claim {
	c := Claim{Name: run.Cells[cell].Name, Verdict: *run.Cells[cell].Verdict}
	switch by := run.Cells[cell].By; {
	case by != nil:
		c.Figure = by.Label
	case run.Matrix.Compared == result.MetricColumn:
		c.Figure = run.MetricName()
	}
	return c
}

// comparative returns what a claim says in one word, "slower", or of a figure that is not a time "lower in rps".
func (c Claim) comparative() string {
	if c.Figure == "" {
		return c.Verdict.Word()
	}
	return c.Verdict.Word() + " in " + c.Figure
}

// Comparative says what something is against something else: "is slower than A: +1.1% to +2.9%".
func (c Claim) Comparative(against string) string {
	return fmt.Sprintf("is %s than %s: %s", c.comparative(), against, c.Verdict.Found())
}

// mostNames bounds a list of names in a sentence.
const mostNames = 8

// Names joins names for a sentence. Of very many the last are counted.
func Names(names []string) string {
	if len(names) > mostNames {
		more := len(names) - mostNames + 1
		names = append(slices.Clone(names[:mostNames-1]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Verdicts says what the cells of a judged run are against their baseline, by the figure that decides when the run stops and
// by each other one where that found something else, and how disturbed their samples were.
func Verdicts(run *result.Run) []Statement {
	names := CellNames(run)
	name := func(cell int) string { return names[cell] }
	var claims []Claim
	several := false
	for i, cell := range run.Cells {
		if cell.Verdict != nil && !run.IsBaseline(i) && !(run.Matrix.Best != nil && cell.Verdict.Kind == stats.CantTell) {
			claim := ClaimOf(run, i)
			claim.Name = names[i]
			claims = append(claims, claim)
		}
		several = several || cell.Against != nil
	}
	against := "the same row of the baseline"
	if at := run.Matrix.Baseline; !several {
		against = names[at]
		if times := cellTimes(run); len(claims) > 1 && times[at] != units.None {
			against += " (" + times[at] + ")"
		}
	}
	statements := best(run, names)
	switch {
	case run.Matrix.Reached != nil:
		statements, claims = []Statement{Steps(run)}, nil
	case run.Matrix.Search != nil:
		statements, claims = Search(run), nil
	case len(claims) > 0 || statements == nil:
		statements = append(statements, Judgements(claims, against)...)
		statements = append(statements, Causes(run, name)...)
	}
	if len(claims) == 1 && len(run.Cells) == 2 && run.Cells[0].Summary != nil && run.Cells[1].Summary != nil {
		times := cellTimes(run)
		text := fmt.Sprintf("%s %s, %s %s: medians of %d and %d samples", names[0], times[0], names[1], times[1],
			run.Cells[0].Summary.Samples, run.Cells[1].Summary.Samples)
		if ratio := claims[0].Verdict.Ratio(); ratio != "" {
			text += "; median of paired differences " + ratio
		}
		statements = append(statements, Statement{Text: text})
	}
	statements = append(statements, ByFigures(run, name)...)
	whole := run.Samples
	if last := whole.Len() - 1; last >= 0 && whole.At(last).Partial { // what the budget cut is not judged
		whole = whole.First(last)
	}
	return append(statements, Doubts(whole)...)
}

// best says which cell of a run is the best, if that was looked for.
func best(run *result.Run, names []string) []Statement {
	found := run.Matrix.Best
	if found == nil || len(found.Left)+len(found.Out) < 2 {
		return nil // the others could not be run
	}
	var left []string
	for _, cell := range found.Left {
		if found.Winner == nil || cell != *found.Winner {
			left = append(left, names[cell])
		}
	}
	text := "No cell is the best: each is worse than another"
	switch {
	case found.Winner == nil && len(left) > 0:
		text = "Can't tell yet which of these is the best: " + Names(left)
	case found.Winner != nil && len(left) > 0:
		text = fmt.Sprintf("The best is %s: not more than %s better: %s", names[*found.Winner], units.Share(run.Matrix.Margin), Names(left))
	case found.Winner != nil:
		others := "each other cell"
		if len(found.Out)+1 < len(run.Cells) {
			others += " that could be run"
		}
		text = fmt.Sprintf("The best is %s: %s is worse than it, or than another", names[*found.Winner], others)
	}
	return []Statement{{Text: text}}
}

// ByFigures says what the cells of a judged run are against their baselines by each figure other than the deciding one, where
// that figure found something else, or is of the second family.
func ByFigures(run *result.Run, name func(cell int) string) (statements []Statement) {
	for _, figure := range run.Matrix.Figures {
		s := Statement{Text: "By " + figure.Label + ":"}
		for i, cell := range run.Cells {
			v, claim := cell.Verdicts[figure.Column], false
			switch v.Kind {
			case stats.Faster, stats.Slower:
				claim = cell.Verdict != nil && (figure.Second || v.Kind != cell.Verdict.Kind)
			}
			if claim {
				s.Rows = append(s.Rows, []string{name(i), v.Brief()})
			}
		}
		if len(s.Rows) > 0 {
			statements = append(statements, s)
		}
	}
	return statements
}

// Doubtful says how many samples are not valid, and the most frequent reason; "" where all are.
func Doubtful(samples result.Samples) string {
	grades := ByGrade(samples)
	for _, grade := range []result.Grade{result.Invalid, result.Suspect} {
		of := grades[grade]
		if len(of.Reasons) == 0 {
			continue
		}
		are := "are"
		if of.Samples == 1 {
			are = "is"
		}
		return fmt.Sprintf("%d of %s %s %s: %s", of.Samples, units.Things(samples.Len(), "sample"), are, grade, of.Reasons[0].Text)
	}
	return ""
}

// Doubts says the same as a statement; there is none where all samples are valid.
func Doubts(samples result.Samples) []Statement {
	text := Doubtful(samples)
	if text == "" {
		return nil
	}
	return []Statement{{Text: text, Apart: true, Doubts: true}}
}

// Judgements says what was found of some comparisons with the same thing, by what was found, in the order of the claims.
func Judgements(claims []Claim, against string) []Statement {
	switch len(claims) {
	case 0:
		return []Statement{{Text: "No cell has a verdict: what is shown was measured, and not compared."}}
	case 1:
		return []Statement{{Text: claims[0].sentence(against)}}
	}
	var statements []Statement
	for _, of := range alike(claims) {
		kind := of[0].Verdict.Kind
		var names []string
		s := Statement{Text: headings[kind]}
		for _, c := range of {
			names = append(names, c.Name)
			s.Rows = append(s.Rows, []string{c.Name, c.found()})
		}
		switch kind {
		case stats.Faster, stats.Slower:
			s.Text = capital(of[0].comparative()) + " than " + against + ":"
		case stats.Same:
			s = Statement{Text: fmt.Sprintf("No difference larger than %s from %s: %s", units.Share(of[0].Verdict.Margin), against, Names(names))}
		case stats.CantTell:
			why := of[0].Verdict.Why()
			alike := !slices.ContainsFunc(of, func(c Claim) bool { return c.Verdict.Why() != why })
			s = Statement{Text: fmt.Sprintf("No difference from %s is certain yet", against)}
			switch {
			case alike && len(of) == len(claims) && of[0].tooFew():
				s.Text = of[0].sentence(against)
				statements = append(statements, s)
				continue
			case len(of) < len(claims):
				s.Text += " for " + Names(names)
			}
			if alike {
				s.Text += ": " + why
			}
		}
		statements = append(statements, s)
	}
	return statements
}

// alike returns the claims by what was found, and those of a difference by the figure too.
func alike(claims []Claim) (groups [][]Claim) {
	for _, kind := range [...]stats.Kind{stats.Faster, stats.Slower, stats.Mixed, stats.Confounded, stats.Invalid, stats.Same, stats.CantTell} {
		first := len(groups)
		for _, c := range claims {
			if c.Verdict.Kind != kind {
				continue
			}
			i := first + slices.IndexFunc(groups[first:], func(g []Claim) bool {
				return kind != stats.Faster && kind != stats.Slower || g[0].Figure == c.Figure
			})
			if i < first {
				i, groups = len(groups), append(groups, nil)
			}
			groups[i] = append(groups[i], c)
		}
	}
	return groups
}

// headings precede the claims of a kind that have a row each.
var headings = map[stats.Kind]string{
	stats.Invalid:    "Not measured as asked:",
	stats.Mixed:      "Typical samples and the total say the opposite:",
	stats.Confounded: "Doubtful, because the samples were disturbed unequally:",
}

// found is what was found, without the kind of the verdict.
func (c Claim) found() string {
	switch v := c.Verdict; v.Kind {
	case stats.Faster, stats.Slower:
		return v.Found()
	case stats.Confounded:
		return v.Undisturbed() + "; " + v.Reason
	case stats.Invalid:
		return v.Reason
	default:
		return v.String()
	}
}

// sentence is a claim by itself.
func (c Claim) sentence(against string) string {
	if c.Setting != "" && !c.tooFew() {
		own := c
		own.Name, own.Setting = c.Setting, ""
		text := own.sentence(against)
		if !strings.HasPrefix(text, own.Name) {
			text = strings.ToLower(text[:1]) + text[1:]
		}
		return c.Name + ": " + text
	}
	switch v := c.Verdict; v.Kind {
	case stats.Faster, stats.Slower:
		return c.Name + " " + c.Comparative(against)
	case stats.Same:
		return fmt.Sprintf("No difference between %s and %s is larger than %s", against, c.Name, units.Share(v.Margin))
	case stats.CantTell:
		switch {
		case c.tooFew():
			return capital(v.Why())
		case v.Reason != "":
			return "No verdict: " + v.Why()
		}
		return fmt.Sprintf("Can't tell whether %s differs from %s: %s", c.Name, against, v.Why())
	case stats.Confounded:
		return fmt.Sprintf("No verdict: %s; the samples by themselves say %s", v.Reason, v.Undisturbed())
	default:
		return fmt.Sprintf("%s against %s: %s", c.Name, against, strings.Replace(v.String(), ": ", ", ", 1))
	}
}

// tooFew reports whether there are too few samples for any interval.
func (c Claim) tooFew() bool {
	f := c.Verdict.Forecast
	return c.Verdict.Reason == "" && f != nil && f.Kind == stats.FirstInterval
}

// capital returns a sentence with a capital letter.
func capital(sentence string) string {
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}

// MostOfName is how much of a name a sentence quotes, in columns.
const MostOfName = 60

// CellNames are what the cells of a run are called where they are read together: the value of the only flag in which they
// differ, with the flag where the value is not a word; or their names. Long ones are cut so that they stay apart.
func CellNames(run *result.Run) []string {
	names := CellTitles(run)
	flags, differ := CellFlags(run.Cells)
	flags = slices.DeleteFunc(flags, func(flag string) bool { return !differ[flag] })
	grouped := slices.ContainsFunc(run.Cells, func(cell result.Cell) bool { return cell.Group != "" })
	if len(flags) != 1 || grouped {
		return term.Apart(names, MostOfName)
	}
	for i, cell := range run.Cells {
		switch value := term.Clean(cell.Flags[flags[0]]); {
		case value == "": // the cell's name says how it is without
		case value == "true":
			names[i] = flags[0]
		case strings.ContainsAny(value[:1], "0123456789-.") || value == "false":
			names[i] = flags[0] + " " + value
		default:
			names[i] = value
		}
	}
	return term.Apart(names, MostOfName)
}
