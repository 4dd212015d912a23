package journal

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/judge/matrix"
	"gorun/internal/publish/document"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// confirming returns the journal of a run whose second cell waits for a CPU for 50 ms longer. A candidate takes away all of it. When the run has
// ended, it goes on to each of these ends.
func confirming(t *testing.T, later ...result.End) (lines []string) {
	t.Helper()
	run := &result.Run{
		Schema: result.Schema, Experiment: "exec", Tool: result.Tool{Name: "gorun", Version: "v1.2.0"}, Seed: 5,
		Started: "2026-01-02T03:04:05Z", Findings: []result.Finding{}, Warnings: []result.Warning{},
		Cells: []result.Cell{{Name: "a", Command: []string{"exec"}, Flags: map[string]string{"nice": "0"}}, {Name: "b", Command: []string{"exec"}, Flags: map[string]string{"nice": "1"}}},
		Matrix: &result.Matrix{
			Rules: matrix.Rules, Alpha: 0.05, Margin: 0.02, Precision: 0.02, Enough: result.EnoughAnswer,
			Candidates: []result.Candidate{{Cell: 1, Axis: result.AxisNice, Value: "-20"}},
		},
	}
	columns, _ := experiments.Known("exec")
	sequence, err := matrix.Schedule{Order: matrix.RandomBlocks}.Sequence(run, nil, columns)
	require.NoError(t, err)
	add := func(line result.Line) { lines = append(lines, string(text(t, []result.Line{line}))) }
	add(result.Line{Header: run.Header()})
	noise := rand.New(rand.NewPCG(1, 2))
	for elapsed := 0.0; ; elapsed += 0.2 {
		slot, more := sequence.Next(elapsed)
		if !more && len(later) > 0 {
			require.NoError(t, sequence.(*matrix.Blocks).GoOn(later[0]))
			add(result.Line{End: &later[0]})
			later = later[1:]
			continue
		} else if !more {
			break
		}
		waits := 0.001 + 0.001*noise.Float64()
		if slot.Cell == 1 {
			waits += 0.05
		}
		s := result.Sample{Seconds: 0.11 + waits, UserSeconds: 0.1, Placement: result.Placement{Verified: true}, Quality: result.Quality{Grade: result.Valid, Reasons: []string{}}}
		s.Account = result.AccountOf(s.Seconds, 0.1, waits, 0.1, 0)
		sequence.Check(&s, elapsed)
		s.Elapsed = elapsed + 0.2
		s.Index = run.Index(&s)
		run.Take(s)
		add(result.Line{Sample: &s})
		require.NoError(t, sequence.Add(s, s.Elapsed))
	}
	sequence.Judge()
	add(result.Line{Footer: &result.Footer{Samples: run.Taken(), Cells: run.Cells, Findings: run.Findings, Warnings: run.Warnings}})
	return lines
}

// A journal with confirming samples is consistent, also if it is cut off after any line, and so is the JSON of its run.
func TestConfirmingSamples(t *testing.T) {
	lines := confirming(t)
	for n := range lines {
		rec, err := check(lines[:n+1])
		require.NoError(t, err, "%d lines", n+1)
		require.NoError(t, rec.Unjudged)
	}
	rec, err := check(lines)
	require.NoError(t, err)
	assert.True(t, rec.Ended)
	assert.Equal(t, len(lines)-2, rec.Footed)
	assert.Equal(t, len(lines)-2, rec.Run.Taken())
	require.NotZero(t, rec.Run.Confirming.Len())
	assert.True(t, rec.Judging.Done())
	assert.True(t, rec.Judging.Confirming().Done())
	matrix.Explain(rec.Run, false)
	assert.Equal(t, result.ConfirmedCause, rec.Run.Cells[1].Why.Confirmed.Result)

	assertReadBack(t, rec.Run)
}

// readAgain reads the JSON of a run.
func readAgain(t *testing.T, of *result.Run) (*result.Run, error) {
	t.Helper()
	var printed strings.Builder
	require.NoError(t, document.Show(&printed, render.Views{}.Run(of), "json", term.Options{}))
	return readJSON(strings.NewReader(printed.String()), experiments.Known, assert.AnError)
}

// assertReadBack checks that the JSON of a run is read as the same run.
func assertReadBack(t *testing.T, of *result.Run) {
	t.Helper()
	run, err := readAgain(t, of)
	require.NoError(t, err)
	want, err := json.Marshal(of)
	require.NoError(t, err)
	got, err := json.Marshal(run)
	require.NoError(t, err)
	assert.JSONEq(t, string(want), string(got))
}

// The JSON of a run that was resumed with other ends is read as its journal is, also if it was cut off.
func TestLaterEnds(t *testing.T) {
	ends := []result.End{{Enough: result.EnoughPrecision}, {Samples: 120}, {Samples: 130}, {Samples: 1}}
	lines := confirming(t, ends...)
	resumed := 0
	for n, line := range lines {
		if n < len(lines)-1 && !strings.Contains(line, `"end":{`) {
			continue
		}
		rec, err := check(lines[:n+1])
		require.NoError(t, err, "%d lines", n+1)
		if n < len(lines)-1 {
			resumed++
		}
		require.Len(t, rec.Run.Matrix.LaterEnds, resumed)
		assert.Equal(t, ends[resumed-1], rec.Run.Matrix.Ends())
		rec.Judging.Judge()
		assertReadBack(t, rec.Run)
		rec.Run.Matrix.LaterEnds[0].After++
		_, err = readAgain(t, rec.Run)
		assert.ErrorContains(t, err, "its parts contradict each other")
	}
	assert.Equal(t, len(ends), resumed)
}

// A confirming sample that is not the next one is an error.
func TestConfirmingContradictions(t *testing.T) {
	lines := confirming(t)
	first := 0
	for i, line := range lines {
		if first == 0 && strings.Contains(line, `"confirms":true`) {
			first = i + 1
		}
	}
	require.NotZero(t, first)
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"of no candidate":   {edit(t, lines, first, `"cell":\d`, `"cell":3`), "the sample is of cell 3 of 3"},
		"another place":     {edit(t, lines, first, `"confirms":true,"round":0`, `"confirms":true,"round":1`), "is not the one that the seed puts there"},
		"another index":     {edit(t, lines, first, `"index":0`, `"index":7`), "the sample's index is 7 instead of 0"},
		"too early":         {edit(t, lines[:3], 3, `"round":0`, `"confirms":true,"round":0`), "index is 1 instead of 0"},
		"without a cause":   {edit(t, lines[:2], 2, `"round":0`, `"confirms":true,"round":0`), "confirms a cause, and none is known yet"},
		"one too many":      {edit(t, append(lines[:len(lines)-1:len(lines)-1], lines[len(lines)-2]), len(lines), `"index":\d+`, `"index":999`), "index is 999"},
		"a wrong candidate": {edit(t, lines, 1, `"candidates":\[\{"cell":1`, `"candidates":[{"cell":2`), "candidate 0, --nice of cell 2 of 2"},
	} {
		_, err := check(c.lines)
		require.ErrorContains(t, err, c.want, name)
	}
	_, err := check(lines[:first-1])
	require.NoError(t, err)
}
