package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cgroup/cgrouptest"
)

// The names under which the test binary is a process of these tests.
const (
	asEnvironment = "environment" // tells its own
	asParent      = "parent"      // runs a shell's script as its child, and prints the error
)

// told is what the processes of these tests print.
type told struct {
	Text string
	Seed uint64
}

// asked runs a script as a child.
func asked(ctx context.Context, script string, args ...string) (a told, err error) {
	sh := Self{Path: "/bin/sh", Argv: []string{"gorun"}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	_, err = sh.Ask(ctx, append([]string{"-c", script}, args...), nil, &a)
	return a, err
}

func TestAsk(t *testing.T) {
	a, err := asked(t.Context(), `echo "{\"Text\": \"$0\", \"Seed\": 5}"; echo "gorun: error: a word" >&2`)
	require.NoError(t, err)
	assert.Equal(t, told{"gorun", 5}, a, "the name is argv[0], and stderr does not matter")

	a, err = asked(t.Context(), `echo "{\"Text\": \"$*\"}"; cat`, "name", "--limit", "2 3")
	require.NoError(t, err)
	assert.Equal(t, "--limit 2 3", a.Text)

	sh := Self{Path: "/bin/sh", Argv: []string{"sh", "-c"}, Env: []string{"PATH=" + os.Getenv("PATH")}}
	used, err := sh.Ask(t.Context(), []string{"cat"}, told{"asked", 7}, &a)
	require.NoError(t, err)
	assert.Equal(t, told{"asked", 7}, a, "the request is on stdin")
	assert.Positive(t, used.MinorFaults)
	_, err = sh.Ask(t.Context(), []string{"cat"}, math.NaN(), &a)
	require.ErrorContains(t, err, "request of cat: ")
}

func TestAskFails(t *testing.T) {
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
		`kill -9 $$`:                           {"the process was killed by SIGKILL", ""},
		`kill -ABRT $$`:                        {"the process was killed by SIGABRT", ""},
	} {
		_, err := asked(t.Context(), script)
		require.Error(t, err, script)
		assert.Contains(t, err.Error(), want.words, script)
		assert.True(t, strings.HasPrefix(err.Error(), want.words), script)
		assert.Equal(t, want.hint, hint.Of(err), script)
	}

	for _, script := range []string{"echo no JSON", "true", `echo '{"Seed": -1}'`, "echo '{}{}'"} {
		_, err := asked(t.Context(), script)
		require.ErrorContains(t, err, "gorun -c "+script+": cannot read its result: ", script)
	}

	none := Self{Path: filepath.Join(t.TempDir(), "none"), Argv: []string{"gorun"}}
	_, err := none.Ask(t.Context(), nil, nil, new(any))
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "ended", "there was none")
}

// A child has the environment that it is given, and nothing from the parent's.
func TestAskEnvironment(t *testing.T) {
	t.Setenv("GORUN_LIMIT", "5")
	self, err := os.Executable()
	require.NoError(t, err)
	for _, env := range [][]string{{"A=1", "B=two words"}, {"ONE="}} {
		var got []string
		_, err := Self{Path: self, Argv: []string{asEnvironment}}.In(env).Ask(t.Context(), nil, nil, &got)
		require.NoError(t, err)
		assert.Equal(t, env, got)
	}
}

// A child that is asked to end may end normally; one that does not react is killed.
func TestAskIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		script   string // sleeps after it has told its PID
		patience time.Duration
		want     string
	}{
		"it ends":         {`echo $$ >"$0"; exec sleep 600`, tests.Hang, "the process was killed by SIGTERM"},
		"it says so":      {`trap 'echo "gorun: error: interrupted" >&2; exit 130' TERM; echo $$ >"$0"; read x <"$1"`, tests.Hang, "interrupted"},
		"it does not end": {`trap "" TERM; echo $$ >"$0"; exec sleep 600`, time.Millisecond, "the process was killed by SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			up, never := filepath.Join(dir, "up"), filepath.Join(dir, "never")
			require.NoError(t, syscall.Mkfifo(up, 0o600))
			require.NoError(t, syscall.Mkfifo(never, 0o600))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				defer cancel()
				text, _ := os.ReadFile(up)
				pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
				assert.NoError(t, err)
				// A shell notices a signal that comes before it sleeps only when the sleep ends.
				for tests.Alive(pid) && tests.State(pid) != 'S' {
					time.Sleep(time.Millisecond)
				}
			}()
			sh := Self{Path: "/bin/sh", Argv: []string{"sh"}, Env: os.Environ(), Patience: c.patience}
			_, err := sh.Ask(ctx, []string{"-c", c.script, up, never}, nil, new(any))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A child does not outlive its parent, even if the parent is killed.
func TestAskDiesWithParent(t *testing.T) {
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
	require.NoError(t, out.SetReadDeadline(time.Now().Add(tests.Hang)))
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.NotEqual(t, parent.Process.Pid, pid)
	if _, err = lines.ReadByte(); !assert.ErrorContains(t, err, "EOF", "the child runs on") {
		assert.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

// A child that the kernel kills for lack of memory is reported with the signal and the limit of its cgroup.
func TestKilledForWantOfMemory(t *testing.T) {
	group := cgrouptest.Limited(t, "memory", 64<<20)
	tests.Tools(t, "bash") // its exec can give a name
	self, err := os.Executable()
	require.NoError(t, err)
	join := exec.Command("bash", "-c", `echo $$ > "$0/cgroup.procs" && exec -a "$@"`, group, asParent, self,
		"exec tail /dev/zero")
	text, err := join.CombinedOutput()
	require.NoError(t, err, "%s", text)
	assert.Contains(t, string(text), "the process was killed by SIGKILL; the memory limit of its control group is "+
		"67108864 bytes, for which the kernel has killed 1 there so far")
	assert.Contains(t, string(text), "gorun: hint: give it more memory ("+group+"/memory.")
}

// A process's error is read from the file that is its stderr.
func TestStderr(t *testing.T) {
	usual := errors.New("it has ended")
	for script, want := range map[string]struct{ words, hint string }{
		`echo "gorun: error: too many" >&2; echo "gorun: hint: less" >&2`: {"too many", "less"},
		"echo x >&2": {usual.Error(), ""},
		"":           {usual.Error(), ""},
	} {
		stderr, err := NewStderr()
		require.NoError(t, err)
		sh := exec.Command("sh", "-c", script)
		sh.Stderr = stderr.File
		require.NoError(t, sh.Run())
		err = stderr.Reported(usual)
		require.EqualError(t, err, want.words, script)
		assert.Equal(t, want.hint, hint.Of(err), script)
		require.ErrorIs(t, stderr.Close(), os.ErrClosed)
	}
}

// An error of the system gets a hint, unless it already has one.
func TestRemedied(t *testing.T) {
	assert.NoError(t, Remedied(nil))
	full := fmt.Errorf("start it: %w", syscall.EMFILE)
	assert.Contains(t, hint.Of(Remedied(full)), "ulimit -n")
	assert.Contains(t, hint.Of(Remedied(syscall.EFBIG)), "ulimit -f")
	assert.Contains(t, hint.Of(Remedied(syscall.EAGAIN)), "pids.max")
	assert.Contains(t, hint.Of(Remedied(syscall.ENOMEM)), "ulimit -v")
	assert.Equal(t, "wait", hint.Of(Remedied(hint.With(full, "wait"))))
	assert.Empty(t, hint.Of(Remedied(syscall.EINVAL)))
	assert.Empty(t, hint.Of(Remedied(fs.ErrNotExist)), "/proc is there")
	var said strings.Builder
	Report(&said, full)
	assert.Contains(t, said.String(), "gorun: hint: raise the limit on open files")
}
