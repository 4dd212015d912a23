package term

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsFor(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	assert.Equal(t, Options{}, OptionsFor(file, os.Getenv))

	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("needs /dev/ptmx")
	}
	defer tty.Close()
	for _, c := range []struct {
		term, noColour   string
		terminal, colour bool
	}{
		{"xterm", "", true, true},
		{"xterm", "1", true, false},
		{"dumb", "", false, false},
	} {
		env := map[string]string{"TERM": c.term, "NO_COLOR": c.noColour}
		got := OptionsFor(tty, func(name string) string { return env[name] })
		assert.Equal(t, c.terminal, got.Terminal)
		assert.Equal(t, c.colour, got.Colour)
	}
}

func TestDimmed(t *testing.T) {
	opts := Options{Colour: true}
	block := "gorun x\n  placed: " + opts.Paint(Red, "not") + " so\n"
	assert.Equal(t, block, Dimmed(block, Options{}))
	assert.Equal(t, "\x1b[2mgorun x\x1b[0m\n  \x1b[2mplaced: \x1b[0m\x1b[31mnot\x1b[0m\x1b[2m so\x1b[0m\n", Dimmed(block, opts))
}
