package shell

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
)

// Split finds the same words as a real shell, for all kinds of quoting.
func TestSplitAsAShell(t *testing.T) {
	pieces := []string{"a", "é", " ", "  ", "\t", `\ `, `\\`, `\"`, `\'`, `"x y"`, `'x  y'`, `"\$"`, `"\q"`, `"it's"`, `'"'`, `""`, "''", "=", "{1}", "--b=", "#c"}
	rapid.Check(t, func(t *rapid.T) {
		line := "printf '%s|' x" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 8).Draw(t, "pieces"), "")
		out, err := exec.Command("sh", "-c", line).Output()
		require.NoError(t, err, line)
		words, err := Split(line)
		require.NoError(t, err, line)
		assert.Equal(t, string(out), strings.Join(words[2:], "|")+"|", line)
	})
}

// Syntax that needs a shell gives an error that quotes it.
func TestSplitNeedsAShell(t *testing.T) {
	for line, part := range map[string]string{
		"a | b":       "a | b",
		"a > f":       "> f",
		"a ; b":       `"a ; b"`,
		"a & b":       `"a & b"`,
		"a\nb":        `"a\nb"`,
		"a || b":      "a || b",
		"a < f":       "< f",
		"a && b":      "a && b",
		"a &":         "a &",
		"echo $HOME":  "$HOME",
		`echo "$X y"`: "$X",
		"echo `id`":   "`id`",
		"ls *.go":     "*.go",
		"ls ~/x":      "~/x",
		"ls [ab]":     "[ab]",
		"X=1 a":       "X=1",
		"(a)":         "(a)",
		"! a":         "! a",
	} {
		_, err := Split(line)
		require.Error(t, err, line)
		assert.Contains(t, err.Error(), part, line)
		assert.Contains(t, err.Error(), "needs a shell", line)
		assert.Contains(t, hint.Of(err), "--shell", line)
	}
	for _, line := range []string{"", "  ", "# nothing", `echo "x`, "echo 'x", "a &&", "a (b)"} { // in a shell too
		_, err := Split(line)
		require.Error(t, err, line)
		assert.NotContains(t, hint.Of(err), "--shell", line)
	}
	words, err := Split(`[ -f '*' ] "$" ';' "&&" \| '>' \~ 'a b'`)
	if assert.NoError(t, err) {
		assert.Equal(t, []string{"[", "-f", "*", "]", "$", ";", "&&", "|", ">", "~", "a b"}, words)
	}
}
