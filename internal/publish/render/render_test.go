package render

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"
	"pgregory.net/rapid"

	"gorun/internal/base/packed"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// Whatever its texts are, a sample's line is one that benchstat reads. Its name ends in GOMAXPROCS.
func TestBenchfmtReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := plainRun()
		run.Host.CPUModel = rapid.StringMatching(`[ -~\t\n]*`).Draw(t, "model")
		run.Spec = map[string]any{"method": rapid.String().Draw(t, "method"), "pin_cpus": "0-3"}
		run.Samples = run.Samples.Map(func(_ int, s *result.Sample) { s.Quality.Grade = result.Invalid })
		var lines strings.Builder
		require.NoError(t, all.Run(run).Benchmarks(benchfmt.NewWriter(&lines)))
		reader := benchfmt.NewReader(strings.NewReader(lines.String()), "run")
		var read []*benchfmt.Result
		for reader.Scan() {
			if record, is := reader.Result().(*benchfmt.Result); is {
				read = append(read, record.Clone())
			}
		}
		require.NoError(t, reader.Err())
		require.Len(t, read, 1)
		wall, _ := read[0].Value("sec/op")
		assert.InEpsilon(t, run.Samples.At(0).Seconds, wall, 1e-12)
		assert.Equal(t, strings.Join(strings.Fields(run.Host.CPUModel), " "), read[0].GetConfig("cpu"))
		assert.Contains(t, read[0].Name.String(), "/verdict=invalid")
		_, parts := read[0].Name.Parts()
		assert.Equal(t, "-2", string(parts[len(parts)-1]), "the end of 0-3 is not GOMAXPROCS")
	})
}

// Different texts stay different in a benchmark's name, and none of them ends it.
func TestBenchWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~\t\n]*`)).Draw(t, "text")
		word := benchWord(text)
		back, err := url.PathUnescape(word)
		require.NoError(t, err)
		assert.Equal(t, text, back)
		assert.False(t, strings.ContainsAny(word, "/ \t\n"), word)
	})
	assert.Equal(t, "a_b", benchWord("a_b"))
	assert.Equal(t, "a%20b", benchWord("a b"))
	assert.Equal(t, "a%2Fb", benchWord("a/b"))
}

// A setting that was not applied, or that the kernel accepts and ignores, is not shown as done.
func TestPlacementText(t *testing.T) {
	done := result.Placement{Requested: "node 1", Verified: true, Checked: 3}
	for want, second := range map[string]result.Placement{
		"node 1: read back as asked":                                        done,
		"read back as asked in each sample":                                 {Requested: "node 2", Verified: true, Checked: 3},
		"node 1: not read back":                                             {Requested: "node 1"},
		"node 1: not what was asked in 1 of 2 samples: 1; 2; 3":             {Requested: "node 1", Mismatches: []string{"1", "2", "2", "3", "4"}},
		"node 1: as asked at first; then CPU 1 went offline":                {Requested: "node 1", Verified: true, Mismatches: []string{"CPU 1 went offline"}},
		"node 1: accepted, and without effect in 1 of 2 samples: it is off": {Requested: "node 1", Verified: true, NoEffect: "it is off"},
	} {
		assert.Equal(t, want, placementText(packed.Of(result.Sample{Placement: done}, result.Sample{Placement: second}), term.Options{}))
	}
	assert.Equal(t, "node 1: read back as asked", placementText(packed.Of(result.Sample{}, result.Sample{Placement: done}), term.Options{}), "one did not run")
	assert.Empty(t, placementText(packed.Of(result.Sample{}), term.Options{}))
	assert.Equal(t, "none", placementText(packed.Of(result.Sample{Placement: result.Placement{Requested: "none"}}), term.Options{}))
	assert.Empty(t, placementText(result.Samples{}, term.Options{}))
}
