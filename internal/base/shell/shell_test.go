package shell

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A printed line has only printable characters, and a shell reads the words from it.
func TestJoin(t *testing.T) {
	bash, err := exec.LookPath("bash")
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(rapid.StringMatching(`[ -~\n\t\x1b]{0,8}`), rapid.StringMatching(`[^\x00]*`),
			rapid.SampledFrom([]string{"\xff", "\x1b1", "a\n", "\u202e"})), 1, 4).Draw(t, "words")
		line := Join(words)
		assert.False(t, strings.ContainsFunc(line, unprintable), "%q", line)
		if bash == "" {
			return
		}
		out, err := exec.Command(bash, "-c", `printf '%s\0' `+line).Output()
		require.NoError(t, err)
		assert.Equal(t, strings.Join(words, "\x00")+"\x00", string(out), line)
	})
	assert.Equal(t, `a 'b c' $'it\'s\n\033\\' ''`, Join([]string{"a", "b c", "it's\n\x1b\\", ""}))
	if err != nil {
		t.Log("no bash here: what it reads was not compared")
	}
}

// A real shell reads a quoted word as the original word.
func TestQuote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ -~é\n]{0,12}`).Draw(t, "word")
		out, err := exec.Command("sh", "-c", "printf %s "+Quote(word)).Output()
		require.NoError(t, err)
		assert.Equal(t, word, string(out))
	})
	for _, word := range []string{"x", "0-3,8", "a=b", "./x", "m^2"} {
		assert.Equal(t, word, Quote(word), "nothing is to be quoted")
	}
	assert.Equal(t, `'it'\''s'`, Quote("it's"))
	assert.Equal(t, "''", Quote(""))
}
