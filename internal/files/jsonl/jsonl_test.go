package jsonl

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// marshal returns a line.
func marshal(t *testing.T, line any) string {
	t.Helper()
	text, err := Marshal(line)
	require.NoError(t, err)
	return string(text)
}

// Whole lines are read without their checksums. A last line that is incomplete or broken is left out; any other that is broken is an error.
func TestRead(t *testing.T) {
	a, b := marshal(t, map[string]int{"a": 1}), marshal(t, map[string]int{"b": 2})
	assert.Regexp(t, `^{"a":1,"crc32":"[0-9a-f]{8}"}\n$`, a)
	broken := strings.Replace(b, "2", "3", 1)
	upper := b[:len(b)-4] + "F\"}\n"
	for text, want := range map[string]struct {
		texts string
		torn  bool
		err   string
	}{
		"":                      {},
		a + b:                   {texts: `{"a":1} {"b":2}`},
		a + b[:len(b)-1]:        {texts: `{"a":1}`, torn: true},
		a + b[:5]:               {texts: `{"a":1}`, torn: true},
		a + broken:              {texts: `{"a":1}`, torn: true},
		a + "{\"x\":\n":         {texts: `{"a":1}`, torn: true},
		broken + a:              {torn: true, err: "line 1 is broken: its checksum is "},
		a + "\n" + b:            {texts: `{"a":1}`, torn: true, err: "line 2 is broken: it has no checksum"},
		a + upper + b:           {texts: `{"a":1} ` + upper[:len(upper)-1] + ` (it has no checksum) {"b":2}`},
		a + "{}\n" + b:          {texts: `{"a":1} {} (it has no checksum) {"b":2}`},
		marshal(t, "no object"): {torn: true},
	} {
		var texts []string
		end, err := Read(bufio.NewReader(strings.NewReader(text)), func(number int, text []byte, unsealed error) error {
			is := string(text)
			if unsealed != nil {
				is += " (" + unsealed.Error() + ")"
			}
			texts = append(texts, is)
			assert.Len(t, texts, number)
			return nil
		})
		if want.err == "" {
			require.NoError(t, err, text)
		} else {
			require.ErrorContains(t, err, want.err, text)
		}
		assert.Equal(t, want.texts, strings.Join(texts, " "), text)
		assert.Equal(t, want.torn, end.Torn, text)
		if !end.Torn {
			assert.EqualValues(t, len(text), end.Whole, text)
		}
	}
}

// An error of a line names it, and ends the reading.
func TestReadError(t *testing.T) {
	line := marshal(t, struct{}{})
	end, err := Read(bufio.NewReader(strings.NewReader(line+line)), func(number int, _ []byte, _ error) error {
		if number == 2 {
			return assert.AnError
		}
		return nil
	})
	require.ErrorIs(t, err, assert.AnError)
	assert.ErrorContains(t, err, "line 2: ")
	assert.EqualValues(t, len(line), end.Whole)
}
