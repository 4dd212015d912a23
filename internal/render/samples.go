package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/internal/result"
)

// samplesBlock says how many samples there are and how good; nothing, when there is one and it is valid.
func samplesBlock(run *result.Run, opts Options) string {
	if len(run.Samples) == 1 && run.Samples[0].Quality.Verdict == result.Valid && !run.Partial {
		return ""
	}
	var block string
	if run.Partial {
		block = paragraph(opts.paint(yellow, "interrupted")+": ",
			"what is shown was measured, and more was planned", opts.columns())
	}
	counts := map[result.Verdict]int{}
	partial := 0
	reasons := map[result.Verdict]map[string]int{}
	for i := range run.Samples {
		s := &run.Samples[i]
		verdict := s.Quality.Verdict
		counts[verdict]++
		if s.Partial {
			partial++
		}
		if reasons[verdict] == nil {
			reasons[verdict] = map[string]int{}
		}
		for _, reason := range s.Quality.Reasons {
			reasons[verdict][reason]++
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
	parts := []string{fmt.Sprintf("%d", len(run.Samples))}
	if len(verdicts) > 0 {
		parts[0] += " (" + strings.Join(verdicts, ", ") + ")"
	}
	if len(run.Warmups) > 0 {
		parts = append(parts, fmt.Sprintf("%d warm-up dropped", len(run.Warmups)))
	}
	good := summarised(run.Samples)
	if wall, ok := spreadOf(good, wallSeconds); ok && len(good) > 1 && wall.median > 0 {
		parts = append(parts, "wall time within "+percent((wall.greatest-wall.least)/wall.median)+" of the median")
	}
	parts[0] = opts.paint(bold, "samples") + " " + parts[0]
	block += flow(parts, ", ", "  ", opts.columns())

	for _, v := range verdictColours {
		for _, reason := range slices.Sorted(maps.Keys(reasons[v.verdict])) {
			text := reason
			if n := reasons[v.verdict][reason]; n > 1 {
				text += fmt.Sprintf(" (%d samples)", n)
			}
			block += paragraph("  "+opts.paint(v.colour, string(v.verdict))+": ", text, opts.columns())
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
