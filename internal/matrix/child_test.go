package matrix_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/result"
)

// The names under which the test binary is a process of these tests.
const (
	asEnvironment = "environment" // tells its own
	asParent      = "parent"      // runs a shell's script as its child
)

func TestMain(m *testing.M) {
	switch os.Args[0] {
	case asEnvironment:
		if err := json.NewEncoder(os.Stdout).Encode(result.Run{Spec: os.Environ()}); err != nil {
			os.Exit(1)
		}
	case asParent:
		_, _ = matrix.Child{Path: "/bin/sh", Name: "sh"}.Run(context.Background(), []string{"-c", os.Args[1]})
	default:
		os.Exit(m.Run())
	}
}

// shell runs a script as a child.
func shell(ctx context.Context, script string, args ...string) (*result.Run, error) {
	return matrix.Child{Path: "/bin/sh", Name: "gorun", Env: []string{"PATH=" + os.Getenv("PATH")}}.
		Run(ctx, append([]string{"-c", script}, args...))
}

func TestChild(t *testing.T) {
	run, err := shell(t.Context(), `echo "{\"experiment\": \"$0\", \"seed\": 5}"; echo "gorun: error: a word" >&2`)
	require.NoError(t, err)
	assert.Equal(t, &result.Run{Experiment: "gorun", Seed: 5}, run, "the name is argv[0], and stderr of no matter")

	run, err = shell(t.Context(), `echo "{\"experiment\": \"$*\"}"`, "name", "--limit", "2 3")
	require.NoError(t, err)
	assert.Equal(t, "--limit 2 3", run.Experiment)
}

func TestChildFails(t *testing.T) {
	for script, want := range map[string]struct{ words, hint string }{
		`echo "gorun: error: too many" >&2; exit 1`: {"too many", ""},
		`echo "gorun: error: too many" >&2; echo "gorun: hint: less" >&2; exit 2`: {
			"too many", "less",
		},
		`echo x >&2; echo " gorun: error: a: b " >&2; echo y >&2; exit 2`: {
			"a: b", "",
		},
		`echo "gorun: hint: less" >&2; exit 3`: {"the process ended with exit status 3", ""},
		`echo "{}"; exit 3`:                    {"the process ended with exit status 3", ""},
		`kill -9 $$`:                           {"the process ended with signal: killed", ""},
		`kill -ABRT $$`:                        {"the process ended with signal: aborted", ""},
	} {
		run, err := shell(t.Context(), script)
		require.Error(t, err, script)
		assert.Contains(t, err.Error(), want.words, script)
		assert.True(t, strings.HasPrefix(err.Error(), want.words), script)
		assert.Equal(t, want.hint, hint.Of(err), script)
		assert.Nil(t, run, script)
	}

	for _, script := range []string{"echo no JSON", "true", `echo '{"seed": -1}'`, "echo '{}{}'"} {
		run, err := shell(t.Context(), script)
		require.ErrorContains(t, err, "gorun -c "+script+": cannot read its result: ", script)
		assert.Nil(t, run, script)
	}

	_, err := matrix.Child{Path: filepath.Join(t.TempDir(), "none"), Name: "gorun"}.Run(t.Context(), nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "ended", "there was none")
}

// scripted is a cell whose process is a shell that runs a script; what the child adds are the script's arguments.
func scripted(script string) (matrix.Child, result.Cell) {
	child := matrix.Child{Path: "/bin/sh", Name: "gorun", Env: []string{"PATH=" + os.Getenv("PATH")}}
	return child, result.Cell{Command: []string{"-c", script, "cell"}}
}

// A sample is one of a process that drops its warm-ups; its canary is the process's first.
func TestChildSample(t *testing.T) {
	child, cell := scripted(`
		echo '{"warmups": [{"quality": {"signals": {"canary_seconds": 1}}}, {"quality": {"signals": {"canary_seconds": 2}}}],'
		echo '"samples": [{"seconds": 5, "quality": {"verdict": "valid", "signals": {"canary_seconds": 3}}}],'
		echo '"warnings": [{"code": "'"$*"'", "message": "m"}]}'`)
	sample, warnings := child.Sample(t.Context(), cell, 2)
	assert.Equal(t, 5.0, sample.Seconds)
	assert.Equal(t, 1.0, *sample.Quality.Signals.CanarySeconds)
	assert.Equal(t, []result.Warning{{Code: "--samples 1 --warmup 2 --format json", Message: "m"}}, warnings)
	assert.Equal(t, []string{"-c", cell.Command[1], "cell"}, cell.Command, "it stays as it was")

	child, cell = scripted(`echo '{"samples": [{"quality": {"signals": {"canary_seconds": 3}}}]}'`)
	sample, _ = child.Sample(t.Context(), cell, 0)
	assert.Equal(t, 3.0, *sample.Quality.Signals.CanarySeconds)

	for script, reason := range map[string]string{
		`echo '{"samples": []}'`:                                  "its process took 0 samples, and was to take one",
		`echo "gorun: error: no" >&2; exit 1`:                     "no",
		`printf 'gorun: error: no\ngorun: hint: yes' >&2; exit 1`: "no (yes)",
	} {
		child, cell := scripted(script)
		sample, warnings := child.Sample(t.Context(), cell, 1)
		assert.Equal(t, result.Quality{Verdict: result.Invalid, Reasons: []string{reason}}, sample.Quality)
		assert.Empty(t, warnings)
	}
}

// The pilot's processes take their executions within a third of the budget each.
func wall(s result.Sample) float64 { return s.Seconds }

func TestChildPilot(t *testing.T) {
	child, cell := scripted(`
		test "$*" = "--samples 5 --warmup 0 --format json --budget 20s" || exit 1
		echo '{"samples": [{"seconds": 9}, {"seconds": 9}, {"seconds": 5}, {"seconds": 5}, {"seconds": 5}]}'`)
	warmup, err := child.Pilot(t.Context(), cell, time.Minute, wall)
	require.NoError(t, err)
	assert.Equal(t, 2, warmup)
	_, err = child.Pilot(t.Context(), cell, time.Second, wall)
	require.Error(t, err)
}

// A child has the environment that it is given, and nothing from the parent's.
func TestChildEnvironment(t *testing.T) {
	t.Setenv("GORUN_LIMIT", "5")
	self, err := os.Executable()
	require.NoError(t, err)
	for _, env := range [][]string{{"A=1", "B=two words"}, {"ONE="}} {
		run, err := matrix.Child{Path: self, Name: asEnvironment, Env: env}.Run(t.Context(), nil)
		require.NoError(t, err)
		want := make([]any, len(env))
		for i := range env {
			want[i] = env[i]
		}
		assert.Equal(t, want, run.Spec)
	}
}

// A child that is told to end may do so in good order; one that does not hear is killed.
func TestChildIsEnded(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"it ends":         {"exec sleep 600", "the process ended with signal: terminated"},
		"it says so":      {`trap 'echo "gorun: error: interrupted" >&2; exit 130' TERM; %s; read x <"$1"`, "interrupted"},
		"it does not end": {`trap "" TERM; exec sleep 600`, "the process ended with signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			up, never := filepath.Join(dir, "up"), filepath.Join(dir, "never")
			require.NoError(t, syscall.Mkfifo(up, 0o600))
			require.NoError(t, syscall.Mkfifo(never, 0o600))
			const tell = `echo >"$0"` // that the script has come so far
			script := c.script
			if before, after, found := strings.Cut(script, "%s"); found {
				script = before + tell + after
			} else if before, after, found := strings.Cut(script, "exec"); found {
				script = before + tell + "; exec" + after
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_, _ = os.ReadFile(up)
				cancel()
			}()
			_, err := shell(ctx, script, up, never)
			require.EqualError(t, err, c.want)
		})
	}
}

// A child does not outlive its parent, even where that is killed.
func TestChildDiesWithParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ends a child with its parent")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	// The pipe is open in the parent and in its child: it ends when both have ended.
	out, in, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	parent := exec.Command(self, "echo $$ >&3; exec sleep 600")
	parent.Args[0] = asParent
	parent.ExtraFiles = []*os.File{in}
	require.NoError(t, parent.Start())
	require.NoError(t, in.Close())
	require.NoError(t, out.SetReadDeadline(time.Now().Add(time.Minute)))
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NotEqual(t, parent.Process.Pid, child)
	if _, err = lines.ReadByte(); !assert.ErrorContains(t, err, "EOF", "the child runs on") {
		assert.NoError(t, syscall.Kill(child, syscall.SIGKILL))
	}
}
