package term

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOptionsForAFile(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	assert.Equal(t, Options{}, OptionsFor(file, func(string) string { return "" }))
	assert.Equal(t, DefaultWidth, Options{}.Columns())
	assert.Equal(t, defaultHeight, Options{}.lines())
}

func TestOptionsForATerminal(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("needs /dev/ptmx")
	}
	defer tty.Close()
	for _, c := range []struct {
		name string
		env  map[string]string
		want Options
	}{
		{"plain", map[string]string{"TERM": "xterm"}, Options{Terminal: true, Colour: true}},
		{"no colour", map[string]string{"NO_COLOR": "1"}, Options{Terminal: true}},
		{"NO_COLOR is empty", map[string]string{"NO_COLOR": ""}, Options{Terminal: true, Colour: true}},
		{"dumb", map[string]string{"TERM": "dumb"}, Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := OptionsFor(tty, func(name string) string { return c.env[name] })
			got.Width, got.Height, got.Size = 0, 0, nil // whatever this terminal has
			assert.Equal(t, c.want, got)
		})
	}
}
