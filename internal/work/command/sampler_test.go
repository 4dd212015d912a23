package command

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/sample/printed"
	"gorun/internal/start/launch"
)

// A sample has what the command used, and the figure that it prints.
func TestSample(t *testing.T) {
	rate, err := printed.New(`rate: ([0-9.]+)`)
	require.NoError(t, err)
	path, err := os.Executable()
	require.NoError(t, err)
	self := launch.Self{Path: path, Argv: []string{path}}
	for script, want := range map[string]struct {
		figure float64 // 0: none
		doubt  string
	}{
		"echo rate: $GOMAXPROCS.5 a second": {2.5, ""},
		"echo 'rate: 3' >&2":                {3, ""}, // what stdout does not tell is looked for in stderr
		"echo 'rate: 0'":                    {0, "the metric is 0, and only figures above 0 have a ratio"},
		"echo nothing":                      {0, `matches nothing in the output, which ends in "nothing"`},
	} {
		s, err := (&sampler{Environment: experiment.Environment{Self: self, Environ: os.Environ()}}).Sample(t.Context(), Cell{
			Argv: []string{"sh", "-c", script}, Metrics: []printed.Metric{rate}, Settings: []placement.Setting{{GOMAXPROCS: 2}},
		})
		require.NoError(t, err)
		if v, _ := result.Typed[Figures](&s); want.figure > 0 {
			require.NotNil(t, v.Metric, script)
			assert.InDelta(t, want.figure, *v.Metric, 0, script)
		}
		if want.doubt == "" {
			assert.Empty(t, s.Doubts, script)
		} else if assert.Len(t, s.Doubts, 1, script) {
			assert.Equal(t, result.Invalid, s.Doubts[0].Grade)
			assert.Contains(t, s.Doubts[0].Reason, want.doubt)
		}
		assert.Positive(t, s.Seconds)
		assert.Positive(t, *s.Quality.Signals.MinorFaults)
		assert.Zero(t, *s.Quality.Signals.StoppedSeconds)
		assert.True(t, s.Placement.Verified)
		assert.False(t, s.Partial)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, _, err := measure.Command(ctx, launch.Group{Self: self, Members: []launch.Member{{Argv: []string{"sleep", "600"}}}})
	require.NoError(t, err)
	assert.True(t, s.Partial)
}

// The account of a program adds up to its wall time, and what it does is in the part where it belongs.
func TestAccountOfPrograms(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	self := launch.Self{Path: path, Argv: []string{path}}
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	cpu := cpuset.Of(allowed.List()[0])
	account := func(setting placement.Setting, argv ...string) (result.Account, result.Sample) {
		s, _, err := measure.Command(t.Context(), launch.Group{Self: self, Members: []launch.Member{{Argv: argv, Setting: setting}}})
		require.NoError(t, err)
		require.NotNil(t, s.Account)
		assert.InDelta(t, s.Seconds*1e9, s.Account.Wall(), 0.5, "the parts add up to the wall time")
		return *s.Account, s
	}
	const loop = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"

	sleeps, _ := account(placement.Setting{}, "sleep", "0.1")
	assert.GreaterOrEqual(t, sleeps.Blocked, uint64(99_000_000))

	starts, s := account(placement.Setting{}, "sh", "-c", "(exec sh -c '"+loop+"'); exit 0")
	assert.InDelta(t, s.CPUSeconds()*1e9, starts.CPU(), 10_000)
	assert.InDelta(t, s.SystemSeconds*1e9, *starts.Kernel, 10_000)
	assert.Greater(t, starts.Others, starts.Running, "another process did the work")
	assert.GreaterOrEqual(t, starts.Blocked+starts.Waiting, starts.Running)

	// Of copies, that of the last one is known: what the others do, and its time at the gate, are no part of it.
	shares := launch.Member{Argv: []string{"sh", "-c", loop}, Setting: placement.Setting{CPUs: cpu}}
	s, o, err := measure.Command(t.Context(), launch.Group{Self: self, Gate: true, Members: []launch.Member{shares, shares}})
	require.NoError(t, err)
	require.NotNil(t, s.Account)
	last := o.Members[0]
	if o.Members[1].WallSeconds > last.WallSeconds {
		last = o.Members[1]
	}
	assert.InDelta(t, o.WallSeconds*1e9, s.Account.Wall(), 0.5)
	assert.InDelta(t, last.UserSeconds+last.SystemSeconds, float64(s.Account.Running)/1e9, 1e-4)
	assert.Greater(t, s.Account.Waiting, s.Account.Running/4, "the other copy has its share of the CPU")

	hog := exec.CommandContext(t.Context(), "taskset", "-c", cpu.String(), "sh", "-c", "echo; while :; do :; done")
	begun, err := hog.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, hog.Start())
	defer func() {
		_ = hog.Process.Kill()
		_ = hog.Wait()
	}()
	_, err = begun.Read(make([]byte, 1))
	require.NoError(t, err)
	waits, _ := account(placement.Setting{CPUs: cpu}, "sh", "-c", loop)
	assert.Greater(t, waits.Waiting, waits.Running/4, "the hog has its share of the CPU")
}

// A run keeps its samples, and so all that one of them points to, which is not what the command printed.
func TestSampleKeepsLittle(t *testing.T) {
	rate, err := printed.New(`rate: ([0-9.]+)`)
	require.NoError(t, err)
	path, err := os.Executable()
	require.NoError(t, err)
	s := sampler{Environment: experiment.Environment{Self: launch.Self{Path: path, Argv: []string{path}}, Environ: os.Environ()}}
	const most = 50_000 // bytes, of the 1,000,000 that are printed: what else this process keeps meanwhile is among them
	cell := Cell{
		Argv:     []string{"sh", "-c", "head -c 1000000 /dev/zero | tr '\\0' x; echo; echo rate: 2 MB a second"},
		Settings: make([]placement.Setting, 1), Metrics: []printed.Metric{rate},
	}
	kept := make([]result.Sample, 32)
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := 0
	for i := range kept {
		if i == 2 { // what is made once exists
			before = live()
		}
		kept[i], err = s.Sample(t.Context(), cell)
		require.NoError(t, err)
	}
	assert.Less(t, (live()-before)/(len(kept)-2), most)
	runtime.KeepAlive(kept)
}

// The exit codes that are accepted are not failures.
func TestHowFailed(t *testing.T) {
	long := strings.Repeat("9 ", 1000)
	for _, c := range []struct {
		o        launch.Outcome
		accepted exits
		want     string
	}{
		{launch.Outcome{}, nil, ""},
		{launch.Outcome{Ending: launch.Ending{ExitCode: 3}}, exits{1, 9}, "the command ended with exit code 3"},
		{launch.Outcome{Ending: launch.Ending{ExitCode: 3}}, exits{3}, ""},
		{launch.Outcome{Ending: launch.Ending{ExitCode: 3, Stderr: []byte("a\n b \n")}}, nil, "the command ended with exit code 3: a b"},
		{launch.Outcome{Ending: launch.Ending{ExitCode: 1, Stderr: []byte(long)}}, nil, "the command ended with exit code 1: " + long[:299]},
		{launch.Outcome{Ending: launch.Ending{ExitCode: 137, Signal: 9}}, exits{9}, "the command was ended by signal 9"},
		{launch.Outcome{Ending: launch.Ending{ExitCode: 137, Signal: 9}}, exits{137}, ""},
		{launch.Outcome{Ending: launch.Ending{ExitCode: 143, Signal: 15}, TimedOut: true}, exits{143}, "the command took longer than the timeout"},
		{launch.Outcome{TimedOut: true, Members: []launch.Ending{{}, {ExitCode: 143, Signal: 15}}}, nil, "copy 1 took longer than the timeout"},
		{launch.Outcome{Members: []launch.Ending{{ExitCode: 143, Signal: 15, Late: true}, {ExitCode: 3, Stderr: []byte("a\n")}}}, nil, "copy 1 ended with exit code 3: a"},
		{launch.Outcome{Members: []launch.Ending{{ExitCode: 3}, {ExitCode: 137, Signal: 9}}}, exits{3}, "copy 1 was ended by signal 9"},
		{launch.Outcome{Members: []launch.Ending{{ExitCode: 3}, {}}}, exits{3}, ""},
		{launch.Outcome{Left: []int{7}}, nil, "the command left processes that cannot be killed: [7]"},
	} {
		assert.Equal(t, c.want, howFailed(c.o, c.o.Members != nil, c.accepted))
	}
}
