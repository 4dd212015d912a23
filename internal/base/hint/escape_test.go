package hint

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What acts on a terminal or on a reader is escaped, and nothing else: not gorun's own colours and moves.
func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"plain, κόσμε 😀\n\tand more a\u00a0b": "plain, κόσμε 😀\n\tand more a\u00a0b",
		"\x1b[31mred\x1b[0m\x1b[2A\x1b[K":     "\x1b[31mred\x1b[0m\x1b[2A\x1b[K",
		"\x1b[2J\x1b]0;title\a\x1bc\x1b":      `\u001b[2J\u001b]0;title\u0007\u001bc\u001b`,
		"\x1b[12345m\x1b[?25l\x1b[1;2H":       `\u001b[12345m\u001b[?25l\u001b[1;2H`,
		"\x00\b\r\v\f\x7f":                    `\u0000\u0008\u000d\u000b\u000c\u007f`,
		"\u0080\u0085\u009b5m\u009f":          `\u0080\u0085\u009b5m\u009f`,
		"\u2028\u2029":                        `\u2028\u2029`,
		"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069": `\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069`,
		"\x9b5m \xff\xc3": "�5m ��",
		"":                "",
	} {
		assert.Equal(t, want, string(Escape([]byte(text))), "%q", text)
		for cut := range len(text) { // however the text is written in parts
			var out strings.Builder
			e := &Escaper{W: &out}
			for _, part := range []string{text[:cut], text[cut:], "."} {
				n, err := e.Write([]byte(part))
				require.NoError(t, err)
				assert.Equal(t, len(part), n)
			}
			assert.Equal(t, want+".", out.String(), "%q after %d", text, cut)
		}
	}
	var out strings.Builder
	_, err := (&Escaper{W: &out, Keep: "\r"}).Write([]byte("\ra\b"))
	require.NoError(t, err)
	assert.Equal(t, "\ra\\u0008", out.String())
}

// JSON keeps its values.
func TestEscapeJSON(t *testing.T) {
	for r := range rune(0x3000) {
		text, err := json.Marshal(string(r))
		require.NoError(t, err)
		safe := Escape(text)
		assert.NotContains(t, strings.Map(func(r rune) rune {
			if Acts(r) {
				return 'X'
			}
			return '.'
		}, string(safe)), "X")
		var was, is string
		require.NoError(t, json.Unmarshal(text, &was))
		require.NoError(t, json.Unmarshal(safe, &is))
		require.Equal(t, was, is)
	}
}

func TestLine(t *testing.T) {
	assert.Equal(t, `a\u000ab \u001b[31m\u009b \u202e é`, Plain("a\nb \x1b[31m\u009b \u202e é", ""))
	assert.Equal(t, `a\u000agorun: error: b\u000d\u009b`, Line("a\ngorun: error: b\r\u009b"))
}
