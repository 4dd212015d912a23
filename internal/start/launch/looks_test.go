package launch

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cgroup/cgrouptest"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

func TestStopTime(t *testing.T) {
	for _, c := range []struct {
		looks string // one every 100 ms: '-' finds no stopped process, 'T' finds one
		ms    int
	}{
		{"---", 0}, {"-T-", 100}, {"-TT-", 200}, {"T", 50}, {"-T--T-", 200},
	} {
		now := time.Unix(1000, 0)
		s := stopTime{last: now}
		for _, is := range c.looks {
			now = now.Add(100 * time.Millisecond)
			s.look(now, is == 'T')
		}
		assert.Equal(t, time.Duration(c.ms)*time.Millisecond, s.total, c.looks)
	}
}

// TestOthers: threads are told apart also if one gets the TID of another, and what they did adds up, for each process from which they come.
func TestOthers(t *testing.T) {
	o := newOthers()
	o.saw(1, 7, linux.Turns{OnCPU: 1, Waited: 2, Count: 3})
	o.saw(2, 8, linux.Turns{OnCPU: 10, Waited: 20, Count: 30})
	o.saw(7, 7, linux.Turns{OnCPU: 2, Waited: 2, Count: 4}) // its parent has ended
	all, by := o.sum()
	assert.Equal(t, linux.Turns{OnCPU: 12, Waited: 22, Count: 34}, all)
	assert.Equal(t, map[int]linux.Turns{1: {OnCPU: 2, Waited: 2, Count: 4}, 2: {OnCPU: 10, Waited: 20, Count: 30}}, by)
	o.saw(1, 7, linux.Turns{OnCPU: 0.5, Waited: 3, Count: 5})
	o.saw(1, 8, linux.Turns{OnCPU: 11, Waited: 0, Count: 1})
	all, by = o.sum()
	assert.Equal(t, linux.Turns{OnCPU: 2 + 0.5 + 10 + 11, Waited: 2 + 3 + 20, Count: 4 + 5 + 30 + 1}, all)
	assert.Equal(t, map[int]linux.Turns{1: {OnCPU: 2 + 0.5 + 11, Waited: 5, Count: 4 + 5 + 1}, 2: {OnCPU: 10, Waited: 20, Count: 30}}, by)
}

// TestIntervals: looks at threads begin early, and become rarer as a command lives longer and as a look takes longer.
func TestIntervals(t *testing.T) {
	stops, threads := looks{begun: time.Unix(1000, 0)}, looks{begun: time.Unix(1000, 0), others: newOthers()}
	for _, c := range []struct {
		lived, took    time.Duration
		stops, threads time.Duration
	}{
		{0, 0, lookEvery, time.Millisecond},
		{50 * time.Millisecond, 10 * time.Microsecond, lookEvery, 5 * time.Millisecond},
		{50 * time.Millisecond, 70 * time.Microsecond, lookEvery, 7 * time.Millisecond},
		{10 * time.Second, 10 * time.Microsecond, lookEvery, lookEvery},
		{10 * time.Second, 2 * time.Millisecond, 400 * time.Millisecond, 200 * time.Millisecond},
	} {
		now := stops.begun.Add(c.lived)
		assert.Equal(t, c.stops, stops.next(now, c.took), "%v", c)
		assert.Equal(t, c.threads, threads.next(now, c.took), "%v", c)
	}
	threads.others.last[7] = thread{}
	assert.Equal(t, 100*time.Millisecond, threads.next(stops.begun.Add(time.Millisecond), 2*time.Millisecond), "of several threads, more is seen")
}

// TestLooksAtOthers: that processes of a command wait for each other is only known if somebody looks.
func TestLooksAtOthers(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	const loop = "(i=0; while [ $i -lt %[1]d ]; do i=$((i+1)); done) &"
	turns := 1000
	tests.Await(t, "look at two processes on one CPU", func() bool {
		turns *= 3
		c := command(sh(fmt.Sprintf(loop+loop+"wait", turns))...).on(cpuset.Of(allowed.First()))
		o, err := run(t, c)
		require.NoError(t, err)
		require.Nil(t, o.Others)
		c.Looks = true
		o, err = run(t, c)
		require.NoError(t, err)
		require.NotNil(t, o.Others)
		assert.LessOrEqual(t, o.Others.OnCPU+o.Turns.OnCPU, o.UserSeconds+o.SystemSeconds+0.001)
		return o.Others.OnCPU > 0 && o.Others.Waited > 0
	})
	c := command("true")
	c.Looks = true
	o, err := run(t, c)
	require.NoError(t, err)
	require.NotNil(t, o.Others)
	assert.Zero(t, *o.Others, "it has one thread")

	tests.Await(t, "look at the processes of one of two copies", func() bool {
		turns *= 3
		c := command("true").on(cpuset.Of(allowed.First()))
		c.Gate, c.InMemory, c.Looks = true, true, true
		c.Members = append(c.Members, Member{Argv: sh(fmt.Sprintf(loop+loop+"wait", turns)), Setting: c.Members[0].Setting})
		o, err := run(t, c)
		require.NoError(t, err)
		require.NotNil(t, o.Members[0].Others)
		assert.Zero(t, *o.Members[0].Others)
		assert.Equal(t, o.Others, o.Members[1].Others)
		return o.Others.Waited > 0
	})
}

// TestLooksAtQuotas: a quota of a control group that the command enters by itself is found.
func TestLooksAtQuotas(t *testing.T) {
	group := cgrouptest.Limited(t, "cpu", 10_000)
	turns := 1000
	tests.Await(t, "command that the quota stops", func() bool {
		turns *= 3
		c := command(sh(fmt.Sprintf(`echo $$ >"$0"; i=0; while [ $i -lt %d ]; do i=$((i+1)); done`, turns), group+"/cgroup.procs")...)
		c.Looks = true
		o, err := run(t, c)
		require.NoError(t, err)
		require.Zero(t, o.ExitCode, "%s", o.Stderr)
		return *o.Looks.ThrottledSeconds > 0
	})
	c := command("sleep", "0.01")
	c.Looks = true
	o, err := run(t, c)
	require.NoError(t, err)
	assert.Zero(t, *o.Looks.ThrottledSeconds, "it stays in the group of its parent")
}

// startsCat is a script that starts cat(1) with its own input, and tells its PID. A shell would give it another input.
const startsCat = "exec 3<&0; cat <&3 & echo $!; wait"

// A stop of the command's child is in the outcome.
func TestStoppedCommand(t *testing.T) {
	stop := lookEvery
	tests.Await(t, "stop that is long enough to be noticed", func() bool {
		stop += lookEvery
		d := stop
		from, to, err := os.Pipe()
		require.NoError(t, err)
		input, theirs, err := os.Pipe()
		require.NoError(t, err)
		c := command(sh(startsCat)...)
		c.Members[0].Stdin, c.Members[0].Stdout = input, to
		go func() {
			defer theirs.Close()
			var pid int
			_, err := fmt.Fscan(from, &pid)
			assert.NoError(t, err)
			assert.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
			tests.Pause(d)
			assert.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		}()
		o, err := run(t, c)
		require.NoError(t, err)
		for _, file := range []*os.File{from, to, input} {
			require.NoError(t, file.Close())
		}
		require.NotNil(t, o.StoppedSeconds)
		return *o.StoppedSeconds > 0
	})
}
