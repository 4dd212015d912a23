package memory

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/dev/tests"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/experiment"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// resolve resolves flags on a captured machine.
func resolve(t *testing.T, host string, args ...string) experiment.Resolution[Cell] {
	t.Helper()
	f, set := &flags{}, experiment.NewFlagSet("memory")
	f.Register(set)
	require.NoError(t, set.Parse(args))
	m := hosts.Machine(t, host)
	r, err := f.Resolve(experiment.Machine{Machine: m, CPUs: m.Allowed(), Root: hosts.Root(t, host), Given: set.Changed})
	require.NoError(t, err)
	return r
}

// names returns the names of the cells.
func names(r experiment.Resolution[Cell]) (names []string) {
	for _, c := range r.Cells {
		names = append(names, c.Name)
	}
	return names
}

// There is a row for each operation, kind of stores and place, and from each node to each.
func TestRows(t *testing.T) {
	const two = "qemu-numa2"
	r := resolve(t, two, "--op", "read,copy")
	assert.Equal(t, []string{
		"read, one CPU, node 0", "copy ordinary, one CPU, node 0", "copy nontemporal, one CPU, node 0",
		"read, node 0, node 0", "copy ordinary, node 0, node 0", "copy nontemporal, node 0, node 0",
		"read, all CPUs, local", "copy ordinary, all CPUs, local", "copy nontemporal, all CPUs, local",
		"read, node 0, node 1", "read, node 1, node 0", "read, node 1, node 1",
	}, names(r))
	assert.Equal(t, []int{0, 1, 2, 3}, r.Cells[3].Do.CPUs)
	assert.Equal(t, r.Cells[3].Do.Buffer*2, r.Resources.Bytes/2, "copy has two arrays, and all CPUs have twice the caches")
	assert.GreaterOrEqual(t, r.Cells[0].Do.Buffer, uint64(leastBuffer))

	r = resolve(t, two, "--loaded", "--pauses", "none,10,0", "--mem", "0,1")
	assert.Equal(t, []string{
		"loaded by no CPU, node 0", "loaded by 3 CPUs, pause 10, node 0", "loaded by 3 CPUs, pause 0, node 0",
		"loaded by no CPU, node 1", "loaded by 3 CPUs, pause 10, node 1", "loaded by 3 CPUs, pause 0, node 1",
	}, names(r))

	r = resolve(t, two, "--latency", "--sizes", "32KiB,1MiB", "--access", "random,chase")
	assert.Equal(t, []string{"random, 32 KiB, node 0", "random, 1 MiB, node 0", "chase, 32 KiB, node 0", "chase, 1 MiB, node 0"}, names(r))
	assert.Equal(t, uint64(1<<20), r.Resources.Bytes, "the largest")
	var run result.Run
	r.Header(&run)
	assert.NotEmpty(t, run.Caches)

	r = resolve(t, two, "--pages", "2m", "--op", "read", "--on", "all")
	assert.Contains(t, r.Cells[0].Unavailable, "give --mem")
}

// Each row's own flags select it alone.
func TestRowsHaveTheirFlags(t *testing.T) {
	const two = "qemu-numa2"
	for _, args := range [][]string{{}, {"--loaded"}, {"--latency", "--access", "random,chase"}} {
		r := resolve(t, two, args...)
		for _, c := range r.Cells {
			again := resolve(t, two, c.Command[2:]...) // after the name and --cpus
			assert.Equal(t, []string{c.Name}, names(again), c.Command)
			assert.Equal(t, c.Do, again.Cells[0].Do)
		}
	}
}

// cells are quick cells on this machine.
func cells(t *testing.T) (all []Cell) {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	base := Cell{On: "some CPUs", Chase: NoCPU, MemNode: Local, Buffer: 1 << 20, Pages: "4k", Time: time.Millisecond, Accesses: 1000}
	for _, op := range opNames() {
		for _, nontemporal := range []bool{false, true} {
			c := base
			c.Op, c.Nontemporal, c.CPUs = op, nontemporal, []int{cpus.First()}
			all = append(all, c)
		}
	}
	both, load, idle := base, base, base
	both.Op, both.CPUs = "triad", []int{cpus.First(), cpus.Last()}
	load.Op, load.CPUs, load.Chase, load.Pause = "read", []int{cpus.First()}, cpus.Last(), 5
	idle.Op, idle.Chase = "read", cpus.First()
	for _, access := range csrc.MemoryAccesses() {
		c := idle
		c.Access, c.Buffer = access, 32<<10
		all = append(all, c)
	}
	return append(all, both, load, idle)
}

// A sample has the figures of its row, and its threads were where they should be.
func TestSample(t *testing.T) {
	for _, c := range cells(t) {
		s, err := sample(t.Context(), experiment.Environment{}, c)
		require.NoError(t, err, c.name())
		assert.True(t, s.Placement.Verified, "%s: %v", c.name(), s.Placement.Mismatches)
		assert.Empty(t, s.Doubts, c.name())
		v, ok := result.Typed[Figures](&s)
		require.True(t, ok)
		assert.Equal(t, len(c.CPUs) > 0, v.Rate != nil && *v.Rate > 0 && *v.Slowest <= *v.Rate, c.name())
		assert.Equal(t, c.Access != "", v.Size != nil && *v.Size == c.Buffer, c.name())
		assert.Equal(t, c.Chase != NoCPU, v.Latency != nil && *v.Latency > 0, c.name())
	}
}

// A wrong value makes a sample invalid, and names the CPU.
func TestWrongResult(t *testing.T) {
	for _, c := range cells(t)[:8] {
		w := &work{Cell: c}
		require.NoError(t, w.allocate())
		for _, slice := range w.slices(0) {
			for i := range slice {
				slice[i] = wants[c.Op]
			}
		}
		r := csrc.MemoryResult{Bytes: w.each * uint64(csrc.MemoryOps[c.op()].Arrays), Sum: inA * float64(w.each/8)}
		var right, wrong result.Sample
		w.check(&right, 0, r)
		assert.Empty(t, right.Doubts, c.name())
		w.slices(0)[0][509]++
		r.Sum++
		w.check(&wrong, 0, r)
		require.Len(t, wrong.Doubts, 1, c.name())
		assert.Equal(t, result.Invalid, wrong.Doubts[0].Grade)
		assert.Contains(t, wrong.Doubts[0].Reason, fmt.Sprintf("CPU %d computed a wrong", c.CPUs[0]))
		require.NoError(t, w.free())
	}
}

// Memory on another node than the one that was asked for makes a sample invalid.
func TestMemoryElsewhere(t *testing.T) {
	w := &work{Cell: cells(t)[0]}
	require.NoError(t, w.allocate())
	defer func() { require.NoError(t, w.free()) }()
	require.NoError(t, w.arrays[0].Touch())
	if _, err := w.arrays[0].Nodes(); err != nil {
		t.Skip("needs a kernel with NUMA")
	}
	var s result.Sample
	var v Figures
	w.readBack(&s, &v)
	assert.Empty(t, s.Placement.Mismatches, "any node will do")
	w.MemNode = 1023
	w.readBack(&s, &v)
	require.NotEmpty(t, s.Placement.Mismatches)
	assert.Contains(t, s.Placement.Mismatches[0], "not on node 1023")
}

// An interrupt ends a sample that would last for hours.
func TestInterrupt(t *testing.T) {
	for _, c := range cells(t) {
		c.Time, c.Accesses = time.Hour, 1<<31
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			tests.Pause(5 * time.Millisecond)
			cancel()
		}()
		_, err := sample(ctx, experiment.Environment{}, c)
		assert.ErrorIs(t, err, context.Canceled, c.name())
	}
}

// A CPU that a thread cannot use is an error, and the others do not wait for it.
func TestSampleNowhere(t *testing.T) {
	c := cells(t)[0]
	c.CPUs = append(c.CPUs, 8191)
	_, err := sample(t.Context(), experiment.Environment{}, c)
	require.Error(t, err)
	c.Buffer = 100
	_, err = sample(t.Context(), experiment.Environment{}, c)
	require.ErrorContains(t, err, "no line for each of 2 threads")
}

// Every loop moves lines by the widest instructions of its kind, and has nothing else that touches memory.
func TestDisassembly(t *testing.T) {
	archive := tests.Compiled(t, "gorun/csrc")
	type kind struct{ load, store, stream string }
	kinds := map[string]kind{"neon": {"^ldp q", "^stp q", "^stnp q"}}
	if runtime.GOARCH == "amd64" {
		kinds = map[string]kind{
			"sse2":   {`XMMWORD PTR`, `^movaps XMMWORD PTR|^movapd XMMWORD PTR`, `^movntpd XMMWORD PTR`},
			"avx2":   {`YMMWORD PTR`, `^vmovap[ds] YMMWORD PTR`, `^vmovntpd YMMWORD PTR`},
			"avx512": {`ZMMWORD PTR`, `^vmovap[ds] ZMMWORD PTR`, `^vmovntpd ZMMWORD PTR`},
		}
	}
	perLine := map[string]int{"neon": 2, "sse2": 4, "avx2": 2, "avx512": 1}
	for set, k := range kinds {
		for _, op := range csrc.MemoryOps {
			for _, nontemporal := range []string{"", "nt_"} {
				if op.Name == "read" && nontemporal != "" {
					continue
				}
				loop := tests.LargestLoop(t, archive, op.Name+"_"+nontemporal+set)
				loads, stores, streams := 0, 0, 0
				for _, i := range loop {
					switch {
					case regexp.MustCompile(k.stream).MatchString(i):
						streams++
					case regexp.MustCompile(k.store).MatchString(i):
						stores++
					case regexp.MustCompile(k.load).MatchString(i):
						loads++
					default:
						assert.NotRegexp(t, `call|PTR \[|^ld|^st`, strings.ReplaceAll(i, "nop", "")[:min(len(i), 60)], "%s: %s", op.Name, i)
					}
				}
				n := perLine[set]
				want := [3]int{n * (op.Arrays - 1), n, 0}
				if op.Name == "read" {
					want = [3]int{map[string]int{"neon": 2}[set], 0, 0}
					if want[0] == 0 {
						want[0] = 4 // in turn to four sums
					}
				} else if nontemporal != "" {
					want[1], want[2] = 0, n
				}
				assert.Equal(t, want, [3]int{loads, stores, streams}, "%s %s %s: %q", op.Name, nontemporal, set, loop)
			}
		}
	}
}

// The latencies of the answer have the unit of the table, and no claim: few samples are no comparison.
func TestLoadedAnswer(t *testing.T) {
	made := func(pause *uint64, rate, ns float64) row {
		return row{
			Figures: Figures{Pause: pause, Threads: 1}, bandwidth: table.Spread{Median: rate, Unit: column.BytesPerSecond},
			latency: table.Spread{Median: ns, Unit: column.Nanoseconds},
		}
	}
	statements := loaded([]row{made(nil, 0, 162), made(new(uint64(500)), 3e9, 1200), made(new(uint64(0)), 9e9, 450)})
	assert.Equal(t, "A read takes 0.162 µs without load, and 0.450 µs while 1 CPU reads 9.00 GB/s.", view.Sentences(statements))
}
