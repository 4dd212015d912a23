package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A run has the name of its textfile, else of its journal; what only passes through a device or stdout gives none.
func TestRunName(t *testing.T) {
	for _, c := range []struct{ textfile, out, want string }{
		{"", "", ""},
		{"dir/nightly.prom", "", "nightly"},
		{"", "dir/nice.v2.jsonl", "nice.v2"},
		{"a.prom", "b.jsonl", "a"},
		{".prom", "", ""},
		{"-", "", ""},
		{"", os.DevNull, ""},
		{filepath.Join(t.TempDir(), "new.prom"), "", "new"},
		{"\xff.prom", "", `\xff`},
		{"\xfe.prom", "", `\xfe`},
		{"größer \"x\".prom", "", `größer "x"`},
	} {
		o := &Options{}
		o.textfile, o.out = c.textfile, c.out
		assert.Equal(t, c.want, o.runName(), "%q %q", c.textfile, c.out)
	}
}
