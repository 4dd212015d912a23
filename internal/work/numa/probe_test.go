package numa

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

var this = os.DirFS("/")

// thisMachine reads the machine that the tests run on.
func thisMachine(t *testing.T) *topology.Machine {
	t.Helper()
	m, err := topology.Read(this)
	require.NoError(t, err)
	return m
}

// plain returns a request for a short sample of a row in which everything floats.
func plain(m *topology.Machine) Request {
	return Request{
		Row: result.NumaRow{
			PreferredNode: None, NUMABalancing: KeepSetting, Mem: Float, CPU: Float,
			BufferBytes: 1 << 20, Pages: "4k", Access: "random",
		},
		On: m.Allowed(), Accesses: 20_000, Repetitions: 3, Seed: 1,
	}
}

// planned returns a request with the CPUs of its row.
func planned(r Request, m *topology.Machine) Request {
	r.On = nodeCPUs(m, r.Row.CPU, r.On)
	return r
}

// takeSample measures, and skips the test if this build or machine lacks something.
func takeSample(t *testing.T, m *topology.Machine, r Request) (result.Sample, Figures) {
	t.Helper()
	return takeSampleOf(t, this, m, r)
}

// takeSampleOf is takeSample with other files of the machine.
func takeSampleOf(t *testing.T, root fs.FS, m *topology.Machine, r Request) (result.Sample, Figures) {
	t.Helper()
	s, err := Measure(t.Context(), root, m, planned(r, m))
	skipIfRefused(t, err)
	require.NoError(t, err)
	return s, decoded(t, s)
}

func skipIfRefused(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		t.Logf("%v; %s", err, hint.Of(err))
		t.Skip("needs the calls of memory policies")
	}
}

func decoded(t *testing.T, s result.Sample) Figures {
	t.Helper()
	v, ok := result.Typed[Figures](&s)
	require.True(t, ok)
	return *v
}

func TestMeasure(t *testing.T) {
	m := thisMachine(t)
	support := ReadSupport(this, m)
	support.Try(m, ByMempolicy)
	support.Try(m, ByPrctl)
	balancing := " --numa-balancing " + strconv.Itoa(support.Balancing)
	rows := rowsOf(t, m, m.Allowed(), "--full --buffer 4KiB --pages 4k,thp,2m,1g"+balancing)
	rows = append(rows, rowsOf(t, m, m.Allowed(), fmt.Sprintf(
		"--mem %d,float --cpu float --preferred-node none --buffer 4MiB --access random,sequential,chase"+balancing, m.MemoryNodes().First()))...)
	support.Mark(rows)
	lacking := map[string]int{}
	for _, row := range rows {
		if row.Unsupported != "" {
			lacking[row.Unsupported]++
			continue
		}
		r := plain(m)
		r.Row = row
		name := label(row) + " " + row.Pages + " " + row.Access + row.MemPolicy + row.FirstTouch
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			begun := time.Now()
			s, v := takeSample(t, m, r)
			assert.Less(t, s.Seconds, time.Since(begun).Seconds(), "the loop is a part of it")
			assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
			assert.Equal(t, row, v.NumaRow)
			assert.Equal(t, 3*r.Accesses, v.Accesses)
			assert.Equal(t, 3, v.Repetitions)
			assert.InEpsilon(t, s.Seconds*1e9, v.NsPerAccess*float64(v.Accesses), 1e-9)
			assert.Equal(t, row.Access == "random", v.IndexNs > 0)
			assert.False(t, s.Partial)

			otherPages := false
			for bytes := range v.PageBytes {
				otherPages = otherPages || (int(bytes) > os.Getpagesize()) != (row.Pages != "4k")
			}
			assert.Equal(t, otherPages, len(s.Doubts) == 1 && strings.Contains(s.Doubts[0].Reason, "in pages of the kind"),
				"%v", s.Doubts)

			pages := 0
			for _, n := range v.NodePages {
				pages += n
			}
			assert.NotContains(t, v.NodePages, -1, "every page is present")
			if v.NodePages != nil {
				whole := linux.PageKinds[slices.Index([]string{"4k", "thp", "2m", "1g"}, row.Pages)].Align
				assert.LessOrEqual(t, int(row.BufferBytes)/os.Getpagesize(), pages)
				assert.Zero(t, pages*os.Getpagesize()%whole)
			}
			var shares float64
			for node, share := range v.NodeShare {
				shares += share
				if row.CPU != Float {
					assert.Equal(t, row.CPU, node)
				}
			}
			assert.InDelta(t, 1, shares, 1e-9)
			for cpu, share := range v.CPUShare {
				shares -= share
				if row.CPU != Float {
					assert.True(t, nodeCPUs(m, row.CPU, m.Allowed()).Contains(cpu), "CPU %d", cpu)
				}
			}
			assert.InDelta(t, 0, shares, 1e-9)
			require.NotNil(t, v.Migrations)
			assert.Equal(t, v.Migrations.By != string(perf.TraceMigrations), v.Migrations.Worse != nil)
			if row.CPU != Float {
				assert.Zero(t, v.Migrations.CrossNode, "it never leaves its node")
			}
			if v.BalancingRead != nil {
				assert.Equal(t, row.NUMABalancing, *v.BalancingRead)
			}
			if row.PreferredNode != None {
				require.NotNil(t, v.PreferredRead)
				assert.Equal(t, row.PreferredNode, *v.PreferredRead)
			}
		})
	}
	for reason, rows := range lacking {
		t.Logf("%d rows: %s", rows, reason)
	}
}

// Each page of memory that is bound to a node is on it, and so is memory that prefers one.
func TestMeasureMemory(t *testing.T) {
	m := thisMachine(t)
	allowed, err := linux.MemsAllowed()
	skipIfRefused(t, err)
	require.NoError(t, err)
	for node := range m.MemoryNodes().Intersect(allowed).All() {
		r := plain(m)
		r.Row.BufferBytes = 4 << 20
		r.Row.Mem = node
		want := map[int]int{node: int(r.Row.BufferBytes) / os.Getpagesize()}
		s, v := takeSample(t, m, r)
		assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
		if v.NodePages == nil {
			t.Skip("needs /proc/self/numa_maps")
		}
		assert.Equal(t, want, v.NodePages)
		assert.Equal(t, map[uint64]uint64{uint64(os.Getpagesize()): r.Row.BufferBytes}, v.PageBytes)

		r.Row.Mem, r.Row.PreferredNode, r.Row.PreferredBy = Float, node, ByMempolicy
		s, v = takeSample(t, m, r)
		assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
		assert.Equal(t, want, v.NodePages, "there was room on the node")
	}
}

// A random walk is the same for every sample, for any number of settling accesses.
func TestSettled(t *testing.T) {
	p := &probe{args: csrc.ProbeArgs{Access: randomAccess}}
	require.NoError(t, p.settle())
	assert.EqualValues(t, settled, p.args.From)
	assert.Nil(t, p.v.Settling, "it made no access")
}

// A sample has the statistics of NUMA balancing at the end of each phase, from its thread's file.
func TestMeasurePhases(t *testing.T) {
	m := thisMachine(t)
	r := plain(m)
	nice := 19
	r.Settle, r.Repetitions, r.Nice = 0.005, 2, &nice
	reads := 0
	sched := func() string {
		reads++
		return "mm->numa_scan_seq : " + strconv.Itoa(2*reads) + "\nnuma_pages_migrated : 7\nnuma_preferred_nid : -1\n"
	}
	s, v := takeSampleOf(t, &probeThread{FS: this, balancing: []string{"1", "1"}, sched: sched}, m, r)
	require.NotNil(t, v.Settling)
	require.NotNil(t, v.Settled)
	assert.GreaterOrEqual(t, v.SettledSeconds, 0.005)
	assert.EqualValues(t, 2*20_000, v.Accesses, "settling does not count")
	assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
	assert.Equal(t, 2, *v.Settling.ScanSeq)
	assert.Equal(t, 4, *v.Settled.ScanSeq)
	assert.Equal(t, 7, *v.Settled.PagesMigrated)
	assert.Equal(t, -1, *v.Settled.PreferredNID)
	assert.Nil(t, v.Unread)
	assert.Positive(t, v.Settling.NsPerAccess)
	assert.InDelta(t, v.NsPerAccess, v.Settled.NsPerAccess, 1e-6)
	if v.NodePages != nil {
		pages := 0 // balancing may have moved some, if the machine has several nodes
		for _, n := range v.TouchedPages {
			pages += n
		}
		assert.Equal(t, int(r.Row.BufferBytes)/os.Getpagesize(), pages)
		assert.NotNil(t, v.Settled.BufferMoved)
	}
	if v.Migrations.By != string(perf.TraceReads) {
		require.NotNil(t, v.LifeMigrations)
		assert.GreaterOrEqual(t, v.LifeMigrations.Total, v.Migrations.Total)
	}
	for _, doubt := range s.Doubts {
		assert.NotContains(t, doubt.Reason, "never scanned")
	}
}

func TestPagesMoved(t *testing.T) {
	assert.Zero(t, pagesMoved(map[int]int{0: 5}, map[int]int{0: 5}))
	assert.Equal(t, 3, pagesMoved(map[int]int{0: 5, 1: 2}, map[int]int{0: 2, 1: 4, 2: 1}))
	assert.Equal(t, 5, pagesMoved(map[int]int{0: 5}, map[int]int{1: 5}))
}

// In the order of the source's rows, memory is touched before the thread is bound.
func TestFirstTouchBefore(t *testing.T) {
	m := thisMachine(t)
	r := plain(m)
	r.Row.FirstTouch = TouchBefore
	r.On = cpuset.Of(m.Allowed().Last())
	s, v := takeSample(t, m, r)
	assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
	assert.Contains(t, s.Placement.Requested, "touched first before")
	assert.Positive(t, v.NsPerAccess)

	for touch, boundFirst := range map[string]bool{"": true, TouchBefore: false} {
		r := plain(m)
		r.Row.FirstTouch = touch
		p := newProbe(this, m, planned(r, m))
		require.NoError(t, placement.OnThread(func() error {
			for _, step := range p.steps() {
				if err := step(); err != nil {
					return err
				}
				if bound, touched := p.sample.Placement.Checked > 0, p.args.Words > 0; bound != touched {
					assert.Equal(t, boundFirst, bound, "first touch %q", touch)
				}
			}
			return p.close()
		}))
	}
}

// Memory is touched on the furthest node, or on all nodes with memory.
func TestTouchPolicy(t *testing.T) {
	p := &probe{m: hosts.Machine(t, "qemu-epyc8")}
	for touch, want := range map[string]string{
		"": "default", TouchBefore: "default", TouchFar: "preferred:4", TouchInterleaved: "interleave:0-7",
	} {
		p.Row.FirstTouch = touch
		policy, nodes := p.touchPolicy(1)
		assert.Equal(t, want, linux.FormatMempolicy(policy, nodes), touch)
	}
}

// Pages are on the node of the row's first touch, and the buffer keeps no policy.
func TestFirstTouchElsewhere(t *testing.T) {
	m := thisMachine(t)
	nodes := m.MemoryNodes()
	if nodes.Len() < 2 {
		t.Skip("needs 2 nodes with memory")
	}
	for _, touch := range []string{TouchFar, TouchInterleaved} {
		r := plain(m)
		r.Row.FirstTouch = touch
		r.Row.CPU = m.NodesWith(m.Allowed()).First()
		s, v := takeSample(t, m, r)
		assert.True(t, s.Placement.Verified, "%v", s.Placement.Mismatches)
		pages := int(r.Row.BufferBytes) / os.Getpagesize()
		if touch == TouchFar {
			far := m.ByDistance(r.Row.CPU, nodes.List())
			assert.Equal(t, map[int]int{far[len(far)-1]: pages}, v.TouchedPages)
			continue
		}
		assert.Len(t, v.TouchedPages, nodes.Len())
		for _, n := range v.TouchedPages {
			assert.InDelta(t, pages/nodes.Len(), n, 1)
		}
	}
}

// Memory can be bound so that NUMA balancing scans it.
func TestMeasureBindBalancing(t *testing.T) {
	m := thisMachine(t)
	var s Support
	s.Try(m, ByPrctl)
	if s.BindBalanced != nil {
		t.Skip("needs NUMA balancing of bound memory")
	}
	r := plain(m)
	r.Row.Mem, r.Row.MemPolicy = m.MemoryNodes().First(), BindBalancing
	sample, _ := takeSample(t, m, r)
	assert.True(t, sample.Placement.Verified, "%v", sample.Placement.Mismatches)
	assert.Contains(t, sample.Placement.Requested, "(bind+balancing)")
	r.Row.MemPolicy = ""
	p := newProbe(this, m, planned(r, m))
	require.NoError(t, p.allocate())
	defer func() { require.NoError(t, p.close()) }()
	p.Row.MemPolicy = BindBalancing // a policy that was not applied
	p.readPolicy()
	assert.Len(t, p.sample.Placement.Mismatches, 1)
}

// An impossible request is one clear error; nothing is measured in its place.
func TestMeasureRefuses(t *testing.T) {
	m := thisMachine(t)
	r := plain(m)
	r.On = cpuset.Of(60000)
	_, err := Measure(t.Context(), this, m, planned(r, m))
	require.ErrorContains(t, err, "set the affinity to CPUs 60000")

	r = plain(m)
	r.Row.Mem = 999
	_, err = Measure(t.Context(), this, m, planned(r, m))
	require.Error(t, err, "no such node")
	for _, node := range m.Nodes {
		if m.MemoryNodes().Contains(node.Node) {
			continue
		}
		r.Row.Mem = node.Node
		_, err := Measure(t.Context(), this, m, planned(r, m))
		require.ErrorContains(t, err, "this process may use no memory on these nodes")
		t.Logf("%v; %s", err, hint.Of(err))
	}

	r = plain(m)
	r.Row.PreferredNode, r.Row.PreferredBy = m.Nodes[0].Node, ByPrctl
	if linux.HavePreferredNode() != nil {
		_, err = Measure(t.Context(), this, m, planned(r, m))
		require.Error(t, err, "no figure is made up")
	}
	r = plain(m)
	r.Row.Access = "sideways"
	_, err = Measure(t.Context(), this, m, planned(r, m))
	require.Error(t, err)
}

// probeThread is a root that has the test's values of NUMA balancing, and other files in place of the machine's.
type probeThread struct {
	fs.FS
	balancing []string      // one per reading; none: the machine's
	files     fstest.MapFS  // replace the machine's; nil: none
	sched     func() string // /proc/thread-self/sched; nil: the machine's; "": there is none
}

func (p *probeThread) Open(name string) (fs.File, error) {
	if name == "proc/thread-self/sched" && p.sched != nil {
		text := p.sched()
		if text == "" {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return fstest.MapFS{name: {Data: []byte(text)}}.Open(name)
	}
	if file, is := p.files[name]; is {
		if file == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		return p.files.Open(name)
	}
	if name != "proc/sys/kernel/numa_balancing" {
		return p.FS.Open(name)
	}
	if len(p.balancing) == 0 {
		return p.FS.Open(name)
	}
	is := p.balancing[0]
	p.balancing = p.balancing[1:]
	return fstest.MapFS{name: {Data: []byte(is)}}.Open(name)
}

// A sample describes what its row asks for, on the CPUs of the row's node.
func TestRequested(t *testing.T) {
	m := hosts.Machine(t, "qemu-numa2") // CPUs 0-3 and 4-7
	r := plain(m)
	nice := 5
	r.Row.Mem, r.Row.PreferredNode, r.Row.PreferredBy, r.Row.NUMABalancing, r.Nice = 0, 1, ByPrctl, 1, &nice
	for cpu, want := range map[int]string{
		1:     "memory of node 0, CPUs 4-5 of node 1, node 1 preferred by prctl, NUMA balancing 1, nice 5",
		Float: "memory of node 0, CPUs 1-5 of the run, node 1 preferred by prctl, NUMA balancing 1, nice 5",
	} {
		r.Row.CPU, r.On = cpu, cpuset.Of(1, 2, 3, 4, 5)
		p := newProbe(this, m, planned(r, m))
		assert.Equal(t, want, p.requested())
	}
}

// A sample of hours ends with its context in every phase; without a stop this test would hang.
func TestMeasureStops(t *testing.T) {
	m := thisMachine(t)
	for _, access := range csrc.MemoryAccesses() {
		for _, c := range []struct {
			settle float64
			after  time.Duration
		}{{0, 0}, {0, 10 * time.Millisecond}, {3600, 10 * time.Millisecond}} {
			r := plain(m)
			r.Row.Access, r.Accesses, r.Settle = access, 1<<50, c.settle
			ctx, cancel := context.WithTimeout(t.Context(), c.after) // at any moment
			s, err := Measure(ctx, this, m, planned(r, m))
			cancel()
			skipIfRefused(t, err)
			require.NoError(t, err)
			assert.True(t, s.Partial, access)
			assert.Less(t, decoded(t, s).Accesses, r.Accesses)
			if c.settle > 0 || c.after == 0 {
				assert.Zero(t, decoded(t, s).Accesses, access)
			}
		}
	}
}

// The moves of the probe's thread are traced.
func TestMoves(t *testing.T) {
	cpus, m := tests.CPUs(t, 2), thisMachine(t)
	p := newProbe(this, m, plain(m))
	require.NoError(t, placement.OnThread(func() error {
		p.startTraces()
		visit := func(int) error { return nil }
		return errors.Join(p.allocate(), linux.VisitCPUs(cpus, visit), linux.VisitCPUs(cpus[:1], visit), p.drain(), p.close())
	}))
	if p.by == "" {
		t.Skip("needs traces of migrations")
	}
	assert.NotEmpty(t, p.moves)
}

// Page faults in the buffer are counted, and those in other memory are not.
func TestBufferFaults(t *testing.T) {
	m := thisMachine(t)
	p := newProbe(this, m, plain(m))
	defer func() { require.NoError(t, p.close()) }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var err error
	if p.faults, err = perf.OpenFaults(); err != nil {
		t.Skip("needs traces of page faults")
	}
	require.NoError(t, p.allocate())
	other, err := linux.NewArea(linux.AreaOptions{Bytes: 1 << 20, Node: Float})
	require.NoError(t, err)
	defer other.Free()
	for i := 0; i < 1<<20; i += os.Getpagesize() {
		other.Bytes()[i] = 1
	}
	require.NoError(t, p.drain())
	assert.Zero(t, p.faulted)
	require.NoError(t, p.touch())
	require.NoError(t, p.drain())
	assert.EqualValues(t, 1<<20/os.Getpagesize(), p.faulted+p.unknown)
}
