package shell

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

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
