package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/lazy"
	"gorun/internal/base/units"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// Quality returns the tables that say what to think of the samples: whether a baseline differs from its own duplicate, and which
// samples are not as good as they should be. Without verbose, they have no rows where all is well.
func Quality(run *result.Run, verbose bool) []table.Table {
	return []table.Table{controlTable(run, verbose), gradeTable(run, verbose)}
}

// controlTable says whether the method can be trusted: each baseline ran under two names, which must not differ.
func controlTable(run *result.Run, verbose bool) table.Table {
	t := table.Table{Name: "control", Title: "The control: a baseline against its own duplicate"}
	t.Add("baseline", table.VerdictTitle)
	m := run.Matrix
	if m == nil || m.Control == nil {
		return t
	}
	controls := m.Controls
	if len(controls) == 0 {
		controls = []result.Control{{Baseline: m.Baseline, Verdict: *m.Control, Verdicts: m.ControlVerdicts}}
	}
	differs := false
	for _, control := range controls {
		var words table.Phrases
		add := func(label string, v stats.Verdict) {
			is := v.Kind != stats.Same && v.Kind != stats.CantTell
			if differs = differs || is; verbose || is {
				words = append(words, table.Phrase{Text: label + VerdictWords(v, verbose), Tone: table.ToneOf(v.Kind)})
			}
		}
		add("", control.Verdict)
		for _, figure := range m.Figures {
			if v, judged := control.Verdicts[figure.Column]; judged {
				add(figure.Label+": ", v)
			}
		}
		if len(words) > 0 {
			t.AddRow(table.Text(run.Cells[control.Baseline].Name), words)
		}
	}
	if differs {
		t.Notes = append(t.Notes, "differences from such a baseline have intervals that are wider by as much")
	}
	if verbose {
		t.Notes = append(t.Notes, comparisonNotes(run, len(controls))...)
	}
	return t
}

// comparisonNotes say how many comparisons share the chance of a false verdict.
func comparisonNotes(run *result.Run, controls int) []string {
	m := run.Matrix
	compared := units.Things(len(run.Cells)-controls, "cell")
	if contrasts := len(m.Contrasts); contrasts > 0 {
		compared += ", " + units.Things(contrasts, "contrast")
	}
	steps := len(m.Steps)
	if steps > 0 {
		compared, controls = units.Things(steps, "step"), steps
	}
	compared += " and " + units.Things(controls, "control")
	first, second := "", []string{}
	for _, figure := range m.Figures {
		if figure.Second {
			second = append(second, figure.Label)
		} else {
			first += " and by " + figure.Label
		}
	}
	if first != "" {
		compared += ", each by wall time" + first
	}
	notes := []string{fmt.Sprintf("%d comparisons, %s, share the %s chance of any false verdict",
		run.Comparisons(false), compared, units.Share(m.Alpha))}
	if steps > 1 {
		notes = append(notes, "that a step scales is tested as if it were the only one, because it is tried only when those before it are shown to scale")
	}
	if len(second) > 0 {
		notes = append(notes, fmt.Sprintf("%d comparisons by %s share another %s", run.Comparisons(true), Names(second), units.Share(m.Alpha)))
	}
	return notes
}

// QualityTable is the name of the table of the reasons.
const QualityTable = "quality"

// gradeTable counts the samples by grade, with the most frequent reasons.
func gradeTable(run *result.Run, verbose bool) table.Table {
	t := table.Table{Name: QualityTable, Title: "Samples by quality"}
	t.Add("samples", "are", "why")
	grades := ByGrade(run.Samples)
	if valid := grades[result.Valid]; !verbose && valid.Samples-valid.partial == run.Samples.Len() {
		return t
	}
	for _, grade := range result.Grades {
		of := grades[grade]
		if of.Samples == 0 {
			continue
		}
		words := table.Phrases{}
		for _, reason := range of.Reasons[:min(len(of.Reasons), maxReasons)] {
			words = append(words, table.Phrase{Text: reason.Text + reason.Others(), Tone: qualityTones[grade]})
		}
		if more := len(of.Reasons) - maxReasons; more > 0 {
			words = append(words, table.Phrase{Text: fmt.Sprintf("… and %s; --format json has all", units.Things(more, "other reason"))})
		}
		t.AddRow(table.Count(of.Samples), table.Text(grade), words)
	}
	if 2*grades[result.Suspect].disturbed > run.Samples.Len() {
		t.Notes = append(t.Notes, "gorun doctor shows what disturbs a machine, and what to do about it")
	}
	return t
}

// maxReasons bounds the reasons that are shown for each grade: the most frequent.
const maxReasons = 4

// figuresOf matches the figures of a reason, and the number of a CPU that it is about. Reasons that differ in nothing else
// count as one.
var figuresOf = lazy.Regexp(`\bCPU ([0-9]+)|[0-9][0-9.]*`)

// Reason is why samples have a grade.
type Reason struct {
	Text    string // with the range of each figure: "other programs used 0.05–3.98 s"
	Samples int
	CPUs    cpuset.Set // that it was about
	first   int        // in how many samples it is the first reason: the others of an invalid sample may be doubts only

	least, most []string // of each figure
}

// Others returns what Text does not say of a reason that several samples have, or several CPUs; "" if there is nothing.
func (r Reason) Others() string {
	var words []string
	if r.CPUs.Len() > 1 {
		words = append(words, "CPUs "+r.CPUs.String())
	}
	if r.Samples > 1 {
		words = append(words, fmt.Sprintf("%d samples", r.Samples))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// add widens the ranges of the figures to those of another text of the same kind.
func (r *Reason) add(text string) {
	for i, found := range figuresOf().FindAllStringSubmatch(text, -1) {
		if cpu, err := strconv.Atoi(found[1]); err == nil {
			r.CPUs = r.CPUs.With(cpu)
		}
		figure := found[0]
		if i == len(r.least) {
			r.least, r.most = append(r.least, figure), append(r.most, figure)
		}
		number, err := strconv.ParseFloat(figure, 64)
		if err != nil {
			continue
		}
		if least, _ := strconv.ParseFloat(r.least[i], 64); number < least {
			r.least[i] = figure
		}
		if most, _ := strconv.ParseFloat(r.most[i], 64); number > most {
			r.most[i] = figure
		}
	}
}

// ranges returns the text of the reason with the range of each figure.
func (r *Reason) ranges() string {
	i := -1
	return figuresOf().ReplaceAllStringFunc(r.Text, func(string) string {
		if i++; r.least[i] == r.most[i] {
			return r.least[i]
		}
		return r.least[i] + "–" + r.most[i]
	})
}

// Graded are the samples of one grade.
type Graded struct {
	Samples   int
	Reasons   []Reason // that which is most often the first one of a sample comes first
	disturbed int      // samples that other programs or a hypervisor disturbed
	partial   int      // samples that were cut short
}

// ByGrade counts samples by grade, and says why they have it.
func ByGrade(samples result.Samples) map[result.Grade]Graded {
	grades := map[result.Grade]Graded{}
	found := map[result.Grade]map[string]*Reason{}
	for _, s := range samples.Each() {
		q := &s.Quality
		g := grades[q.Grade]
		g.Samples++
		if positive(q.Signals.OtherSeconds) || positive(q.Signals.StealSeconds) {
			g.disturbed++
		}
		if s.Partial {
			g.partial++
		}
		grades[q.Grade] = g
		if found[q.Grade] == nil {
			found[q.Grade] = map[string]*Reason{}
		}
		countReasons(found[q.Grade], q.Reasons)
	}
	for grade, reasons := range found {
		g := grades[grade]
		for _, reason := range reasons {
			reason.Text = reason.ranges()
			g.Reasons = append(g.Reasons, *reason)
		}
		slices.SortFunc(g.Reasons, func(a, b Reason) int {
			return cmp.Or(cmp.Compare(b.first, a.first), cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Text, b.Text))
		})
		grades[grade] = g
	}
	return grades
}

// countReasons adds the reasons of one sample to those found before, by their kinds.
func countReasons(found map[string]*Reason, texts []string) {
	var of []*Reason // this sample
	for n, text := range texts {
		kind := figuresOf().ReplaceAllString(text, "#")
		if found[kind] == nil {
			found[kind] = &Reason{Text: text}
		}
		r := found[kind]
		if n == 0 {
			r.first++
		}
		if !slices.Contains(of, r) {
			of = append(of, r)
			r.Samples++
		}
		r.add(text)
	}
}

func positive(seconds *float64) bool { return seconds != nil && *seconds > 0 }
