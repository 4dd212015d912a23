package render

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/result"
)

// samplesBlock says how many samples there are and how good; nothing, when there is one and it is valid.
func samplesBlock(run *result.Run, opts Options) string {
	if len(run.Samples) == 1 && run.Samples[0].Quality.Verdict == result.Valid && !run.Partial {
		return ""
	}
	parts := []string{opts.paint(bold, "samples") + " " + verdictCounts(run.Samples, opts)}
	if len(run.Warmups) > 0 {
		parts = append(parts, fmt.Sprintf("%d warm-up dropped", len(run.Warmups)))
	}
	good := summarised(run.Samples)
	if wall, ok := spreadOf(good, wallSeconds); ok && len(good) > 1 && wall.median > 0 {
		parts = append(parts, "wall time within "+percent((wall.greatest-wall.least)/wall.median)+" of the median")
	}
	return interruptedText(run, opts) + flow(parts, ", ", "  ", opts.columns()) + reasonLines(run.Samples, opts)
}

// interruptedText tells that there could be more.
func interruptedText(run *result.Run, opts Options) string {
	if !run.Partial {
		return ""
	}
	return paragraph(opts.paint(yellow, "interrupted")+": ",
		"what is shown was measured, and more was planned", opts.columns())
}

// verdictCounts is "5 (2 valid, 2 suspect, 1 invalid)".
func verdictCounts(samples []result.Sample, opts Options) string {
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
			verdicts = append(verdicts, opts.paint(v.colour, fmt.Sprintf("%d %s", counts[v.verdict], v.verdict)))
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

// figuresOf are the numbers in a reason. Reasons that differ in nothing else count as one, and the first is shown.
var figuresOf = regexp.MustCompile(`[0-9][0-9.]*`)

// reasonLines are the reasons for which samples are not valid.
func reasonLines(samples []result.Sample, opts Options) string {
	type reason struct {
		text    string
		samples int
		alike   bool // not all in the same words
	}
	block := ""
	for _, v := range verdictColours {
		reasons := map[string]*reason{}
		for i := range samples {
			if samples[i].Quality.Verdict != v.verdict {
				continue
			}
			for _, text := range samples[i].Quality.Reasons {
				kind := figuresOf.ReplaceAllString(text, "#")
				if reasons[kind] == nil {
					reasons[kind] = &reason{text: text}
				}
				reasons[kind].samples++
				reasons[kind].alike = reasons[kind].alike || text != reasons[kind].text
			}
		}
		order := slices.SortedFunc(maps.Values(reasons), func(a, b *reason) int {
			return cmp.Or(cmp.Compare(b.samples, a.samples), cmp.Compare(a.text, b.text))
		})
		label := "  " + opts.paint(v.colour, string(v.verdict)) + ": "
		for _, reason := range order[:min(len(order), maxReasons)] {
			text := reason.text
			switch {
			case reason.alike:
				text += fmt.Sprintf(" (%d samples alike)", reason.samples)
			case reason.samples > 1:
				text += fmt.Sprintf(" (%d samples)", reason.samples)
			}
			block += paragraph(label, text, opts.columns())
		}
		if more := len(order) - maxReasons; more > 0 {
			block += paragraph(label, fmt.Sprintf("… and %s; --format json has all", things(more, "other reason")),
				opts.columns())
		}
	}
	return block
}

// verdictColours are the verdicts from good to bad.
var verdictColours = [...]struct {
	verdict result.Verdict
	colour  colour
}{
	{result.Valid, green},
	{result.Suspect, yellow},
	{result.Invalid, red},
}
