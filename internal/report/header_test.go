package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/view"
	"gorun/internal/result"
)

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

// A page identifies the machine only if that was asked for.
func TestPages(t *testing.T) {
	run := copyOf(t, "matrix")
	run.Host.Hostname, run.Host.BootID, run.Host.CommandLine = "db-7.example", "b00t-1234", "root=/dev/vda1 quiet"
	in := Input{File: "/home/x/run.jsonl", Run: run}
	for _, inputs := range [][]Input{{in}, {in, in}} {
		for _, host := range []bool{false, true} {
			var page strings.Builder
			require.NoError(t, Write(&page, inputs, Options{Views: experiments, Host: host}))
			for _, value := range []string{"db-7.example", "b00t-1234", "root=/dev/vda1 quiet"} {
				assert.Equal(t, host, strings.Contains(page.String(), value), value)
			}
			assert.NotContains(t, page.String(), "/home/x/", "the directory is nobody's business")
			assert.Contains(t, page.String(), run.Host.Kernel)
		}
	}
	assert.Equal(t, "db-7.example", run.Host.Hostname, "the run is as it was")
}
