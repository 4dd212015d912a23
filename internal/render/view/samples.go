package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/column"
	"gorun/internal/cpuset"
	"gorun/internal/lazy"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

func VerdictColour(verdict result.Verdict) term.Colour {
	for _, v := range verdictColours {
		if v.verdict == verdict {
			return v.colour
		}
	}
	return ""
}

// DoubtsBlock says which samples are not as good as they should be; nothing, when all are.
func DoubtsBlock(run *result.Run, opts term.Options) string {
	block := interruptedText(run, opts)
	if !slices.ContainsFunc(run.Samples, func(s result.Sample) bool {
		return s.Quality.Verdict != result.Valid || s.Partial
	}) {
		return block
	}
	counts := term.Paragraph(opts.Paint(term.Bold, "samples")+" ", verdictCounts(run.Samples, opts), opts.Columns())
	return block + counts + reasonLines(run.Samples, opts)
}

// SamplesBlock says how many samples there are and how good; nothing, when there is one and it is valid.
func SamplesBlock(run *result.Run, opts term.Options) string {
	if len(run.Samples) == 1 && run.Samples[0].Quality.Verdict == result.Valid && !run.Partial {
		return ""
	}
	parts := []string{opts.Paint(term.Bold, "samples") + " " + verdictCounts(run.Samples, opts)}
	if len(run.Warmups) > 0 {
		parts = append(parts, fmt.Sprintf("%d warm-up dropped", len(run.Warmups)))
	}
	good := Summarised(run.Samples)
	if wall, ok := spreadOf(good, column.Wall); ok && len(good) > 1 && wall.Median > 0 {
		parts = append(parts, "wall time within "+units.Percent((wall.Greatest-wall.Least)/wall.Median)+" of the median")
	}
	return interruptedText(run, opts) + term.Flow(parts, ", ", "  ", opts.Columns()) + reasonLines(run.Samples, opts)
}

// interruptedText tells that there could be more.
func interruptedText(run *result.Run, opts term.Options) string {
	if !run.Partial {
		return ""
	}
	return term.Paragraph(opts.Paint(term.Yellow, "interrupted")+": ",
		"what is shown was measured, and more was planned", opts.Columns())
}

// verdictCounts is "5 (2 valid, 2 suspect, 1 invalid)".
func verdictCounts(samples []result.Sample, opts term.Options) string {
	counts := map[result.Verdict]int{}
	partial := 0
	for i := range samples {
		counts[samples[i].Quality.Verdict]++
		if samples[i].Partial {
			partial++
		}
	}
	verdicts := []string{}
	for _, v := range verdictColours {
		if counts[v.verdict] > 0 {
			verdicts = append(verdicts, opts.Paint(v.colour, fmt.Sprintf("%d %s", counts[v.verdict], v.verdict)))
		}
	}
	if partial > 0 {
		verdicts = append(verdicts, fmt.Sprintf("%d cut short", partial))
	}
	if len(verdicts) == 0 {
		return strconv.Itoa(len(samples))
	}
	return fmt.Sprintf("%d (%s)", len(samples), strings.Join(verdicts, ", "))
}

// maxReasons bounds the reasons that are shown for each verdict: the most frequent.
const maxReasons = 4

// figuresOf matches the figures of a reason, and the number of a CPU that it is about. Reasons that differ in nothing else
// count as one, and the first is shown.
var figuresOf = lazy.Regexp(`\bCPU ([0-9]+)|[0-9][0-9.]*`)

// Reason is one for which samples have a verdict.
type Reason struct {
	Text    string
	Samples int
	Alike   bool       // not all in the same words
	CPUs    cpuset.Set // that it was about
	first   int        // in how many samples it is the first reason: the others of an invalid sample may be doubts only
}

// Others returns what Text does not say of a reason that several samples have, or several CPUs; "" if there is nothing.
func (r Reason) Others() string {
	var words []string
	if r.CPUs.Len() > 1 {
		words = append(words, "CPUs "+r.CPUs.String())
	}
	switch {
	case r.Samples > 1 && r.Alike:
		words = append(words, fmt.Sprintf("%d samples alike", r.Samples))
	case r.Samples > 1:
		words = append(words, fmt.Sprintf("%d samples", r.Samples))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// Reasons are those for which samples have a verdict, first those that are most often the first one.
func Reasons(samples []result.Sample, verdict result.Verdict) []Reason {
	reasons := map[string]*Reason{}
	for i := range samples {
		if samples[i].Quality.Verdict != verdict {
			continue
		}
		var of []*Reason // this sample
		for n, text := range samples[i].Quality.Reasons {
			kind := figuresOf().ReplaceAllString(text, "#")
			if reasons[kind] == nil {
				reasons[kind] = &Reason{Text: text}
			}
			r := reasons[kind]
			if n == 0 {
				r.first++
			}
			if !slices.Contains(of, r) {
				of = append(of, r)
				r.Samples++
			}
			r.Alike = r.Alike || text != r.Text
			for _, found := range figuresOf().FindAllStringSubmatch(text, -1) {
				if cpu, err := strconv.Atoi(found[1]); err == nil {
					r.CPUs = r.CPUs.With(cpu)
				}
			}
		}
	}
	order := make([]Reason, 0, len(reasons))
	for _, reason := range reasons {
		order = append(order, *reason)
	}
	slices.SortFunc(order, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.first, a.first), cmp.Compare(b.Samples, a.Samples), cmp.Compare(a.Text, b.Text))
	})
	return order
}

// reasonLines are the reasons for which samples are not valid.
func reasonLines(samples []result.Sample, opts term.Options) string {
	block := ""
	for _, v := range verdictColours {
		order := Reasons(samples, v.verdict)
		label := "  " + opts.Paint(v.colour, string(v.verdict)) + ": "
		for _, reason := range order[:min(len(order), maxReasons)] {
			block += term.Paragraph(label, reason.Text+reason.Others(), opts.Columns())
		}
		if more := len(order) - maxReasons; more > 0 {
			block += term.Paragraph(label, fmt.Sprintf("… and %s; --format json has all", units.Things(more, "other reason")),
				opts.Columns())
		}
	}
	return block
}

// verdictColours are the verdicts from good to bad.
var verdictColours = [...]struct {
	verdict result.Verdict
	colour  term.Colour
}{
	{result.Valid, term.Green},
	{result.Suspect, term.Yellow},
	{result.Invalid, term.Red},
}
