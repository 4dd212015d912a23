package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
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
	} {
		text := tests.Read(t, filepath.Join(prefix, "share", name))
		assert.Equal(t, begins, string(text[:len(begins)]), name)
	}
	command := tests.Read(t, filepath.Join(prefix, "share/man/man1/gorun-contend.1"))
	assert.Contains(t, string(command), `\fB--load\fP`, "a command's flags are on its page")
	assert.Contains(t, string(command), "one-iteration", "and its topic is")
	first := tests.Read(t, filepath.Join(prefix, "share/man/man1/gorun.1"))
	forEach(newRoot(env{}), func(cmd *cobra.Command) {
		if cmd.HasParent() && !cmd.Parent().HasParent() && cmd.Name() != "help" {
			assert.Regexp(t, `gorun-`+cmd.Name()+`\\fP\([17]\)\n.*\n?`+regexp.QuoteMeta(cmd.Short[:12]), string(first))
		}
	})
	pages := tests.Glob(t, filepath.Join(prefix, "share/man/man*/*"))
	for _, topic := range topicNames() {
		assert.Contains(t, strings.Join(pages, "\n"), "/gorun-"+topic+".")
	}
	tests.Tools(t, "groff", "preconv") // the latter reads UTF-8 (Debian: groff-base)
	args := append(strings.Fields("-man -Tutf8 -Kutf8 -ww -rLL=78n -z"), pages...)
	warnings, err := exec.Command("groff", args...).CombinedOutput()
	require.NoError(t, err)
	assert.Empty(t, string(warnings))
}
