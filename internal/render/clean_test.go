package render

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/result"
	"gorun/internal/stats"
	"gorun/internal/topology"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"Intel® 2.1 GHz": "Intel® 2.1 GHz",
		"界 ✓ é −":        "界 ✓ é −",
		"a\r\nb\tc":      "a  b c",
		"\x1b[31m\x7f":   "�[31m�",
		"\u009b2J":       "�2J",
		"a\u202eb\u200b": "a�b�",
		"\xff\u2028":     "� ",
	} {
		assert.Equal(t, want, clean(text))
	}
	type inner struct {
		Name   string
		hidden string
	}
	type named string
	before := map[string]any{
		"a\n": []any{"b\n", 3, nil, &inner{"c\n", "d\n"}, []int{1}, map[named]bool{"e\n": true}}, "nil": (*inner)(nil),
	}
	after := clean(before)
	assert.Equal(t, map[string]any{
		"a ": []any{"b ", 3, nil, &inner{"c ", "d\n"}, []int{1}, map[named]bool{"e ": true}}, "nil": (*inner)(nil),
	}, after)
	assert.Contains(t, before, "a\n", "the value itself is not changed")
	assert.Equal(t, "b\n", before["a\n"].([]any)[0])
	assert.Nil(t, clean[any](nil))
}

func TestCleanLeavesPrintableText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		shown := clean(text)
		assert.Equal(t, shown, clean(shown))
		assert.NotContains(t, shown, "\n")
		assert.False(t, strings.ContainsFunc(shown, func(r rune) bool { return !unicode.IsPrint(r) }))
		if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			assert.Equal(t, text, shown)
		}
	})
}

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
		for _, format := range []writer{Table, CSV, Benchfmt} {
			page := write(t, format, foreign, Options{})
			if name != "empty" && name != "matrix-empty" || strings.Contains(page, "title") {
				assertHarmless(t, page)
			}
		}
	}
	var page strings.Builder
	require.NoError(t, Comparison(&page, soiled(t, comparison()), "table", Options{}))
	assertHarmless(t, page.String())

	page.Reset()
	require.NoError(t, Plan(&page, soiled(t, matrixPlan()), "table"))
	assertHarmless(t, page.String())

	page.Reset()
	standing := result.Standing{Running: "a", Rounds: 12, Cells: []result.StandingCell{
		{Name: "a", Seconds: 0.161, Verdict: *effectOf(stats.CantTell, 1, -1.2, 3.4, 12), Open: true},
		{Name: "b", Seconds: 0.181, Verdict: *effectOf(stats.Slower, 12, 11, 13, 12)},
	}}
	board := Scoreboard{W: &page, Opts: Options{Terminal: true}}
	board.Draw(*soiled(t, &standing))
	assertHarmless(t, strings.TrimPrefix(page.String(), "\r\x1b[K"))

	page.Reset()
	require.NoError(t, Topo(&page, &topology.Machine{Warnings: []string{hostile}}, Options{}))
	assertHarmless(t, page.String())

	page.Reset()
	require.NoError(t, BenchfmtPair(&page, soiled(t, matrixRun()), matrixRun(), hostile, "b"))
	assertHarmless(t, page.String())
}
