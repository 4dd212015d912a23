package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gorun/internal/base/units"
	"gorun/internal/publish/page"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
)

// factsOf returns how certain the answers are, where and when they were found.
func factsOf(inputs []Input) (facts []page.Fact) {
	for _, f := range []struct {
		name string
		of   func(run *result.Run) string
	}{
		{"How certain", certainty}, {"Machine", render.Machine}, {"Date", date},
	} {
		texts := make([]string, len(inputs))
		for i, in := range inputs {
			texts[i] = f.of(in.Run)
		}
		if slices.Max(texts) == slices.Min(texts) {
			texts = texts[:1]
		} else {
			for i := range texts {
				texts[i] = fmt.Sprintf("%s: %s", runName(i, inputs[i]), texts[i])
			}
		}
		facts = append(facts, page.Fact{Name: f.name, Texts: texts})
	}
	return facts
}

// runName distinguishes a run of several.
func runName(i int, in Input) string { return fmt.Sprintf("%d, %s", i+1, filepath.Base(in.File)) }

// certainty says how many samples are not valid, and how sure the verdicts are.
func certainty(run *result.Run) string {
	text := "None of " + units.Things(run.Samples.Len(), "sample") + " was disturbed"
	if run.Samples.Len() == 0 {
		text = "No sample was taken"
	}
	text = cmp.Or(view.Doubtful(run.Samples), text) + "."
	if m := run.Matrix; m != nil && slices.ContainsFunc(run.Cells, func(c result.Cell) bool { return c.Verdict != nil }) {
		text += fmt.Sprintf(" The probability of any false verdict is at most %s; a difference up to %s counts as none.",
			units.Share(m.Alpha), units.Share(m.Margin))
	}
	return text
}

// date is when the run began.
func date(run *result.Run) string {
	at, err := time.Parse(time.RFC3339Nano, run.Started)
	if err != nil {
		return run.Started
	}
	return at.UTC().Format("2 January 2006, 15:04 UTC")
}

// headOf returns the question and the answer of a page. How good the samples of a run were is among its facts.
func headOf(inputs []Input, views render.Views, compared []view.Statement) (question string, answer []view.Statement) {
	first := inputs[0].Run
	if len(inputs) == 1 {
		return views.Question(first), slices.DeleteFunc(views.Answer(first), func(s view.Statement) bool { return s.Doubts })
	}
	subject := views.Subject(first)
	question = fmt.Sprintf("How do these %d runs of %s compare?", len(inputs), subject)
	if slices.ContainsFunc(inputs, func(in Input) bool { return views.Subject(in.Run) != subject }) {
		question = fmt.Sprintf("What did these %d runs find?", len(inputs))
	}
	if len(compared) == 0 {
		compared = []view.Statement{{Text: fmt.Sprintf("%s side by side. They have no cell in common.", units.Things(len(inputs), "run"))}}
	}
	return question, compared
}
