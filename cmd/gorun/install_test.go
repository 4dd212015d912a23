package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// `make install` installs a working gorun below PREFIX, with the man pages and the completions where shells look for them.
func TestMakeInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a run without -short: it builds gorun")
	}
	for _, tool := range []string{"git", "make", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s: %v", tool, err)
		}
	}
	c, prefix := newClone(t), t.TempDir()
	c.run("make", "install", "PREFIX="+prefix)
	version, _ := c.run(filepath.Join(prefix, "bin/gorun"), "--version")
	assert.Contains(t, version, "gorun ")
	for name, begins := range map[string]string{
		"bash-completion/completions/gorun": "# bash completion", "zsh/site-functions/_gorun": "#compdef gorun",
		"fish/vendor_completions.d/gorun.fish": "# fish completion",
		"man/man1/gorun-primes.1":              `.TH "GORUN\-PRIMES" "1"`, "man/man7/gorun-verdicts.7": `.TH "GORUN\-VERDICTS" "7"`,
	} {
		text, err := os.ReadFile(filepath.Join(prefix, "share", name))
		require.NoError(t, err)
		assert.Equal(t, begins, string(text[:len(begins)]), name)
	}
}
