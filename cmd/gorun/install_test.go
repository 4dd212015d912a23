package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/tests"
)

// `make install` installs a working gorun below PREFIX, with the man pages and the completions where shells look for them.
func TestLiveMakeInstall(t *testing.T) {
	tests.Live(t)
	tests.Tools(t, "git", "make", "go")
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
