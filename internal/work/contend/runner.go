package contend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/base/catalog"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
)

// Timing is the duration of a row.
type Timing struct {
	Count  uint64        // operations of each thread; 0: the row ends by time
	Time   time.Duration // duration of the row
	Window time.Duration // length of the windows into which it is divided
}

// The bounds of a row by time. In a shorter window reading the clock would take more than 0.1% of it; with fewer
// windows a switch to another thread could leave none; each window has a mark of 32 bytes for each thread.
const (
	LeastWindow  = 500 * time.Microsecond
	LeastWindows = 10
	MostWindows  = 100_000
)

// Mode returns ByCount or ByTime.
func (t Timing) Mode() string {
	if t.Count > 0 {
		return ByCount
	}
	return ByTime
}

// Runner measures rows on threads that are pinned once, one per CPU.
type Runner struct {
	Gate *csrc.Gate // releases the threads at the same time
	Stop *csrc.Stop // ends their kernels; see Until

	members map[int]*member // by CPU
	ended   sync.WaitGroup  // of their goroutines
	nodes   map[int]int     // of the CPUs
	variant string
	goGate  goGate
	areas   map[int]*linux.Area // by requested node
}

// LineBytes separates data of two threads: two cache lines, because adjacent lines are fetched together (Intel 64 and
// IA-32 Architectures Optimization Reference Manual, "spatial prefetcher").
const LineBytes = 128

// Until makes the kernels end when ctx does; the returned function undoes that.
func (r *Runner) Until(ctx context.Context) (done func()) {
	r.Stop.Clear()
	return measure.Until(ctx, r.Stop.Set)
}

// Watch starts to watch the threads of these CPUs.
func (r *Runner) Watch(cpus []int) *placement.Monitor {
	threads := make([]placement.Thread, len(cpus))
	for i, cpu := range cpus {
		m := r.members[cpu]
		m.repin()
		threads[i] = placement.Thread{Name: fmt.Sprintf("the thread of CPU %d", cpu), TID: m.tid, Setting: m.setting}
	}
	return placement.Watch(threads...)
}

// area returns memory for a row's words on a node. Its pages are present.
func (r *Runner) area(node, bytes int) (*linux.Area, error) {
	if area, found := r.areas[node]; found {
		if len(area.Bytes()) >= bytes {
			return area, nil
		}
		delete(r.areas, node)
		if err := area.Free(); err != nil {
			return nil, err
		}
	}
	area, err := r.NewArea(node, bytes)
	if err != nil {
		return nil, err
	}
	r.areas[node] = area
	return area, nil
}

// NewArea returns new memory on a node with its pages present. The caller frees it.
func (r *Runner) NewArea(node, bytes int) (*linux.Area, error) {
	area, err := linux.NewArea(linux.AreaOptions{Bytes: bytes, Node: node})
	touch := func() error { return area.Touch() }
	if near := r.onNode(node); errors.Is(err, fs.ErrPermission) && len(near) > 0 {
		// If a container's filter forbids binding memory, a first touch by a CPU of the node puts it there too.
		area, err = linux.NewArea(linux.AreaOptions{Bytes: bytes, Node: -1})
		touch = func() error {
			return r.Run(near[:1], func(int) error { return area.Touch() })
		}
	}
	if err != nil {
		return nil, err
	}
	if err := touch(); err != nil {
		return nil, errors.Join(err, area.Free())
	}
	return area, nil
}

// onNode returns the runner's CPUs on a node.
func (r *Runner) onNode(node int) (cpus []int) {
	for cpu, on := range r.nodes {
		if on == node {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// wordsBytes returns the size of the memory for a row's words: the last thread's operation may use more than one
// word.
func wordsBytes(row result.ContendRow, cpus []int) int {
	last := len(cpus) - 1
	return offset(row, last, cpus[last]) + 4*LineBytes
}

// Measure runs one row. When ctx ends it returns within some milliseconds, with the finished part marked partial.
func (r *Runner) Measure(ctx context.Context, row result.ContendRow, t Timing) (s result.Sample, err error) {
	begun := time.Now()
	cpus, _ := cpuset.Parse(row.CPUList) // formatted by Rows
	list := cpus.List()
	area, err := r.area(row.MemNode, wordsBytes(row, list))
	if err != nil {
		return s, err
	}
	s.Placement.Requested = fmt.Sprintf("a thread pinned to each of CPUs %s, memory on node %d", row.CPUList, row.MemNode)
	v := Figures{
		ContendRow: row, Variant: r.variant, Mode: t.Mode(), CountPerCPU: t.Count,
		Threads: make([]Thread, len(list)),
	}
	s.CPUs = make([]result.CPU, len(list))
	if v.Mode == ByTime {
		v.WindowNs = float64(t.Window)
	}
	v.MemNodeRead = r.CheckPage(&s, area.Pointer(), v.MemNode)

	defer r.Until(ctx)()
	monitor := r.Watch(list)
	var threads []csrc.ContendResult
	err = measure.Timed(&s, func() (err error) {
		threads, err = r.release(list, row, t, area)
		return err
	})
	s.Placement.Add(monitor.End())
	if err != nil {
		return s, err
	}
	s.Partial = ctx.Err() != nil

	first, last := threads[0].Start, threads[0].End
	latest := first
	for i, thread := range threads {
		first, last, latest = min(first, thread.Start), max(last, thread.End), max(latest, thread.Start)
		v.Threads[i] = Thread{CPU: list[i], Node: r.nodes[list[i]], CPUSeen: thread.CPU}
		s.CPUs[i] = result.CPU{CPU: list[i], BusySeconds: float64(thread.End-thread.Start) / 1e9}
		s.Placement.Check(thread.CPU == list[i] || thread.CPU < 0, "a thread of CPU %d ended on CPU %d", list[i], thread.CPU)
	}
	s.Seconds = float64(last-first) / 1e9
	released := float64(latest - first)
	v.ReleasedNs = &released
	figures := byCount
	if v.Mode == ByTime {
		figures = func(threads []csrc.ContendResult) rowTimes { return byTime(threads, t.Window, t.Time) }
	}
	op, _ := catalog.Find(Ops[:], "operation", row.Op)
	figures(threads).fill(&v, op.Fails)
	if !s.Partial {
		doubt(&s, v)
	}
	v.FixedSeconds = result.Nanoseconds(time.Since(begun).Seconds() - s.Seconds)
	s.Values = result.FiguresOf(&v)
	return s, nil
}

// release starts all threads of a row at the same time.
func (r *Runner) release(cpus []int, row result.ContendRow, t Timing, area *linux.Area) ([]csrc.ContendResult, error) {
	operate := csrc.Contend
	if row.Op == goOp {
		r.goGate.reset(len(cpus))
		operate = r.goGate.contend
	} else {
		r.Gate.Reset(len(cpus))
	}
	threads := make([]csrc.ContendResult, len(cpus))
	err := r.Run(cpus, func(i int) (err error) {
		threads[i], err = operate(csrc.ContendArgs{
			Op: row.Op, Variant: r.variant, Word: unsafe.Add(area.Pointer(), offset(row, i, cpus[i])),
			Count: t.Count, Time: t.Time, Window: t.Window, Gate: r.Gate, Stop: r.Stop,
		})
		return err
	})
	unstarted(threads)
	return threads, err
}

// unstarted lets threads that were stopped before they started begin and end at the start of the others, so that they have no part in
// the row.
func unstarted(threads []csrc.ContendResult) {
	var first int64
	for _, thread := range threads {
		if thread.Start > 0 && (first == 0 || thread.Start < first) {
			first = thread.Start
		}
	}
	for i := range threads {
		if threads[i].Start == 0 {
			threads[i].Start, threads[i].End = first, first
		}
	}
}

// CheckPage reads back the node of a page that was requested on a node, and returns it; nil if it is unknown.
func (r *Runner) CheckPage(s *result.Sample, page unsafe.Pointer, asked int) (is *int) {
	node, err := linux.PageNode(page)
	switch {
	case errors.Is(err, errors.ErrUnsupported): // a kernel without nodes
	case errors.Is(err, fs.ErrPermission) && len(r.nodes) == len(r.onNode(asked)): // only one node is in use
	case err != nil:
		s.Doubt(result.Suspect, "the memory's node is not known: %v", err)
	default:
		is = &node
		s.Placement.Check(node == asked, "the memory is on node %d, and node %d was requested", node, asked)
	}
	return is
}

// leastOverlap is the least part of the windows that must count; a row with less is suspect.
const leastOverlap = 0.5

// doubt adds the reasons why a row's figures are doubtful.
func doubt(s *result.Sample, v Figures) {
	switch {
	case v.Operations == 0:
		s.Doubt(result.Invalid, "there was no window in which all threads ran: other programs use these CPUs, "+
			"or the time is shorter than two windows")
	case v.Mode == ByTime && *v.Overlap < leastOverlap:
		s.Doubt(result.Suspect, "all threads ran in only %.0f%% of the windows", 100**v.Overlap)
	}
}

// Prepare implements experiment.Preparer: it brings the CPUs to a stable clock frequency.
func (r *Runner) Prepare(ctx context.Context) ([]result.Warning, error) {
	settled, err := r.preheat(ctx)
	if err != nil || settled || ctx.Err() != nil {
		return nil, err
	}
	return []result.Warning{{
		Code:    "unsettled-clock",
		Message: "CPU speed varied: do not compare rows",
		Hint:    "other programs or a changing clock frequency disturb them: wait, or take more --samples",
	}}, nil
}

// preheat keeps every CPU of the runner busy until the clocks are stable, for at least 100 ms and at most a second.
// It reports whether they are.
func (r *Runner) preheat(ctx context.Context) (settled bool, err error) {
	cpus := slices.Sorted(maps.Keys(r.nodes))
	row := result.ContendRow{Op: goOp, DistBytes: LineBytes, CPUs: len(cpus)}
	area, err := r.area(slices.Min(slices.Collect(maps.Values(r.nodes))), wordsBytes(row, cpus))
	if err != nil {
		return false, err
	}
	const most, whole, window = 10, 100 * time.Millisecond, 10 * time.Millisecond
	defer r.Until(ctx)()
	for range most {
		threads, err := r.release(cpus, row, Timing{Time: whole, Window: window}, area)
		if err != nil || ctx.Err() != nil {
			return false, err
		}
		if steady(byTime(threads, window, whole).windows) {
			return true, nil
		}
	}
	return false, nil
}

// steady reports whether the last windows are within one per cent of each other.
func steady(windows []float64) bool {
	const least, spread = 3, 0.01
	if len(windows) < least {
		return false
	}
	last := windows[len(windows)-least:]
	return slices.Max(last) <= (1+spread)*slices.Min(last)
}
