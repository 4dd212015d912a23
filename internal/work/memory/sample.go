package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
)

// Figures are the figures of a sample.
type Figures struct {
	Op       string   `json:"op" figure:",csv=1,key=op" label:"operation" is:"The operation."`
	Stores   string   `json:"stores" figure:",csv=2,key=stores" is:"The kind of stores."`
	On       string   `json:"on" figure:",csv=3,key=on" is:"Where the threads ran."`
	Mem      string   `json:"mem" figure:",csv=4,key=mem" label:"memory" is:"Where the memory was."`
	Pause    *uint64  `json:"pause,omitempty" figure:"count,csv=5,key=pause" label:"pause in turns" is:"The turns of an empty loop after each KiB that a loading thread read."`
	Threads  int      `json:"threads" figure:"count,verbose" is:"The threads that read or wrote."`
	CPUs     string   `json:"cpu_list" figure:",hidden" is:"The CPUs of these threads."`
	Access   string   `json:"access,omitempty" figure:",key=access" is:"How the memory was accessed."`
	Size     *uint64  `json:"size_bytes,omitempty" figure:"B,key=size" label:"size" is:"The size of the memory, with --latency."`
	Buffer   uint64   `json:"buffer_bytes" figure:"B,verbose" label:"an array" is:"The size of each array."`
	Rate     *float64 `json:"bytes_per_second,omitempty" figure:"B/s,higher,csv=6,bench=B/s,rank=1" label:"bandwidth" is:"The bytes that the operation read and wrote in a second, of all threads."`
	PerKiB   *float64 `json:"ns_per_kib,omitempty" figure:"ns,lower,hidden" label:"a KiB" is:"The time in which all threads together read and wrote 1,024 bytes."`
	Slowest  *float64 `json:"slowest_bytes_per_second,omitempty" figure:"B/s,higher,rank=3" label:"slowest thread" is:"The bandwidth of the slowest thread."`
	Latency  *float64 `json:"latency_ns,omitempty" figure:"ns,lower,csv=7,bench=latency-ns,rank=2" label:"latency" is:"The time of a read that depends on the one before; with --latency, of an access."`
	HugePart *float64 `json:"huge_share,omitempty" figure:"share,verbose" label:"huge pages" is:"The part of the memory that was in huge pages."`
}

var (
	columns   = column.Join(column.Times, column.Of[Figures]())
	perKiB    = columns.Get("ns_per_kib") // by which cells are compared
	latency   = columns.Get("latency_ns") // likewise, with --loaded
	bandwidth = columns.Get("bytes_per_second")
)

// The values in the arrays. The result of each operation is a whole number, so that it is exact.
const (
	inA, inB, inC = 1.0, 2.0, 5.0
	factor        = 3.0
)

// wants is what A holds after each operation.
var wants = map[string]float64{"read": inA, "write": factor, "copy": inB, "triad": inB + factor*inC}

// work is what one sample shares among its threads.
type work struct {
	Cell
	gate   *csrc.Gate
	stop   *csrc.Stop
	arrays []*linux.Area // as many as the operation needs
	chain  *linux.Area   // of the timed reads; nil: there are none
	each   uint64        // bytes of each thread's slice

	results []csrc.MemoryResult
	chased  csrc.ProbeResult
	read    []result.Placement // of each thread, that of the timed reads last
}

// sample takes a sample, with new threads and new memory.
func sample(ctx context.Context, _ experiment.Environment, c Cell) (s result.Sample, err error) {
	threads := len(c.CPUs)
	if c.Chase != NoCPU {
		threads++
	}
	w := &work{Cell: c, gate: csrc.NewGate(threads), stop: csrc.NewStop(), results: make([]csrc.MemoryResult, len(c.CPUs))}
	defer w.stop.Free()
	defer w.gate.Free()
	defer func() { err = errors.Join(err, w.free()) }()
	if err := w.allocate(); err != nil {
		return s, err
	}
	err = func() error {
		defer measure.Until(ctx, w.stop.Set)()
		return measure.Timed(&s, w.run)
	}()
	switch {
	case ctx.Err() != nil:
		return s, ctx.Err()
	case err != nil:
		return s, err
	}
	return s, w.finish(&s)
}

// allocate maps the memory. It is touched by the threads that use it.
func (w *work) allocate() error {
	kind, err := linux.ParsePageKind(w.Pages)
	if err != nil {
		return err
	}
	area := func(bytes uint64) (*linux.Area, error) {
		a, err := linux.NewArea(linux.AreaOptions{Bytes: int(bytes), Node: w.MemNode, Pages: kind})
		if err == nil && linux.PageKinds[kind].HugeTLB { // if no page is left, a write would end the process
			err = a.Touch()
		}
		return a, err
	}
	if n := uint64(len(w.CPUs)); n > 0 {
		w.each = w.Buffer / n / csrc.MemoryLine * csrc.MemoryLine
		if w.each == 0 {
			return fmt.Errorf("an array of %d bytes has no line for each of %d threads", w.Buffer, n)
		}
		for range csrc.MemoryOps[w.op()].Arrays {
			a, err := area(w.each * n)
			if a != nil {
				w.arrays = append(w.arrays, a)
			}
			if err != nil {
				return err
			}
		}
	}
	if w.Chase != NoCPU {
		w.chain, err = area(w.Buffer)
	}
	return err
}

func (w *work) free() (err error) {
	for _, a := range append(w.arrays, w.chain) {
		if a != nil {
			err = errors.Join(err, a.Free())
		}
	}
	return err
}

// run runs all threads.
func (w *work) run() error {
	errs := make([]error, len(w.CPUs)+1)
	w.read = make([]result.Placement, len(errs))
	var threads, loading sync.WaitGroup
	start := func(i, cpu int, of *sync.WaitGroup, do func() error) {
		of.Go(func() {
			if w.read[i], errs[i] = measure.Pinned(cpu, do); errs[i] != nil {
				w.stop.Set() // the others would wait for it
			}
		})
	}
	for i, cpu := range w.CPUs {
		start(i, cpu, &loading, func() error { return w.move(i) })
	}
	if w.Chase != NoCPU {
		start(len(w.CPUs), w.Chase, &threads, w.timed)
		threads.Wait()
		w.stop.Set() // the threads that load the memory
	}
	loading.Wait()
	return cmp.Or(errs...)
}

// slices returns thread i's slices of the arrays.
func (w *work) slices(i int) (slices [3][]float64) {
	for k, a := range w.arrays {
		first := unsafe.Add(a.Pointer(), uint64(i)*w.each)
		slices[k] = unsafe.Slice((*float64)(first), w.each/8)
	}
	return slices
}

// move is the work of thread i: it touches its slices, and repeats the operation.
func (w *work) move(i int) (err error) {
	args := csrc.MemoryArgs{
		Op: w.op(), Bytes: w.each, Factor: factor, Nontemporal: w.Nontemporal, For: w.Time, Pause: w.Pause, Gate: w.gate, Stop: w.stop,
	}
	if w.Chase != NoCPU {
		args.For = 0 // until the timed reads have ended
	}
	values := [...]float64{inA, inB, inC}
	for k, slice := range w.slices(i) {
		for at := range slice {
			slice[at] = values[k]
		}
		if slice != nil {
			args.Slices[k] = unsafe.Pointer(unsafe.SliceData(slice))
		}
	}
	w.results[i], err = csrc.Memory(args)
	return err
}

// settle is how long a thread makes accesses that do not count, where the size of the memory matters: the first accesses to memory
// that fits in a cache take up to twice as long, for some 50 ms.
const settle = 100 * time.Millisecond

// timed is the work of the thread whose accesses are timed. It begins when the threads that load the memory do, and makes an eighth of them
// first, untimed.
func (w *work) timed() (err error) {
	args := csrc.ProbeArgs{Access: cmp.Or(w.Access, chase), Words: w.Buffer / 8, Seed: w.Seed, Buffer: w.chain.Pointer(), Stop: w.stop, Accesses: w.Accesses / 8}
	if err := csrc.ProbePrepare(args); err != nil {
		return err
	}
	line := [...]unsafe.Pointer{w.chain.Pointer(), nil, nil}
	begin := csrc.MemoryArgs{Slices: line, Bytes: csrc.MemoryLine, For: 1, Gate: w.gate, Stop: w.stop}
	if _, err := csrc.Memory(begin); err != nil {
		return err
	}
	for begun := time.Now(); ; {
		warm, err := csrc.Probe(args)
		if err != nil {
			return err
		}
		args.From = warm.Next
		if w.Access == "" || warm.Accesses < args.Accesses || time.Since(begun) >= settle {
			break
		}
	}
	args.Accesses = w.Accesses
	w.chased, err = csrc.Probe(args)
	return err
}

// finish makes the figures of a sample, and checks what it did.
func (w *work) finish(s *result.Sample) error {
	v := Figures{
		Op: w.Op, Stores: w.stores(), On: w.On, Mem: w.mem(), Threads: len(w.CPUs), CPUs: cpuset.FormatList(w.CPUs), Access: w.Access,
		Buffer: w.Buffer,
	}
	var requested []string
	if len(w.CPUs) > 0 {
		requested = append(requested, "threads pinned to CPUs "+v.CPUs)
	}
	for _, read := range w.read {
		s.Placement.Add(read.Checked, read.Mismatches)
	}
	sum, slowest := 0.0, 0.0
	for i, r := range w.results {
		s.Placement.Check(r.CPU < 0 || r.CPU == w.CPUs[i], "the thread of CPU %d ended on CPU %d", w.CPUs[i], r.CPU)
		if r.Bytes == 0 {
			return errors.New("stopped before the first line")
		}
		rate := float64(r.Bytes) / (r.End - r.Start).Seconds()
		sum += rate
		if i == 0 || rate < slowest {
			slowest = rate
		}
		w.check(s, i, r)
	}
	if len(w.results) > 0 {
		v.Rate, v.Slowest, v.PerKiB = &sum, &slowest, new(1024e9/sum)
	}
	if w.Chase != NoCPU {
		requested = append(requested, "timed accesses on CPU "+strconv.Itoa(w.Chase))
		if len(w.CPUs) > 0 {
			v.Pause = &w.Pause
		}
		if w.Access != "" {
			v.Size = &w.Buffer
		}
		v.Latency = new(float64(w.chased.NS) / float64(w.chased.Accesses))
	}
	s.Placement.Requested = strings.Join(requested, ", ")
	w.readBack(s, &v)
	s.Values = result.FiguresOf(&v)
	return nil
}

// check makes a sample invalid in which a thread computed a wrong result.
func (w *work) check(s *result.Sample, i int, r csrc.MemoryResult) {
	if w.Op == "read" {
		if want := inA * float64(r.Bytes/8); r.Sum != want {
			s.Wrong("CPU %d computed a wrong sum: %v instead of %v", w.CPUs[i], r.Sum, want)
		}
		return
	}
	written := min(w.each, r.Bytes/uint64(csrc.MemoryOps[w.op()].Arrays)) / 8
	const some = 509 // words between two that are looked at: a prime, so that all places in a line and a page occur
	slice := w.slices(i)[0]
	for at := uint64(0); at < written; at += some {
		if slice[at] != wants[w.Op] {
			s.Wrong("CPU %d computed a wrong value: %v instead of %v", w.CPUs[i], slice[at], wants[w.Op])
			return
		}
	}
}

// readBack reads which nodes and what pages the memory was on.
func (w *work) readBack(s *result.Sample, v *Figures) {
	huge, all := uint64(0), uint64(0)
	for _, a := range append(w.arrays, w.chain) {
		if a == nil {
			continue
		}
		nodes, err := a.Nodes()
		switch {
		case err != nil && errors.Is(err, errors.ErrUnsupported): // a kernel without NUMA has one node
		case err != nil:
			s.Doubt(result.Suspect, "the memory's node is not known: %v", err)
		case w.MemNode != Local:
			for node, pages := range nodes {
				s.Placement.Check(node == w.MemNode, "%d pages of the memory are on node %d, not on node %d", pages, node, w.MemNode)
			}
		}
		if sizes, err := a.PageSizes(os.DirFS("/")); err == nil {
			for size, bytes := range sizes {
				if all += bytes; size > uint64(os.Getpagesize()) {
					huge += bytes
				}
			}
		}
	}
	if all > 0 {
		v.HugePart = new(float64(huge) / float64(all))
	}
}
