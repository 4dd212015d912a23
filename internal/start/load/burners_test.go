package load

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/start/launch"
	"gorun/internal/start/process/processtest"
)

// asBurner is the name under which the test binary runs as a burner.
const asBurner = "burner"

func TestMain(m *testing.M) {
	processtest.Main(m, map[string]func(context.Context) error{
		asBurner: func(ctx context.Context) error { return Burn(ctx, os.Stdin, os.Stdout) },
	})
}

func self() launch.Self { return processtest.Self(asBurner) }

// burners have a greater nice value than this process, which is always allowed.
func burners(cpus cpuset.Set, percent float64) []Burner { return PerCPU(cpus, percent, nicer(), 1) }

func nicer() int {
	nice, _ := linux.GetNice(0)
	return min(nice+1, linux.MaxNice)
}

// start starts burners on all CPUs that the test may use.
func start(t testing.TB, percent float64) *Burners {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	f, err := Start(t.Context(), self(), burners(allowed, percent))
	require.NoError(t, err)
	return f
}

func TestBurners(t *testing.T) {
	f := start(t, 20)
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	require.Len(t, f.burners, allowed.Len())
	for i, cpu := range allowed.List() {
		pid := f.group.PIDs[i]
		processtest.RequireAffinity(t, pid, cpuset.Of(cpu))
		is, err := linux.GetNice(pid)
		require.NoError(t, err)
		assert.Equal(t, nicer(), is)
	}

	begin, err := f.Read()
	require.NoError(t, err)
	end := begin
	tests.Await(t, "burner that has burnt the quota of three periods", func() bool {
		end, err = f.Read()
		require.NoError(t, err)
		for i := range f.burners {
			if end.used[i]-begin.used[i] <= 3*Period/5 {
				return false
			}
		}
		return true
	})
	loads := f.Achieved(begin, end)
	assert.Zero(t, f.Achieved(end, end)[0].Percent, "no division by 0")
	require.NoError(t, f.Stop())
	for i, cpu := range allowed.List() {
		assert.Equal(t, cpu, loads[i].CPU)
		assert.Equal(t, 20.0, loads[i].Asked)
		wall, used := (end.wall[i] - begin.wall[i]).Seconds(), (end.used[i] - begin.used[i]).Seconds()
		assert.InDelta(t, 100*used/wall, loads[i].Percent, 1e-9)
		assert.InDelta(t, wall, loads[i].Seconds, 1e-9)
		assert.ErrorIs(t, syscall.Kill(f.group.PIDs[i], 0), syscall.ESRCH, "the process was reaped")
	}
	require.NoError(t, f.Stop(), "a second time")
}

// A burner that has ended reads as an idle CPU, and is an error at the end.
func TestBurnersLosesBurner(t *testing.T) {
	for number, want := range map[syscall.Signal]string{
		syscall.SIGKILL: "the burner of CPU %d ended before its time: killed by SIGKILL",
		syscall.SIGTERM: "the burner of CPU %d: a signal ended it",
	} {
		f := start(t, 5)
		require.NoError(t, syscall.Kill(f.group.PIDs[0], number))
		tests.Await(t, "end of the burners", f.Ended)
		begin, err := f.Read()
		require.NoError(t, err)
		end, err := f.Read()
		require.NoError(t, err)
		assert.Zero(t, f.Achieved(begin, end)[0].Percent)
		require.EqualError(t, f.Stop(), fmt.Sprintf(want, f.burners[0].CPU))
	}
}

// A burner that cannot run on its CPU reports an error.
func TestBurnElsewhere(t *testing.T) {
	_, err := Start(t.Context(), self(), []Burner{{CPU: cpuset.Max, Percent: 1, Nice: nicer()}})
	require.ErrorContains(t, err, fmt.Sprintf("the burner of CPU %d: set the affinity", cpuset.Max))
	assert.NotEmpty(t, hint.Of(err))
}

func TestPerCPU(t *testing.T) {
	cpus := cpuset.Of(0, 3, 200)
	list := PerCPU(cpus, 60, 5, 7)
	require.Len(t, list, 3)
	for i, cpu := range cpus.List() {
		assert.Less(t, list[i].Phase, Period)
		want := Burner{CPU: cpu, Percent: 60, Phase: list[i].Phase, Nice: 5}
		assert.Equal(t, want, list[i])
	}
	assert.NotEqual(t, list[0].Phase, list[1].Phase)
	assert.Equal(t, list, PerCPU(cpus, 60, 5, 7))
	assert.NotEqual(t, list, PerCPU(cpus, 60, 5, 8))
}
