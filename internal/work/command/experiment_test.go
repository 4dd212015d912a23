package command

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/start/launch"
)

// The test's executable also runs as the supervisor of commands.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == launch.SupervisorCommand {
		if err := launch.Supervise(os.Args[2:]); err != nil {
			launch.Report(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// resolve resolves a command line.
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
	m := hosts.Machine(t, name)
	return experiment.Machine{Machine: m, CPUs: m.Allowed(), Root: hosts.Root(t, name)}
}

// All CPUs are what a command inherits.
func TestResolve(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	r, err := resolve(t, m, "x")
	require.NoError(t, err)
	assert.Empty(t, r.Cells[0].CPUs)
	m.CPUs = m.CPUs.Minus(cpuset.Of(0))
	r, err = resolve(t, m, "--nice", "5", "--sched", "batch", "x")
	require.NoError(t, err)
	assert.Equal(t, "1-7", r.Cells[0].CPUs["cpus"].List)
	spec, err := json.Marshal(r.Spec)
	require.NoError(t, err)
	assert.JSONEq(t, `{"command":["x"],"cpus":"1-7","nice":5,"sched":"batch"}`, string(spec))
}

// A command that is only placed replaces gorun; if no flag requests CPUs, the machine is not read.
func TestBecome(t *testing.T) {
	for line, becomes := range map[string]bool{
		"--nice=3": true, "--gomaxprocs=2": true, "--mempolicy=local": true, "--stat": false, "--timeout=1s": false,
	} {
		r, err := resolve(t, experiment.Machine{}, line, "true")
		require.NoError(t, err, line)
		assert.Equal(t, becomes, r.Exec != nil, line)
	}
}

// Memory near to a device is that of its node. The machine is read only for device selectors, not for node numbers.
func TestMempolicyOfDevice(t *testing.T) {
	m := recorded(t, "devices")
	for policy, want := range map[string]string{
		"bind:near:ens5": "bind:3", "interleave:far:ens5": "interleave:0-1", "preferred:near:nvme0": "preferred:0",
		"bind:1,near:sda": "bind:1-2",
	} {
		r, err := resolve(t, m, "--mempolicy="+policy, "true")
		require.NoError(t, err, policy)
		assert.Equal(t, want, r.Spec.(spec).Mempolicy)
	}
	for policy, want := range map[string]string{
		"bind:near:eno1": "the firmware does not say", "bind:near:eth9": "there is no device eth9",
		"preferred:far:ens5": "takes 1 to 1 nodes", "nonsense:near:ens5": "is not a memory policy",
	} {
		_, err := resolve(t, m, "--mempolicy="+policy, "true")
		require.ErrorContains(t, err, "--mempolicy "+policy, policy)
		require.ErrorContains(t, err, want, policy)
	}
	for policy, want := range map[string]bool{"bind:near:eth0": true, "bind:0,far:x": true, "bind:0": false, "local": false, "": false} {
		needs := Experiment.Once.Needs(func(flag string) string { return map[string]string{"mempolicy": policy}[flag] })
		assert.Equal(t, want, needs, policy)
	}
}
