package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/files/input"
	"gorun/internal/record/result"
)

// clone is a git repository of these sources, in which `make matrix` runs.
type clone struct {
	*testing.T
	dir string
	env []string
}

// newClone copies gorun's sources into a new repository.
func newClone(t *testing.T) *clone {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	c := &clone{T: t, dir: t.TempDir()}
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		from, to := filepath.Join(root, path), filepath.Join(c.dir, path)
		switch name := entry.Name(); {
		case entry.IsDir() && (name == ".git" || name == "testdata" && path != "testdata"),
			entry.IsDir() && filepath.Dir(path) == "testdata" && !slices.Contains([]string{"matrix", "prometheus"}, name):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(to, 0o777)
		case !entry.Type().IsRegular(), strings.HasSuffix(name, "_test.go"),
			filepath.Dir(path) == "." && !strings.HasPrefix(name, "go.") && name != "Makefile" && name != ".gitignore":
			return nil
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o666)
	}))
	c.env = append(os.Environ(), "GOFLAGS=-buildvcs=auto", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "LC_ALL=C")
	c.run("git", "init", "-q")
	return c
}

// command returns a command that runs in the repository, in a process group of its own, as a job of a shell does.
func (c *clone) command(name string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.CommandContext(c.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dir, c.env, &syscall.SysProcAttr{Setpgid: true}
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

func (c *clone) run(name string, args ...string) (stdout, stderr string) {
	c.Helper()
	cmd, out, err := c.command(name, args...)
	require.NoError(c, cmd.Run(), "%s %q: %s%s", name, args, out, err)
	return out.String(), err.String()
}

// commit commits everything, and returns the commit.
func (c *clone) commit() string {
	c.Helper()
	c.run("git", "add", "-A")
	c.run("git", "commit", "-q", "--allow-empty", "-m", "change")
	head, _ := c.run("git", "rev-parse", "HEAD")
	return strings.TrimSpace(head)
}

// change edits the sources so that another program is built from them.
func (c *clone) change(text string) {
	file, err := os.OpenFile(filepath.Join(c.dir, "cmd/gorun/version.go"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(c, err)
	_, err = file.WriteString("\nfunc init() { version += \"" + text + "\" }\n")
	require.NoError(c, err)
	require.NoError(c, file.Close())
}

// journals returns the names of the journals.
func (c *clone) journals() (names []string) {
	paths := tests.Glob(c, filepath.Join(c.dir, "*.jsonl"))
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names
}

func (c *clone) journal(name string) *result.Run {
	c.Helper()
	run, err := readJournal(c.Context(), input.Opener{}, filepath.Join(c.dir, name))
	require.NoError(c, err)
	return run
}

// `make matrix` is interrupted, resumed and repeated. A program that was built anew has a journal of its own, and the two runs can be
// compared.
func TestLiveMatrixAcrossCommits(t *testing.T) {
	tests.Live(t)
	tests.Tools(t, "git", "make", "go", "sha256sum")
	c := newClone(t)
	const cells = "MATRIX=--workers 1,2 --limit 2000 --method 'brute' --warmup 0 --samples 30"
	first := c.commit()
	c.run("make", "build")

	var name string
	var interrupted *result.Run
	var stderr *bytes.Buffer
	tests.Await(t, "run that was interrupted", func() bool { // again if it ended before
		for _, name := range c.journals() {
			_ = os.Remove(filepath.Join(c.dir, name))
		}
		var cmd *exec.Cmd
		cmd, _, stderr = c.command("make", "matrix", cells)
		require.NoError(t, cmd.Start())
		tests.Await(t, "sample", func() bool {
			names := c.journals()
			if len(names) == 0 {
				return false
			}
			name = names[0]
			text, _ := os.ReadFile(filepath.Join(c.dir, name))
			return bytes.Count(text, []byte("\n")) > 1
		})
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		_ = cmd.Wait()
		interrupted = c.journal(name)
		return interrupted.Partial
	})
	assert.Equal(t, first, interrupted.Tool.Commit)
	assert.Contains(t, name, interrupted.Tool.SHA256[:12])
	says := regexp.MustCompile(`(?m)^gorun: resume with: (\./gorun .*)$`).FindStringSubmatch(stderr.String())
	require.NotNil(t, says, stderr.String())

	stdout, _ := c.run("sh", "-c", says[1])
	whole := c.journal(name)
	assert.False(t, whole.Partial)
	assert.Equal(t, 90, whole.Samples.Len())
	assert.Equal(t, tests.Values(interrupted.Samples.All()), tests.Values(whole.Samples.First(interrupted.Samples.Len()).All()))
	assert.Equal(t, interrupted.Seed, whole.Seed)

	again, _ := c.run("make", "matrix", cells)
	table, _, _ := strings.Cut(stdout, "\nWarnings:")
	assert.Contains(t, again, table, "the run is complete, and is shown again")
	require.Equal(t, []string{name}, c.journals())
	before := tests.Read(t, filepath.Join(c.dir, name))

	c.change("-dirty")
	c.run("make", "matrix", cells)
	names := c.journals()
	require.Len(t, names, 2)
	after := tests.Read(t, filepath.Join(c.dir, name))
	assert.Equal(t, string(before), string(after), "the earlier run is whole")
	other := names[(slices.Index(names, name)+1)%2]
	assert.True(t, strings.HasSuffix(c.journal(other).Tool.Commit, "+modified"))
	stdout, _ = c.run("./gorun", "compare", name, other, "--across", "go")
	assert.Regexp(t, `(?m)^  +--workers 2 `, stdout, "cells that match are compared")
}
