package migrate

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
)

// machine is a captured one, all of whose CPUs a cell may use.
func machine(t *testing.T, name string) experiment.Machine {
	t.Helper()
	m := hosts.Machine(t, name)
	return experiment.Machine{
		Machine: m, Root: hosts.Root(t, name), CPUs: m.Allowed(), Sampling: Experiment.Sampling, Given: func(string) bool { return false },
	}
}

// resolve resolves a command line on a machine.
func resolve(t *testing.T, m experiment.Machine, args ...string) experiment.Resolution[Cell] {
	t.Helper()
	f, set := &flags{}, experiment.NewFlagSet("migrate")
	f.Register(set)
	require.NoError(t, set.Parse(args))
	r, err := f.Resolve(m)
	require.NoError(t, err)
	return r
}

// There are cells of each relation that two CPUs have; the others are lacking, after them.
func TestResolveRelations(t *testing.T) {
	for host, want := range map[string][]string{
		"qemu-epyc8smt": {"same-cpu 0,0", "same-core 0,1", "same-node 0,2", "cross-node 0,4", "same-llc "},
		"qemu-cpu1":     {"same-cpu 0,0", "same-core ", "same-llc ", "same-node ", "cross-node "},
	} {
		r := resolve(t, machine(t, host), "--working-set", "16KiB")
		var cells []string
		for _, c := range r.Cells {
			assert.Equal(t, c.Flags["pair"] == "", c.Unavailable != "")
			cells = append(cells, c.Name+" "+c.Flags["pair"])
		}
		assert.Equal(t, want, cells, host)
		assert.Equal(t, host != "qemu-cpu1", r.Schedule.Order == matrix.RandomBlocks)
	}
}

// Rows of one working set and one time between moves are compared with the first relation among them.
func TestResolveBaselines(t *testing.T) {
	r := resolve(t, machine(t, "qemu-numa2"), "--relation", "same-cpu,cross-node", "--working-set", "16KiB,1MiB",
		"--every", "1ms,500us", "--access", "chase", "--moves", "7", "--mem-node", "1")
	var names, against []string
	for _, c := range r.Cells {
		names, against = append(names, c.Name), append(against, c.Against)
	}
	assert.Equal(t, []string{
		"same-cpu 16KiB every 1ms", "cross-node 16KiB every 1ms", "same-cpu 1MiB every 1ms", "cross-node 1MiB every 1ms",
		"same-cpu 16KiB every 500µs", "cross-node 16KiB every 500µs", "same-cpu 1MiB every 500µs",
		"cross-node 1MiB every 500µs",
	}, names)
	for i := range names {
		assert.Equal(t, names[i/2*2], against[i])
	}
	do := r.Cells[7].Do
	assert.Equal(t, 1, *do.MemNode)
	do.MemNode = nil
	assert.Equal(t, Cell{
		A: 0, B: 4, Relation: "cross-node", Every: 500 * time.Microsecond, Moves: 7, WorkingSet: 1 << 20, Access: "chase",
	}, do)
	assert.Equal(t, "migrate --relation cross-node --working-set 1MiB --every 500µs --moves 7 --access chase --mem-node 1 "+
		"--cpus 0-7", strings.Join(r.Cells[7].Command, " "))
	assert.EqualValues(t, 1<<20, r.Resources.Bytes)

	r = resolve(t, machine(t, "qemu-numa2"), "--relation", "same-llc", "--working-set", "16KiB,1MiB")
	assert.Equal(t, matrix.Turns, r.Schedule.Order, "there is nothing to compare with")
	assert.Equal(t, "1MiB", r.Cells[1].Name, "as in a matrix of relations, whose rows are compared by name")
}

// The working sets are of the caches, each once and in whole pages; the largest needs room in memory. By default they are of two caches.
func TestSizes(t *testing.T) {
	for host, want := range map[string]string{ // captured machines have their last caches alone
		"epyc-2p-nps4": "8MiB,64MiB",
		"qemu-nol3":    "2MiB,8MiB",
	} {
		r := resolve(t, machine(t, host), "--working-set", "all")
		assert.Equal(t, want, r.Spec.(*spec).WorkingSet, host)
	}
	m := machine(t, "qemu-numa2") // two cores share the last cache
	files := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 9000 kB\nMemAvailable: 409600 kB\n")}}
	for _, file := range []string{
		"0/level 1", "0/type Data", "0/size 48K", "1/level 1", "1/type Instruction", "1/size 32K", "2/level 2",
		"2/type Unified", "2/size 2048K", "3/level 3", "3/type Unified", "3/size 49162K",
	} {
		name, text, _ := strings.Cut(file, " ")
		files["sys/devices/system/cpu/cpu0/cache/index"+name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	m.Root = files
	r := resolve(t, m, "--working-set", "all")
	assert.Equal(t, "24KiB,1MiB,12MiB,98324KiB", r.Spec.(*spec).WorkingSet)
	files["proc/meminfo"].Data = []byte("MemAvailable: 300000 kB\n")
	r = resolve(t, m, "--working-set", "all")
	assert.Equal(t, "24KiB,1MiB,12MiB", r.Spec.(*spec).WorkingSet)
	assert.Equal(t, "no-beyond", r.Warnings[0].Code)
	r = resolve(t, m)
	assert.Equal(t, "1MiB,12MiB", r.Spec.(*spec).WorkingSet)
	assert.NotContains(t, fmt.Sprint(r.Warnings), "no-beyond")
	files["sys/devices/system/cpu/cpu0/cache/index3/size"].Data = []byte("4096K\n")
	r = resolve(t, m, "--working-set", "all")
	assert.Equal(t, "24KiB,1MiB,8MiB", r.Spec.(*spec).WorkingSet, "each size once")
	m.Root = fstest.MapFS{}
	r = resolve(t, m, "--working-set", "all")
	assert.Equal(t, "16KiB,512KiB,64MiB", r.Spec.(*spec).WorkingSet)
	assert.Equal(t, "no-caches", r.Warnings[0].Code)
}

// The first pass counts whatever it took; later ones count while they are slow, and pieces count that most moves had time for.
func TestRefill(t *testing.T) {
	steady := [2][]float64{{10, 10, 11, 12}, {20, 20, 21, 22}} // medians 10.5 and 20.5, upper quartiles 1.5 above
	for name, c := range map[string]struct {
		after  [][]float64
		pass   int
		ns     float64
		pieces int
	}{
		"cold, then warm":     {[][]float64{{60.5, 10.5}, {70.5, 20.5}, {60.5, 10.5}}, 1, 50, 1},
		"two cold passes":     {[][]float64{{60.5, 15.5, 10.5, 90}, {70.5, 25.5, 20.5, 90}}, 1, 55, 2},
		"an interrupt":        {[][]float64{{60.5, 10.5}, {9999, 20.5}, {60.5, 10.5}}, 1, 50, 1},
		"faster than before":  {[][]float64{{10, 10.5}, {20, 20.5}}, 1, 0, 1},
		"a pass of two":       {[][]float64{{60.5, 10.5, 11.5, 10.5}, {70.5, 20.5, 21.5, 20.5}}, 2, 50, 2},
		"no time for a pass":  {[][]float64{{60.5}, {70.5}, {60.5, 60.5}}, 2, 50, 1},
		"no time for another": {[][]float64{{60.5, 60.5}, {70.5}, {60.5}}, 1, 50, 1},
		"nothing":             {nil, 1, 0, 0},
	} {
		ns, pieces := refill(c.after, steady, c.pass)
		assert.InDelta(t, c.ns, ns, 1e-9, name)
		assert.Equal(t, c.pieces, pieces, name)
	}
}
