package numa

import (
	"encoding/json"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
)

// resolved returns the resolution of flags on a captured machine, with the default sampling. changed may replace its files.
func resolved(t *testing.T, host string, values map[string]string, changed ...masked) experiment.Resolution[Cell] {
	t.Helper()
	m, root := hosts.Machine(t, host), hosts.Root(t, host)
	for _, file := range changed {
		file.FS = root
		root = file
	}
	r, err := withFlags(t, values).Resolve(experiment.Machine{
		Machine: m, CPUs: m.Allowed(), Root: root, Seed: 7, Sampling: experiment.Sampling{Samples: 64, Budget: 60},
		Given: func(flag string) bool { _, is := values[flag]; return is },
	})
	require.NoError(t, err)
	return r
}

// withFlags returns flags with these values, among them those of every run.
func withFlags(t *testing.T, values map[string]string) *flags {
	t.Helper()
	f := &flags{}
	set := experiment.NewFlagSet("numa")
	f.Register(set)
	for _, flag := range []string{"svg", "precision", "samples", "budget"} {
		set.String(flag, "", "")
	}
	for flag, value := range values {
		require.NoError(t, set.Set(flag, value))
	}
	return f
}

func TestResolve(t *testing.T) {
	r := resolved(t, "qemu-numa2", map[string]string{"load": "12.5", "nice": "-3", "buffer": "1MiB", "settle": "0s"})
	require.NotEmpty(t, r.Cells)
	assert.Equal(t, matrix.Schedule{Order: matrix.RandomBlocks, Title: "NUMA placement"}, r.Schedule)
	measurable := slices.ContainsFunc(r.Cells, func(c experiment.Cell[Cell]) bool { return c.Unavailable == "" })
	lacking := slices.ContainsFunc(r.Cells, func(c experiment.Cell[Cell]) bool { return c.Unavailable != "" })
	assert.True(t, measurable && lacking, "without --numa-balancing, rows run for its current value")
	for i, c := range r.Cells {
		assert.Equal(t, i, c.Do.Row.Row)
		assert.Equal(t, c.Do.Row.Unsupported, c.Unavailable)
		assert.Equal(t, asBefore, c.Do.balancing())
		assert.Equal(t, uint64(7), c.Do.Seed)
	}
	c := r.Cells[1]
	assert.Equal(t, "[01]", c.Name)
	assert.Equal(t, map[string]string{
		"row": "1", "mem": "0", "cpu": "1", "numa-balancing": "0", "preferred-node": "none", "buffer": "1MiB", "pages": "4k",
		"access": "random",
	}, c.Flags)
	assert.Equal(t, []string{
		"numa", "--mem", "0", "--cpu", "1", "--numa-balancing", "0", "--preferred-node", "none", "--buffer", "1MiB",
		"--pages", "4k", "--access", "random", "--load", "12.5", "--preferred-node-by", "prctl", "--accesses", "1048576",
		"--repetitions", "10", "--settle", "0s", "--cpus", "0-7",
	}, c.Command)
	assert.Equal(t, -3, *c.Do.Nice)
	text, err := json.Marshal(c.Do)
	require.NoError(t, err)
	back, err := Experiment.Decode(text)
	require.NoError(t, err)
	assert.Equal(t, c.Do, back)

	var run result.Run
	r.Header(&run)
	assert.Len(t, run.NumaRows, len(r.Cells))
}

// Rows with NUMA balancing, or with a preferred node, settle for several of its scans unless --settle is given. The
// forecast includes that, and the budget is enough for verdicts.
func TestResolveSettles(t *testing.T) {
	given := map[string]string{"numa-balancing": "0,1", "mem": "0", "cpu": "0"}
	r := resolved(t, "qemu-numa2", given)
	for _, c := range r.Cells {
		want := 0.1
		if c.Do.Row.NUMABalancing == 1 {
			want = 4
		}
		assert.InDelta(t, want, c.Do.Settle, 1e-9, "%+v", c.Do.Row)
	}
	var p result.Plan
	r.Plan(&p)
	require.Len(t, p.NumaRows, 4)
	assert.Greater(t, p.Estimate.RoundSeconds, 3*4.0)
	assert.Less(t, p.Estimate.RoundSeconds, 3*4.0+4)
	assert.GreaterOrEqual(t, r.Schedule.Budget, matrix.LeastRounds*p.Estimate.RoundSeconds)

	given["scan-delay"] = "50ms"
	assert.InDelta(t, 0.2, resolved(t, "qemu-numa2", given).Cells[1].Do.Settle, 1e-9, "as soon as the kernel scans")
	delete(given, "scan-delay")
	given["settle"] = "20ms"
	r = resolved(t, "qemu-numa2", given)
	assert.InDelta(t, 0.02, r.Cells[1].Do.Settle, 1e-9)
	assert.Zero(t, r.Schedule.Budget)
	delete(given, "settle")

	r = resolved(t, "qemu-numa2", given, masked{name: "sys/kernel/debug/sched/numa_balancing/scan_delay_ms", text: "50\n"})
	assert.InDelta(t, 3.05, r.Cells[1].Do.Settle, 1e-9)
}

// If NUMA balancing cannot be read, rows keep it as it is, and a warning says why.
func TestResolveBalancingNotRead(t *testing.T) {
	hidden := masked{name: "proc/sys/kernel/numa_balancing"}
	r := resolved(t, "qemu-numa2", nil, hidden)
	require.Len(t, r.Cells, 9+18)
	assert.Equal(t, KeepSetting, r.Cells[0].Do.Row.NUMABalancing)
	assert.Empty(t, r.Cells[0].Unavailable)
	require.NotEmpty(t, r.Warnings)
	assert.Equal(t, "numa-balancing", r.Warnings[0].Code)
	assert.Contains(t, r.Warnings[0].Message,
		"rows keep NUMA balancing as it is: whether NUMA balancing is on cannot be read")

	r = resolved(t, "qemu-numa2", map[string]string{"numa-balancing": "0,1"}, hidden)
	assert.Len(t, r.Cells, 36)
	assert.NotEmpty(t, r.Cells[0].Unavailable, "the requested value is not replaced")
}

// masked is a file system with one replaced file: an empty one simulates a container's mount of /dev/null.
type masked struct {
	fs.FS
	name, text string
}

func (m masked) Open(name string) (fs.File, error) {
	if name == m.name {
		return fstest.MapFS{name: &fstest.MapFile{Data: []byte(m.text)}}.Open(name)
	}
	return m.FS.Open(name)
}

func TestResolveSchedule(t *testing.T) {
	one := map[string]string{
		"mem": "float", "cpu": "float", "numa-balancing": "keep", "preferred-node": "none", "precision": "1%",
	}
	r := resolved(t, "qemu-numa2", one)
	assert.Equal(t, matrix.Turns, r.Schedule.Order, "a single row takes no turns")

	r = resolved(t, "qemu-numa2", map[string]string{"blocks": "true", "samples": "3"})
	assert.Equal(t, matrix.Rows, r.Schedule.Order)

	r = resolved(t, "qemu-numa2", map[string]string{"numa-balancing": "0,1"})
	assert.NotEqual(t, asBefore, r.Cells[0].Do.balancing())
}

// What the samples could not measure is a warning, once.
func TestExplain(t *testing.T) {
	worse := result.Warning{Code: "trace", Message: "no better way"}
	run := &result.Run{}
	for range 2 {
		v := Figures{Migrations: &result.Migrations{Worse: &worse}}
		run.Samples.Append(&result.Sample{Values: result.FiguresOf(&v)})
	}
	explain(run, nil)
	explain(run, nil)
	assert.Equal(t, []result.Warning{worse}, run.Warnings)
}
