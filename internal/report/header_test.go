package report

import (
	"math"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/units"
)

// headText is what a page shows above its contents, as text.
func headText(page string) string {
	_, page, _ = strings.Cut(page, "<header>")
	page, _, _ = strings.Cut(page, "</header>")
	return strings.Join(strings.Fields(htmlTag.ReplaceAllString(page, " ")), " ")
}

// Runs of one page have the facts in which they differ by run, and the others once.
func TestHeadOfSeveral(t *testing.T) {
	a, b := judged(t, matrixOf(t, 2, 30)), judged(t, matrixOf(t, 2, 30))
	b.Host.CPUModel = "Other CPU"
	head := headText(written(t, Input{File: "/x/a.jsonl", Run: a}, Input{File: "/x/b.jsonl", Run: b}))
	for part, times := range map[string]int{
		"How do these 2 runs of gorun primes compare?": 1, "b.jsonl, against a.jsonl:": 1, "1, a.jsonl: 2 of 2 CPUs": 1, "2, b.jsonl: Other CPU ·": 1,
		"2 January 2026, 03:04 UTC": 1, "None of 90 samples was disturbed.": 1, "/x/": 0,
	} {
		assert.Equal(t, times, strings.Count(head, part), "%q in %q", part, head)
	}
}

// How certain an answer is counts what was disturbed, and names the most frequent reason.
func TestCertainty(t *testing.T) {
	run := made("primes")
	assert.Equal(t, "No sample was taken.", certainty(run))
	run.Samples = []result.Sample{sampleOf(0, 1), sampleOf(1, 1), sampleOf(2, 1)}
	assert.Equal(t, "None of 3 samples was disturbed. What other programs took is not known of 3 samples.", certainty(run))
	for i := range run.Samples {
		run.Samples[i].Quality.Signals.OtherSeconds = new(float64)
	}
	assert.Equal(t, "None of 3 samples was disturbed.", certainty(run))
	run.Samples[0].Quality.Verdict, run.Samples[0].Quality.Reasons = result.Suspect, []string{"a noise"}
	assert.Equal(t, "1 of 3 samples disturbed (suspect): a noise.", certainty(run))
	run.Samples[1].Quality = result.Quality{Verdict: result.Invalid, Reasons: []string{"it failed"}}
	assert.Equal(t, "1 of 3 samples disturbed (suspect), 1 invalid and not used: it failed.", certainty(run))
	run.Matrix = &result.Matrix{Alpha: 0.05, Margin: 0.02}
	assert.NotContains(t, certainty(run), "verdict", "nothing was judged")
	run.Cells = []result.Cell{{}, {Verdict: &stats.Verdict{}}}
	assert.Contains(t, certainty(run), "any false verdict is at most 5%; a difference up to 2% counts as none.")
}

// The head has the beginning of a long answer, and the section the whole.
func TestBrief(t *testing.T) {
	run := made("primes")
	run.Samples = []result.Sample{sampleOf(0, 1)}
	run.Samples[0].Quality = result.Quality{Verdict: result.Suspect, Reasons: []string{"a noise"}}
	rows := make([][]string, 9)
	for i := range rows {
		rows[i] = []string{"cell", "words"}
	}
	short, cut := brief(run, []view.Statement{{Text: "One."}, {Text: view.Doubtful(run.Samples)}, {Text: "Two:", Rows: rows}})
	assert.True(t, cut)
	require.Len(t, short, 2, "how good the samples are is among the facts")
	assert.Equal(t, []string{"and 5 more, below"}, short[1].Rows[mostRows])
	assert.Len(t, rows, 9)
	short, cut = brief(run, []view.Statement{{Text: "1"}, {Text: "2"}, {Text: "3"}})
	assert.Len(t, short, 3)
	assert.False(t, cut)
	_, cut = brief(run, []view.Statement{{Text: "1"}, {Text: "2"}, {Text: "3"}, {Text: "4"}})
	assert.True(t, cut)
}

// A page identifies the machine only if that was asked for. In any page, the times of a table
// have one unit, but for numa's, which has the time of an access too.
func TestPages(t *testing.T) {
	var checked atomic.Int64
	t.Cleanup(func() { assert.Greater(t, checked.Load(), int64(500)) })
	eachRun(t, func(t *testing.T, r recorded) {
		run := *r.in.Run
		run.Host.Hostname, run.Host.BootID, run.Host.CommandLine = "db-7.example", "b00t-1234", "root=/dev/vda1 quiet"
		in := Input{File: "/home/x/run.jsonl", Run: &run, Ended: r.in.Ended}
		pageWith := func(host bool, inputs ...Input) string {
			var page strings.Builder
			require.NoError(t, Write(&page, inputs, Options{Views: experiments, Host: host}))
			for _, value := range []string{"db-7.example", "b00t-1234", "root=/dev/vda1 quiet"} {
				assert.Equal(t, host, strings.Contains(page.String(), value), value)
			}
			assert.NotContains(t, page.String(), "/home/x/", "the directory is nobody's business")
			assert.Contains(t, page.String(), run.Host.Kernel)
			return page.String()
		}
		page := pageWith(false, in, in)
		if r.name == "matrix" {
			pageWith(false, in)
			pageWith(true, in)
			pageWith(true, in, in)
		}
		assert.Equal(t, "db-7.example", run.Host.Hostname, "the run is as it was")

		for _, table := range tableTag.FindAllStringSubmatch(page, -1) {
			seen := map[string]bool{}
			for _, m := range timeCell.FindAllStringSubmatch(table[0], -1) {
				seen[m[1]] = true
				checked.Add(1)
			}
			most := 1
			if ownTime.MatchString(table[0]) {
				most = 2
			}
			assert.LessOrEqual(t, len(seen), most, "%s: %v", table[1], seen)
		}
	})
}

var (
	timeCell = regexp.MustCompile(`data-value="[^"]*">-?[0-9.e+-]+ (ns|µs|ms|s)<`)
	tableTag = regexp.MustCompile(`(?s)<table data-table="(verdicts|summary|disturbances|together)".*?</table>`)
	ownTime  = regexp.MustCompile(`<th scope="col" class="number">an access</th>`)
)

// Hashes are for programs.
func TestNoHashes(t *testing.T) {
	run := made("primes")
	run.Host.Topology, run.Host.Mitigations, run.Tool.SHA256 = "646f7247ad76", "4d4dec51d033", "6ef23c5a014b01c3"
	run.Host.MemoryBytes = 3 << 30
	page := written(t, Input{File: "run.jsonl", Run: run})
	for _, hash := range []string{run.Host.Topology, run.Host.Mitigations, run.Tool.SHA256} {
		assert.NotContains(t, page, hash)
	}
	assert.Contains(t, page, ">3 GiB<")
}

// A percentile needs enough samples, and a range more than one.
func TestSeriesTable(t *testing.T) {
	for n, want := range map[int]string{
		1: "what median samples", 5: "what median mean least greatest samples", 99: "what median mean least greatest samples",
		100: "what median mean least greatest 99th percentile samples",
	} {
		s := view.Series{Name: "few"}
		for i := range n {
			s.Points = append(s.Points, view.Point{Seconds: 0.1 + float64(i)/1e3, Verdict: result.Valid})
		}
		one := view.Series{Name: "one", Points: s.Points[:1]}
		table := seriesTable(view.SeriesSet{Series: []view.Series{s, one, {Name: "none"}}}, units.ScaleOf([]float64{0.1}))
		var heads []string
		for _, h := range table.Head {
			heads = append(heads, h.Text)
		}
		assert.Equal(t, want, strings.Join(heads, " "))
		for _, row := range table.Rows {
			assert.Len(t, row, len(heads))
		}
		if n == 100 {
			assert.Equal(t, "0.198 s", table.Rows[0][5].Text)
			assert.Empty(t, table.Rows[1][5].Text, "of one sample")
		}
	}
}

// A metric is judged and shown as a metric, not as the time of the samples.
func TestVerdictsOnAMetric(t *testing.T) {
	run := copyOf(t, "exec-metric")
	for i, row := range verdicts(run, view.Compared{}, nil).Rows {
		assert.Equal(t, units.Exact(run.Cells[i].Summary.Metric.Median), row[2].Value)
	}
	unbounded := stats.Verdict{Kind: stats.CantTell, Typical: stats.Effect{Ratio: 2, Lo: 0, Hi: math.MaxFloat64}}
	assert.Equal(t, []cell{{Text: "2.000", Value: "2"}, words("–"), words("–")}, ratios(&unbounded))
}
