package render

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/topology"
)

// soiled is a value in which every text is hostile, as a journal may have it.
func soiled[T any](t *testing.T, value *T) *T {
	t.Helper()
	line, err := json.Marshal(value)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(line, &tree))
	line, err = json.Marshal(soil(tree))
	require.NoError(t, err)
	out := new(T)
	require.NoError(t, json.Unmarshal(line, out))
	return out
}

func soil(value any) any {
	switch value := value.(type) {
	case string:
		return hostile
	case []any:
		for i := range value {
			value[i] = soil(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = soil(value[name])
		}
	}
	return value
}

func assertHarmless(t *testing.T, page string) {
	t.Helper()
	assert.Contains(t, page, "title", "the text is there")
	for line := range strings.Lines(page) {
		assert.False(t, strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool {
			return !unicode.IsPrint(r)
		}), "%q", line)
	}
}

// Whatever a journal holds, nothing in it reaches the terminal but what can be printed.
func TestForeignTextsAreHarmless(t *testing.T) {
	for name, run := range fixtures() {
		foreign := soiled(t, run)
		for _, format := range []writer{all.Table, all.CSV, all.Benchfmt} {
			page := write(t, format, foreign, term.Options{})
			if name != "empty" && name != "matrix-empty" || strings.Contains(page, "title") {
				assertHarmless(t, page)
			}
		}
	}
	var page strings.Builder
	require.NoError(t, Comparison(&page, soiled(t, comparison()), "table", term.Options{}))
	assertHarmless(t, page.String())

	page.Reset()
	require.NoError(t, all.Plan(&page, soiled(t, matrixPlan()), "table"))
	assertHarmless(t, page.String())

	page.Reset()
	standing := result.Standing{Running: "a", Rounds: 12, Cells: []result.StandingCell{
		{Name: "a", Seconds: 0.161, Verdict: *effectOf(stats.CantTell, 1, -1.2, 3.4, 12), Open: true},
		{Name: "b", Seconds: 0.181, Verdict: *effectOf(stats.Slower, 12, 11, 13, 12)},
	}}
	board := term.Scoreboard{W: &page, Opts: term.Options{Terminal: true}}
	board.Draw(*soiled(t, &standing))
	assertHarmless(t, strings.TrimPrefix(page.String(), "\r\x1b[K"))

	page.Reset()
	require.NoError(t, Topo(&page, &topology.Machine{Warnings: []string{hostile}}, term.Options{}))
	assertHarmless(t, page.String())

	page.Reset()
	require.NoError(t, all.BenchfmtPair(&page, soiled(t, matrixRun()), matrixRun(), hostile, "b"))
	assertHarmless(t, page.String())
}
