package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/shell"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// copiesOf returns a group of copies of a script, whose first argument is the number of the copy.
func copiesOf(n int, script string) Group {
	c := command()
	c.Members, c.Gate, c.InMemory = nil, true, true
	for i := range n {
		c.Members = append(c.Members, Member{Argv: sh(script, "sh", strconv.Itoa(i))})
	}
	return c
}

// Each copy has its own arguments, environment, files and setting, and its own ending; the outcome has the sums.
func TestCopies(t *testing.T) {
	cpus := tests.CPUs(t, 1)
	path := filepath.Join(t.TempDir(), "in")
	require.NoError(t, os.WriteFile(path, []byte("from a file\n"), 0o644))
	c := copiesOf(3, `read word; echo "$1 $OWN $word" >&2; echo out $1; taskset -pc $$; ulimit -Sn; read more <&3; echo $more; exit $1`)
	c.Members[2].Argv = []string{os.Args[0], asPlaced}
	for i := range c.Members {
		var files []*os.File
		for range 2 {
			file, err := os.Open(path)
			require.NoError(t, err)
			defer file.Close()
			files = append(files, file)
		}
		c.Members[i].Stdin, c.Members[i].Files = files[0], files[1:]
		c.Members[i].Environ = []string{fmt.Sprintf("OWN=own%d", i)}
	}
	nice := 3
	c.Members[2].Setting.CPUs, c.Members[2].Setting.Nice = cpuset.Of(cpus[len(cpus)-1]), &nice
	o, err := run(t, c)
	require.NoError(t, err)
	require.Len(t, o.Members, 3)
	assert.Empty(t, o.Mismatches)
	assert.Positive(t, o.Checked)
	user, longest := 0.0, 0.0
	for i, e := range o.Members {
		assert.Positive(t, e.PID)
		assert.Positive(t, e.WallSeconds)
		assert.Positive(t, e.MaxRSSBytes)
		user, longest = user+e.UserSeconds, max(longest, e.WallSeconds)
		if i < 2 {
			assert.Equal(t, i, e.ExitCode)
			assert.Equal(t, fmt.Sprintf("%d own%d from a file\n", i, i), string(e.Stderr))
			assert.Contains(t, string(e.Stdout), fmt.Sprintf("out %d\n", i))
		}
	}
	assert.Contains(t, string(o.Members[0].Stdout), "from a file\n", "the file of descriptor 3")
	assert.Contains(t, string(o.Members[2].Stdout), fmt.Sprintf("CPUs %d, nice 3", cpus[len(cpus)-1]))
	assert.Equal(t, 1, o.ExitCode, "that of the first copy that failed")
	assert.Equal(t, longest, o.WallSeconds)
	assert.GreaterOrEqual(t, o.UserSeconds+1e-9, user)
}

// A copy's limit on open files, its signals and its descriptors are those of a lone command.
func TestCopiesInherit(t *testing.T) {
	for _, script := range []string{`ulimit -Sn; exec grep -E '^(SigBlk|SigIgn|SigCgt)' /proc/self/status`, `exec ls /proc/self/fd`} {
		alone, err := run(t, Group{Self: command().Self, Members: []Member{{Argv: sh(script)}}, Keep: mebibyte, InMemory: true})
		require.NoError(t, err)
		o, err := run(t, copiesOf(2, script))
		require.NoError(t, err)
		assert.NotEmpty(t, alone.Stdout)
		for _, e := range o.Members {
			assert.Equal(t, string(alone.Stdout), string(e.Stdout))
		}
	}
}

// No copy begins before all of them wait at the gate.
func TestCopiesBeginTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "begun")
	c := copiesOf(4, `echo $1 >>`+shell.Quote(file))
	var pids []int
	c.Started = func(all []int) { pids = all }
	o, err := run(t, c)
	require.NoError(t, err)
	require.Len(t, pids, 4)
	for i, e := range o.Members {
		assert.Equal(t, pids[i], e.PID)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Len(t, strings.Fields(string(text)), 4)
}

// One supervisor runs copies and single commands in turns.
func TestCopiesLasting(t *testing.T) {
	lasting := new(Lasting)
	defer lasting.Close()
	for range 3 {
		c := copiesOf(2, "exit 0")
		c.Lasting = lasting
		o, err := run(t, c)
		require.NoError(t, err)
		assert.Len(t, o.Members, 2)
		alone := command("true")
		alone.Lasting = lasting
		o, err = run(t, alone)
		require.NoError(t, err)
		assert.Len(t, o.Members, 1)
	}
}

// A program that does not exist, or cannot be run, is an error with the exit codes of env(1); no copy is left.
func TestCopiesThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	bare, lost, fake := filepath.Join(dir, "bare"), filepath.Join(dir, "lost"), filepath.Join(dir, "fake")
	require.NoError(t, os.WriteFile(bare, []byte("exit 9\n"), 0o755)) // a script without #!
	require.NoError(t, os.WriteFile(lost, []byte("#!/no/such/shell\n"), 0o755))
	require.NoError(t, os.WriteFile(fake, []byte("\x7fELF"), 0o755))
	for argv, want := range map[string]int{"no-such-command": ExitNotFound, lost: ExitNotFound, dir: ExitCannot} {
		c := copiesOf(3, "sleep 1000")
		c.Together = true
		c.Members[1].Argv = []string{argv}
		_, err := run(t, c)
		var exit *ExitError
		require.ErrorAs(t, err, &exit, argv)
		assert.Equal(t, want, exit.Code, argv)
	}
	c := copiesOf(2, "")
	c.Members[0].Argv, c.Members[1].Argv = []string{bare}, []string{bare}
	o, err := run(t, c)
	require.NoError(t, err)
	assert.Equal(t, []int{9, 9}, []int{o.Members[0].ExitCode, o.Members[1].ExitCode})
}

// A copy that fails ends the others, even one that ignores SIGTERM; which one failed is known.
func TestCopiesEndTogether(t *testing.T) {
	ready := shell.Quote(filepath.Join(t.TempDir(), "ready"))
	c := copiesOf(3, `trap "" TERM; >`+ready+`$1
		while [ $1 = 1 ]; do [ -e `+ready+`0 ] && [ -e `+ready+`2 ] && exit 7; done; sleep 1000`)
	c.Self.Patience, c.Together = 10*time.Millisecond, true
	o, err := run(t, c)
	require.NoError(t, err)
	assert.Equal(t, 7, o.ExitCode)
	assert.Equal(t, []bool{true, false, true}, []bool{o.Members[0].Late, o.Members[1].Late, o.Members[2].Late})
	assert.Equal(t, int(syscall.SIGKILL), o.Members[0].Signal)
	for _, e := range o.Members {
		assert.ErrorIs(t, syscall.Kill(e.PID, 0), syscall.ESRCH)
	}
}

// The timeout and a killed copy end as those of a lone command.
func TestCopiesStopped(t *testing.T) {
	c := copiesOf(2, `[ $1 = 1 ] || exec sleep 1000`)
	c.Timeout = 50 * time.Millisecond
	o, err := run(t, c)
	require.NoError(t, err)
	assert.True(t, o.TimedOut)
	assert.Equal(t, int(syscall.SIGTERM), o.Members[0].Signal)

	c = copiesOf(2, `[ $1 = 0 ] || kill -KILL $$`)
	o, err = run(t, c)
	require.NoError(t, err)
	assert.Equal(t, []int{0, 9}, []int{o.Members[0].Signal, o.Members[1].Signal})
	assert.Equal(t, 137, o.ExitCode)
}

// A setting that a copy cannot have is an error, and the copies that wait at the gate are gone.
func TestCopiesRefused(t *testing.T) {
	before, err := linux.Descendants()
	require.NoError(t, err)
	c := copiesOf(2, "exit 0")
	c.Members[1].Setting.CPUs = cpuset.Of(cpuset.Max)
	_, err = run(t, c)
	var exit *ExitError
	require.True(t, errors.As(err, &exit), "%v", err)
	assert.Equal(t, ExitRefused, exit.Code)
	after, err := linux.Descendants()
	require.NoError(t, err)
	assert.Equal(t, before, after)
}
