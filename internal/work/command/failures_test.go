package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

func TestExits(t *testing.T) {
	for text, want := range map[string]string{"1,3": "1,3", " 3 , 255": "3,255", "any": "any", "true": "any", "false": ""} {
		e := exits{7}
		require.NoError(t, e.Set(text), text)
		assert.Equal(t, want, e.String(), text)
	}
	for _, text := range []string{"", "0", "256", "-1", "1,", "1 3", "1.5", "some", "any,1", "1,true"} {
		require.ErrorContains(t, new(exits).Set(text), "is not an exit code of a failure, 1 to 255", text)
	}
}

// counted returns samples of a cell that ended in this way.
func counted(cell, count, code, signal int) (samples []result.Sample) {
	for range count {
		samples = append(samples, result.Sample{
			Slot: &result.Slot{Cell: cell}, Seconds: 1, Placement: result.Placement{Verified: true},
			Quality: result.Quality{Grade: result.Valid}, Values: result.FiguresOf(&Figures{ExitCode: code, Signal: signal}),
		})
	}
	return samples
}

// Each command whose failures were accepted has a warning with the number of each exit code. Samples that are not judged,
// because their failure was not accepted, do not count.
func TestFailures(t *testing.T) {
	invalid := counted(2, 1, 7, 0)
	invalid[0].Quality.Grade = result.Invalid
	for name, c := range map[string]struct {
		samples            [][]result.Sample
		findings, warnings []string
	}{
		"none":   {[][]result.Sample{counted(0, 4, 0, 0), counted(1, 2, 0, 0), counted(2, 2, 0, 0), invalid}, nil, nil},
		"always": {[][]result.Sample{counted(1, 20, 3, 0)}, nil, []string{"B ended with exit code 3 in 20 of 20 samples: its times are those of failures"}},
		"mixed": {[][]result.Sample{counted(0, 20, 0, 0), counted(2, 16, 0, 0), counted(2, 4, 3, 0), invalid}, nil, []string{
			"C ended with exit code 3 in 4 of 20 samples, with 0 in 16: its times are of different kinds, and its verdict mixes them",
		}},
		"several": {[][]result.Sample{counted(1, 1, 0, 0), counted(1, 2, 137, 9), counted(1, 3, 137, 0), counted(1, 4, 1, 0)}, nil, []string{
			"B ended with exit code 137 (signal 9) in 2 of 10 samples, with 137 in 3, with 1 in 4, with 0 in 1: its times are of different kinds, and its verdict mixes them",
		}},
		// p is 0.047 and 0.020: two comparisons share 5%.
		"differ": {[][]result.Sample{counted(0, 20, 0, 0), counted(1, 15, 0, 0), counted(1, 5, 1, 0), counted(2, 14, 0, 0), counted(2, 6, 1, 0)}, []string{
			"C failed more often than A: in 6 of 20 samples against 0 of 20 (Fisher's exact test: p = 0.02)",
		}, nil},
		"less": {[][]result.Sample{counted(0, 20, 1, 0), counted(1, 20, 0, 0)}, []string{
			"B failed less often than A: in 0 of 20 samples against 20 of 20 (Fisher's exact test: p = 1.5e-11)",
		}, nil},
	} {
		run := &result.Run{Matrix: &result.Matrix{}, Cells: []result.Cell{{Name: "A"}, {Name: "B"}, {Name: "C"}}}
		for _, samples := range c.samples {
			for _, s := range samples {
				run.Samples.Append(&s)
			}
		}
		findings, warnings := failures(run)
		var found, warned []string
		for _, f := range findings {
			found = append(found, f.Message)
		}
		for _, w := range warnings {
			warned = append(warned, w.Message)
		}
		assert.Equal(t, c.findings, found, name)
		if c.warnings != nil || c.findings == nil {
			assert.Equal(t, c.warnings, warned, name)
		}
	}
}
