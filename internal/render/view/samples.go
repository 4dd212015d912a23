package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/lazy"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

// QualityBlock says what to think of the samples: whether the control differs, and which samples are not as good as they should
// be; nothing, where there is nothing to say.
func QualityBlock(run *result.Run, opts term.Options) string {
	block := interruptedText(run, opts)
	if run.Matrix != nil {
		block += controlText(run, opts)
	}
	if !slices.ContainsFunc(run.Samples, func(s result.Sample) bool { return s.Quality.Verdict != result.Valid || s.Partial }) {
		return block
	}
	counts := term.Paragraph(opts.Paint(term.Bold, "samples")+" ", verdictCounts(run.Samples, opts), opts.Columns())
	return block + counts + reasonLines(run.Samples, opts)
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
	for i := range samples {
		counts[samples[i].Quality.Verdict]++
	}
	verdicts := []string{}
	for _, v := range verdictColours {
		if counts[v.verdict] > 0 {
			verdicts = append(verdicts, opts.Paint(v.colour, fmt.Sprintf("%d %s", counts[v.verdict], v.verdict)))
		}
	}
	if len(verdicts) == 0 {
		return strconv.Itoa(len(samples))
	}
	return fmt.Sprintf("%d (%s)", len(samples), strings.Join(verdicts, ", "))
}

// maxReasons bounds the reasons that are shown for each verdict: the most frequent.
const maxReasons = 4

// figuresOf matches the figures of a reason, and the number of a CPU that it is about. Reasons that differ in nothing else
// count as one.
var figuresOf = lazy.Regexp(`\bCPU ([0-9]+)|[0-9][0-9.]*`)

// Reason is one for which samples have a verdict.
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
			r.add(text)
		}
	}
	order := make([]Reason, 0, len(reasons))
	for _, reason := range reasons {
		reason.Text = reason.ranges()
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
	disturbed := 0
	for i := range samples {
		if sig := samples[i].Quality.Signals; samples[i].Quality.Verdict == result.Suspect && takesCPU(sig.OtherSeconds, sig.StealSeconds) {
			disturbed++
		}
	}
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
	if 2*disturbed > len(samples) {
		block += term.Paragraph("  hint: ", "gorun doctor shows what disturbs a machine, and what to do about it", opts.Columns())
	}
	return block
}

// takesCPU reports whether other programs, or the hypervisor, took CPU time.
func takesCPU(signals ...*float64) bool {
	return slices.ContainsFunc(signals, func(seconds *float64) bool { return seconds != nil && *seconds > 0 })
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
