package command

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/launch"
	"gorun/internal/result"
	"gorun/internal/sysfs"
	"gorun/internal/topology"
)

// The test's executable is also what supervises the commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launch.SupervisorCommand {
		if err := launch.Supervise(os.Args[2:]); err != nil {
			child.Report(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// resolve returns what a command line comes to.
func resolve(t *testing.T, m experiment.Machine, args ...string) (experiment.Resolution[Cell], error) {
	t.Helper()
	f := &flags{}
	set := experiment.NewFlagSet("exec")
	f.Register(set)
	set.SetInterspersed(false)
	require.NoError(t, set.Parse(args))
	require.NoError(t, f.Arguments(set.Args()))
	if err := f.Validate(); err != nil {
		return experiment.Resolution[Cell]{}, err
	}
	m.Given = set.Changed
	return f.Resolve(m)
}

// recorded returns a machine of testdata/hosts with all its CPUs.
func recorded(t *testing.T, name string) experiment.Machine {
	t.Helper()
	root, err := sysfs.OpenRoot("../../testdata/hosts/" + name + ".txtar")
	require.NoError(t, err)
	m, err := topology.Read(root)
	require.NoError(t, err)
	return experiment.Machine{Machine: m, CPUs: m.Allowed(), Root: root}
}

func TestResolve(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	r, err := resolve(t, m, "--placement", "node-remote", "--nice", "5", "./server", "--port", "80")
	require.NoError(t, err)
	require.Len(t, r.Cells, 1)
	cell := r.Cells[0]
	assert.Equal(t, []string{"./server", "--port", "80"}, cell.Do.Argv)
	assert.Equal(t, "0-3", cell.CPUs["cpus"].List)
	assert.Equal(t, "nice -n 5 numactl --physcpubind=0-3 --membind=1", cell.Lines.Numactl)
	assert.Equal(t, r.Placement, cell.Do.Setting.String())
	spec, err := json.Marshal(r.Spec)
	require.NoError(t, err)
	assert.JSONEq(t, `{"command":["./server","--port","80"],"cpus":"0-3","mempolicy":"bind:1","nice":5}`, string(spec))

	r, err = resolve(t, m, "x")
	require.NoError(t, err)
	assert.Empty(t, r.Cells[0].CPUs, "all CPUs are what a command inherits")
	m.CPUs = m.CPUs.Minus(cpuset.Of(0))
	r, err = resolve(t, m, "x")
	require.NoError(t, err)
	assert.Equal(t, m.CPUs.String(), r.Cells[0].Do.Setting.CPUs.String())
}

// A command that is only placed replaces gorun, and where no flag asks for CPUs, no machine is needed for it.
func TestBecome(t *testing.T) {
	for line, becomes := range map[string]bool{
		"--nice=3": true, "--gomaxprocs=2": true, "--mempolicy=local": true, "--stat": false, "--timeout=1s": false,
	} {
		r, err := resolve(t, experiment.Machine{}, line, "true")
		require.NoError(t, err, line)
		assert.Equal(t, becomes, r.Become != nil, line)
	}
}

func TestSweepHasTheMachinesPlacements(t *testing.T) {
	names := Experiment.Sweep.All(recorded(t, "hybrid"))
	assert.Contains(t, names, "pcores")
	assert.Len(t, names, 7)
}

// sample runs a shell's script once.
func sample(t *testing.T, s *sampler, c Cell, script string) (result.Sample, error) {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	s.Self, s.Environ = child.Self{Path: path, Argv: []string{path}}, os.Environ()
	c.Argv = []string{"sh", "-c", script}
	return s.Sample(context.Background(), c)
}

// A command that fails is an invalid sample of a comparison. What the user sees is a sample whatever it does, and gorun
// ends as it did.
func TestSampleOfACommandThatFails(t *testing.T) {
	compared := &sampler{}
	s, err := sample(t, compared, Cell{}, "echo why >&2; exit 9")
	require.NoError(t, err)
	require.NotEmpty(t, s.Doubts)
	assert.Equal(t, result.Doubt{Verdict: result.Invalid, Reason: "the command ended with exit code 9: why"}, s.Doubts[0])
	_, status := compared.End()
	require.NoError(t, status)

	two := Cell{Setting: launch.Setting{GOMAXPROCS: 2}, Metric: `procs (\d+)`}
	s, err = sample(t, compared, two, "echo procs $GOMAXPROCS")
	require.NoError(t, err)
	assert.Empty(t, s.Doubts)
	figures, ok := result.Typed[result.Exec](&s)
	require.True(t, ok)
	assert.InDelta(t, 2, *figures.Metric, 0)

	seen := &sampler{Setting: experiment.Setting{Passed: true}}
	s, err = sample(t, seen, Cell{}, "exit 9")
	require.NoError(t, err)
	assert.Empty(t, s.Doubts)
	_, status = seen.End()
	assert.Equal(t, experiment.Status(9), status)
}

// A command that never ran is a fault of its sample in a comparison, and the end of gorun where the user waits for it.
func TestSampleOfACommandThatNeverRan(t *testing.T) {
	path, err := os.Executable()
	require.NoError(t, err)
	s := &sampler{Setting: experiment.Setting{Self: child.Self{Path: path, Argv: []string{path}}, Environ: os.Environ()}}
	c := Cell{Argv: []string{"./no-such-command"}}
	got, err := s.Sample(context.Background(), c)
	require.NoError(t, err)
	assert.Equal(t, result.Invalid, got.Quality.Verdict)
	s.Passed = true
	_, err = s.Sample(context.Background(), c)
	var never *launch.ExitError
	require.ErrorAs(t, err, &never)
	assert.Equal(t, launch.ExitNotFound, never.Code)
}
