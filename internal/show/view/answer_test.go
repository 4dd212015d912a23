package view

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

func sampled(seconds ...float64) *result.Run {
	run := &result.Run{}
	for i, x := range seconds {
		run.Samples.Append(&result.Sample{Index: i, Seconds: x, Quality: result.Quality{Grade: result.Valid}})
	}
	return run
}

func TestAnswerOfOneCell(t *testing.T) {
	words := func(run *result.Run) string { return Sentences(Shape{}.Answer(run)) }
	assert.Equal(t, "Nothing was measured.", words(sampled()))
	run := sampled(0.1, 0.3, 0.2)
	run.Findings = []result.Finding{{Message: "Only the work limited this run."}}
	run.Samples = run.Samples.Map(func(i int, s *result.Sample) {
		s.Quality = []result.Quality{{Grade: result.Suspect}, {Grade: result.Invalid, Reasons: []string{"it ended"}}, s.Quality}[i]
	})
	assert.Equal(t, "wall time 150 ms, the median of 2 samples between 100 ms and 200 ms. "+
		"1 of 3 samples is invalid: it ended. Only the work limited this run.", words(run))
}

func claim(name string, kind stats.Kind, lo, hi float64) Claim {
	return Claim{Name: name, Verdict: stats.Verdict{
		Kind: kind, Typical: stats.Effect{Ratio: (lo + hi) / 2, Lo: lo, Hi: hi}, Margin: 0.02, Step: 0.001, Rounds: 20,
	}}
}

func TestJudgementsOfOneComparison(t *testing.T) {
	sentence := func(c Claim) string { return Sentences(Judgements([]Claim{c}, "floating")) }
	assert.Equal(t, "pinned is slower than floating: 2.7–4.8 × as long.", sentence(claim("pinned", stats.Slower, 2.7, 4.8)))
	assert.Equal(t, "pinned is faster than floating: −12% to −8.0%.", sentence(claim("pinned", stats.Faster, 0.88, 0.92)))
	assert.Equal(t, "No difference between floating and pinned is larger than 2%.", sentence(claim("pinned", stats.Same, 0.99, 1.01)))
	open := claim("pinned", stats.CantTell, 0.89, 1.34)
	open.Verdict.Forecast = &stats.Forecast{Rounds: 110, Seconds: 180}
	assert.Equal(t, "Can't tell whether pinned differs from floating: −11% to +34%; about 110 more rounds (3 min) would decide.", sentence(open))
	for text, c := range map[string]Claim{ // what is compared with itself in another setting
		"X: new is slower than floating: +5.0% to +7.0%.":                  claim("X", stats.Slower, 1.05, 1.07),
		"X: no difference between floating and new is larger than 2%.":     claim("X", stats.Same, 0.99, 1.01),
		"X: can't tell whether new differs from floating: −10.0% to +20%.": claim("X", stats.CantTell, 0.9, 1.2),
		"X: new against floating: invalid, it ended.":                      {Name: "X", Verdict: stats.InvalidVerdict("it ended")},
	} {
		c.Setting = "new"
		assert.Equal(t, text, sentence(c))
	}
	assert.Equal(t, "pinned against floating: invalid, it ended.",
		sentence(Claim{Name: "pinned", Verdict: stats.InvalidVerdict("it ended")}))
}

// What is known comes first, and names are not repeated for what is unknown of all for the same reason.
func TestJudgementsByWhatWasFound(t *testing.T) {
	claims := []Claim{
		claim("executor", stats.CantTell, 0.9, 1.2), claim("pinned", stats.Slower, 2.7, 4.8), claim("serial", stats.Slower, 1.6, 3.1),
		claim("nice", stats.Same, 0.99, 1.01), claim("locked", stats.Faster, 0.88, 0.92),
		{Name: "one-cpu", Verdict: stats.InvalidVerdict("the command ended with exit code 1")},
	}
	assert.Equal(t, `Faster than floating (101 ms):
  locked  −12% to −8.0%

Slower than floating (101 ms):
  pinned  2.7–4.8 × as long
  serial  1.6–3.1 × as long

Not measured as asked:
  one-cpu  the command ended with exit code 1

  No difference larger than 2% from floating (101 ms): nice
  No difference from floating (101 ms) is certain yet for executor: −10.0% to
    +20%
`, AnswerBlock(Judgements(claims, "floating (101 ms)"), term.Options{}))

	open := []Claim{claim("a", stats.CantTell, 0.9, 1.2), claim("b", stats.CantTell, 0.9, 1.2)}
	assert.Equal(t, "No difference from floating is certain yet: −10.0% to +20%.", Sentences(Judgements(open, "floating")))
	open[1] = claim("b", stats.CantTell, 0.8, 1.2)
	assert.Equal(t, "No difference from floating is certain yet.", Sentences(Judgements(open, "floating")))
	assert.Contains(t, Sentences(Judgements(nil, "floating")), "not compared")
	assert.Equal(t, "a, b, c, d, e, f, g, and 3 more", Names([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}))
}

// A difference in one unit is not one in another.
func TestJudgementsByFigure(t *testing.T) {
	rate := claim("C", stats.Slower, 1.25, 1.5)
	rate.Figure, rate.Verdict.Rate = "req/s", true
	assert.Equal(t, "Slower than floating: A +10% to +20%; B +10% to +20%. Lower in req/s than floating: C −34% to −20%.", Sentences(Judgements(
		[]Claim{claim("A", stats.Slower, 1.1, 1.2), rate, claim("B", stats.Slower, 1.1, 1.2)}, "floating")))
}

func TestCellNames(t *testing.T) {
	names := func(flag string, values ...string) []string {
		run := &result.Run{}
		for _, value := range values {
			cell := result.Cell{Name: "--" + flag + " " + value, Flags: map[string]string{flag: value, "limit": "5"}}
			if value == "" {
				cell.Name = "without"
				delete(cell.Flags, flag)
			}
			run.Cells = append(run.Cells, cell)
		}
		return CellNames(run)
	}
	assert.Equal(t, []string{"unbound", "one-cpu"}, names("placement", "unbound", "one-cpu"))
	assert.Equal(t, []string{"workers 2", "workers 30"}, names("workers", "2", "30"))
	assert.Equal(t, []string{"without", "serial"}, names("serial", "", "true"))
	long := "/" + strings.Repeat("directory/", 8)
	assert.Equal(t, []string{"/directory/directory/directory…ctory/directory/directory/old", "/directory/directory/directory…ctory/directory/directory/new"},
		names("command", long+"old", long+"new"), "they differ where they end")
}

// The ratio of two medians need not lie within the interval of the ratio of samples that were taken together.
func TestMediansBesideTheRatioWithinARound(t *testing.T) {
	v := claim("", stats.Faster, 0.71, 0.73).Verdict
	run := &result.Run{Matrix: &result.Matrix{}, Cells: []result.Cell{
		{Name: "unbound", Summary: &result.Summary{Samples: 160, Seconds: result.Distribution{Median: 0.156}}},
		{Name: "one-cpu", Summary: &result.Summary{Samples: 80, Seconds: result.Distribution{Median: 0.122}}, Verdict: &v},
	}}
	assert.Equal(t, "one-cpu is faster than unbound: −29% to −27%. "+
		"unbound 0.156 s, one-cpu 0.122 s: medians of 160 and 80 samples; median of paired differences −28%.", Sentences(Verdicts(run)))
	assert.Len(t, verdictsOf(run, 1, false), 1, "the answer has it")
	run.Cells = append(run.Cells, result.Cell{Name: "another"})
	assert.Equal(t, "median of paired differences −28%", verdictsOf(run, 1, false)[1].Text)
	run.Cells[1].Summary.Seconds.Median = 0.112
	assert.Len(t, verdictsOf(run, 1, false), 1)
}

// What is about something else than the statements above it is apart from them, and not from the answer alone.
func TestAnswerBlockKeepsApart(t *testing.T) {
	doubts := Statement{Text: "1 of 9 samples is suspect", Apart: true}
	assert.Equal(t, "a\n  1 of 9 samples is suspect\n", AnswerBlock([]Statement{{Text: "a"}, doubts}, term.Options{}))
	assert.Equal(t, "a\n  b\n\n  1 of 9 samples is suspect\n", AnswerBlock([]Statement{{Text: "a"}, {Text: "b"}, doubts}, term.Options{}))
}
