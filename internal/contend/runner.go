package contend

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/catalog"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/result"
)

// Timing says how long a row lasts.
type Timing struct {
	Count  uint64        // operations of each thread; 0: by time
	Time   time.Duration // of the row
	Window time.Duration // of the windows that it is cut into
}

// The bounds of a row by time. In a shorter window the readings of the clock would take over 0.1% of it; of fewer
// windows a switch to another thread would leave none; each has a mark of 32 bytes, for each thread.
const (
	LeastWindow  = 500 * time.Microsecond
	LeastWindows = 10
	MostWindows  = 100_000
)

// Mode is ByCount or ByTime.
func (t Timing) Mode() string {
	if t.Count > 0 {
		return ByCount
	}
	return ByTime
}

// Runner measures rows on threads that are pinned once, one a CPU.
type Runner struct {
	Gate *csrc.Gate // which releases the threads at once
	Stop *csrc.Stop // which ends what they do; see Until

	crew    *crew
	nodes   map[int]int // of the CPUs
	variant string
	goGate  goGate
	areas   map[int]*linux.Area // by the node they were asked from
}

// LineBytes keeps what two threads use apart: two cache lines, since adjacent ones are fetched together (Intel 64 and
// IA-32 Architectures Optimization Reference Manual, "spatial prefetcher").
const LineBytes = 128

// Open starts the threads of these CPUs. nodes gives the node of each; variant chooses among the instructions that an
// architecture has for one operation, "" the best that this machine has. Close ends them.
func Open(nodes map[int]int, variant string) (*Runner, error) {
	cpus := slices.Sorted(maps.Keys(nodes))
	c, err := newCrew(cpus)
	if err != nil {
		return nil, err
	}
	return &Runner{
		crew: c, nodes: nodes, variant: variant, Gate: csrc.NewGate(1), Stop: csrc.NewStop(), areas: map[int]*linux.Area{},
	}, nil
}

// Close ends the threads and gives the memory back.
func (r *Runner) Close() (err error) {
	r.crew.close()
	for _, area := range r.areas {
		err = errors.Join(err, area.Free())
	}
	r.Gate.Free()
	r.Stop.Free()
	return err
}

// Until has the kernels end when ctx does; the function that it returns takes that back.
func (r *Runner) Until(ctx context.Context) (done func()) {
	r.Stop.Clear()
	r.goGate.halted.Store(false)
	cancel := context.AfterFunc(ctx, r.halt)
	return func() { cancel() }
}

// halt has the kernels end.
func (r *Runner) halt() {
	r.Stop.Set()
	r.goGate.halted.Store(true)
}

// Run has each of these CPUs' threads do its task, all at once, and returns when all are done. The task gets the place
// of its CPU in the list. A thread that is not on its CPU does nothing; where one fails, the kernels of the others end.
func (r *Runner) Run(cpus []int, task func(i int) error) error {
	errs := make([]error, len(cpus))
	r.crew.run(cpus, func(i int, err error) {
		if err == nil {
			err = task(i)
		}
		if err != nil {
			r.halt() // the others would wait for it
		}
		errs[i] = err
	})
	return errors.Join(unlike(errs)...)
}

// unlike returns the errors without those whose text another one has: threads fail for the same reason more often than not.
func unlike(errs []error) (all []error) {
	seen := map[string]bool{}
	for _, err := range errs {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			all = append(all, err)
		}
	}
	return all
}

// Watch begins to watch these CPUs' threads.
func (r *Runner) Watch(cpus []int) *placement.Monitor {
	threads := make([]placement.Thread, len(cpus))
	for i, cpu := range cpus {
		m := r.crew.members[cpu]
		m.again()
		threads[i] = placement.Thread{Name: fmt.Sprintf("the thread of CPU %d", cpu), TID: m.tid, Setting: m.setting}
	}
	return placement.Watch(threads...)
}

// area is memory on a node that holds a row's words. It is touched, so its page is there.
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

// NewArea returns fresh memory on a node, touched, so its page is there. The caller frees it.
func (r *Runner) NewArea(node, bytes int) (*linux.Area, error) {
	area, err := linux.NewArea(linux.AreaOptions{Bytes: bytes, Node: node})
	touch := func() error { return area.Touch() }
	if near := r.onNode(node); errors.Is(err, fs.ErrPermission) && len(near) > 0 {
		// A container's filter forbids to bind memory; what a CPU of the node touches first is there too.
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

// onNode are the runner's CPUs of a node.
func (r *Runner) onNode(node int) (cpus []int) {
	for cpu, on := range r.nodes {
		if on == node {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// wordsBytes is how much memory the words of a row on these CPUs take: the last thread's operation may use more than a word.
func wordsBytes(row result.ContendRow, cpus []int) int {
	last := len(cpus) - 1
	return offset(row, last, cpus[last]) + 4*LineBytes
}

// Measure runs one row. When ctx ends it returns within some milliseconds, with what was done marked partial.
func (r *Runner) Measure(ctx context.Context, row result.ContendRow, t Timing) (s result.Sample, err error) {
	begun := time.Now()
	cpus, err := cpuset.Parse(row.CPUList)
	if err != nil {
		return s, err
	}
	list := slices.Collect(cpus.All())
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
	before, err := linux.ProcessUsage()
	if err != nil {
		return s, err
	}
	monitor := r.Watch(list)
	threads, err := r.release(list, row, t, area)
	s.Placement.Add(monitor.End())
	if err != nil {
		return s, err
	}
	after, err := linux.ProcessUsage()
	if err != nil {
		return s, err
	}
	used := after.Sub(before)
	s.UserSeconds, s.SystemSeconds = used.UserSeconds, used.SystemSeconds
	s.Partial = ctx.Err() != nil

	first, last := threads[0].Start, threads[0].End
	latest := first
	for i, thread := range threads {
		first, last, latest = min(first, thread.Start), max(last, thread.End), max(latest, thread.Start)
		v.Threads[i] = Thread{CPU: list[i], Node: r.nodes[list[i]], CPUSeen: thread.CPU}
		s.CPUs[i] = result.CPU{CPU: list[i], BusySeconds: float64(thread.End-thread.Start) / 1e9}
		Check(&s, thread.CPU == list[i] || thread.CPU < 0, "a thread of CPU %d ended on CPU %d", list[i], thread.CPU)
	}
	s.Seconds = float64(last-first) / 1e9
	released := float64(latest - first)
	v.ReleasedNs = &released
	figures := byCount
	if v.Mode == ByTime {
		figures = func(threads []csrc.ContendResult) tally { return byTime(threads, t.Window, t.Time) }
	}
	tallied := figures(threads)
	tallied.fill(&v)
	if op, _ := catalog.Find(Ops[:], "operation", row.Op); op.Fails {
		failures(&v, tallied.spans)
	}
	if !s.Partial {
		s.Doubts = doubts(v)
	}
	v.FixedSeconds = time.Since(begun).Seconds() - s.Seconds
	s.Placement.Verified = len(s.Placement.Mismatches) == 0
	s.Values = result.FiguresOf(&v)
	return s, nil
}

// release has all threads of a row work at once.
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
	return threads, err
}

// CheckPage reads back on which node a page is that was asked from a node, and returns it; nil where it is not known.
func (r *Runner) CheckPage(s *result.Sample, page unsafe.Pointer, asked int) (is *int) {
	node, err := linux.PageNode(page)
	switch {
	case errors.Is(err, errors.ErrUnsupported): // a kernel without nodes
	case errors.Is(err, fs.ErrPermission) && len(r.nodes) == len(r.onNode(asked)): // all that is used is one node
	case err != nil:
		s.Doubts = append(s.Doubts, result.Doubt{
			Verdict: result.Suspect, Reason: fmt.Sprintf("the memory's node is not known: %v", err),
		})
	default:
		is = &node
		Check(s, node == asked, "the memory is on node %d and was asked from node %d", node, asked)
	}
	return is
}

// Check counts a read-back, and keeps what is not as it was asked.
func Check(s *result.Sample, as bool, format string, args ...any) {
	s.Placement.Checked++
	if !as {
		s.Placement.Mismatches = append(s.Placement.Mismatches, fmt.Sprintf(format, args...))
	}
}

// leastOverlap is the part of the windows that must count for a row to be trusted.
const leastOverlap = 0.5

// doubts are what a row's own figures say against it.
func doubts(v Figures) (d []result.Doubt) {
	if v.Operations == 0 {
		return []result.Doubt{{
			Verdict: result.Invalid,
			Reason: "there was no window in which all threads ran: other programs use these CPUs, " +
				"or the time is shorter than two windows",
		}}
	}
	if v.Mode == ByTime && *v.Overlap < leastOverlap {
		d = append(d, result.Doubt{
			Verdict: result.Suspect,
			Reason:  fmt.Sprintf("all threads ran in only %.0f%% of the windows", 100**v.Overlap),
		})
	}
	return d
}

// failures adds the attempts that found another value.
func failures(v *Figures, spans []span) {
	total := uint64(0)
	for i := range spans {
		n := spans[i].failures
		total += n
		v.Threads[i].Failures = &n
	}
	v.Failures = &total
}

// Prepare implements experiment.Preparer: it brings the CPUs to the clock frequency that they keep.
func (r *Runner) Prepare(ctx context.Context) ([]result.Warning, error) {
	settled, err := r.preheat(ctx)
	if err != nil || settled || ctx.Err() != nil {
		return nil, err
	}
	return []result.Warning{{
		Code:    "unsettled-clock",
		Message: "the CPUs' speed did not settle within a second, so rows differ by more than their operations",
		Hint:    "other programs or a changing clock frequency disturb them: wait, or take more --samples",
	}}, nil
}

// preheat keeps every CPU of the runner busy until their clocks have settled: 100 ms at least, and a second at most. It
// reports whether they have.
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

// steady reports whether the last windows are within a percent of each other.
func steady(windows []float64) bool {
	const least, spread = 3, 0.01
	if len(windows) < least {
		return false
	}
	last := windows[len(windows)-least:]
	return slices.Max(last) <= (1+spread)*slices.Min(last)
}
