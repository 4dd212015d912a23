package primes

import (
	"fmt"
	"sync/atomic"
	"time"

	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// worker records one worker of a pass. Times are nanoseconds since the meter's origin.
type worker struct {
	position
	tally      Tally
	flushed    Tally // the part of tally that the meter has
	first      uint64
	start, now int64 // its start, and its last checkpoint: in the end, its end
	pinned     int32 // the CPU it was put on; -1: none
	cpuStart   int32
	cpu        int32
	tidStart   int32
	tid        int32 // 0: not read (executors take workers; the thread is theirs)
	moves      int32
	ended      bool // it was not stopped
	verified   bool
	mismatch   string
	nice       *int         // of its thread at the end, where workers are shown
	sched      *linux.Sched // the same
}

// work runs worker i to its end on the calling goroutine, which has been seated.
func (p *pass) work(i int, seat *placement.Seat) {
	w := &p.workers[i]
	if p.opts.uninstrumented {
		for piece, ok := p.dealer.next(i, &w.position); ok; piece, ok = p.dealer.next(i, &w.position) {
			w.tally.add(p.counter.Count(piece, &p.stop))
		}
		return
	}
	w.pinned = int32(seat.CPU)
	p.begin(w, seat)
	for !p.stop.Load() {
		piece, ok := p.dealer.next(i, &w.position)
		if w.ended = !ok; w.ended {
			break
		}
		if w.first == 0 {
			w.first = piece.First
		}
		w.tally.add(p.counter.Count(piece, &p.stop))
		p.checkpoint(w, i, seat)
	}
	p.finish(w, i, seat)
}

func (p *pass) begin(w *worker, seat *placement.Seat) {
	w.start = p.meter.now()
	w.now = w.start
	w.cpu = int32(linux.Getcpu())
	w.cpuStart = w.cpu
	if p.plan.Executors == nil {
		w.tidStart = int32(seat.TID)
		if seat.TID == 0 {
			w.tidStart = int32(linux.Gettid())
		}
	}
	p.meter.slot(w.cpu).started.Add(1)
}

// checkpoint is the end of a piece of work: the time since the last one goes to the CPU it ends on.
func (p *pass) checkpoint(w *worker, i int, seat *placement.Seat) {
	last := w.now
	w.now = p.meter.now()
	if cpu := int32(linux.Getcpu()); cpu != w.cpu {
		w.cpu = cpu
		w.moves++
		p.placer.Follow(seat, i)
		if seat.TID != 0 && seat.CPU >= 0 && w.cpu != w.pinned {
			p.placer.Differs(seat, i, fmt.Errorf("pinned to CPU %d, seen on %d", w.pinned, w.cpu))
		}
	}
	slot := p.meter.slot(w.cpu)
	if w.now > slot.readBack.Load() {
		slot.readBack.Store(w.now + int64(placement.Period))
		p.placer.ReadBack(seat, i)
	}
	slot.occupy(last, w.now)
	if w.now-slot.flushed.Load() > flushEvery {
		slot.flushed.Store(w.now)
		slot.count(w)
	}
}

func (p *pass) finish(w *worker, i int, seat *placement.Seat) {
	if w.tidStart != 0 {
		w.tid = int32(linux.Gettid())
		if seat.TID != 0 && w.tid != w.tidStart {
			p.placer.Differs(seat, i, fmt.Errorf("locked to thread %d, ended on %d", w.tidStart, w.tid))
		}
	}
	if seat.TID != 0 && seat.CPU >= 0 {
		p.placer.ReadBack(seat, i)
	}
	w.verified, w.mismatch = seat.Verified, seat.Mismatch
	if p.opts.Detail {
		if nice, err := linux.GetNice(0); err == nil {
			w.nice = &nice
		}
		if sched, err := linux.GetSched(0); err == nil {
			w.sched = &sched
		}
	}
	slot := p.meter.slot(w.cpu)
	slot.count(w)
	slot.finished.Add(1)
	took := w.now - w.start
	slot.workerTime.Add(took)
	slot.durations[result.HistogramIndex(float64(took)/1e9)].Add(1)
}

// flushEvery is the time, in nanoseconds, that a CPU's counters may lag behind its workers.
const flushEvery = int64(10 * time.Millisecond)

// meter counts what the workers do, by CPU. Workers write it with atomic operations, each in the slot of its CPU;
// readers may come at any time.
type meter struct {
	origin time.Time
	slots  []slot
}

// now returns nanoseconds since the origin, monotonic.
func (m *meter) now() int64 { return int64(time.Since(m.origin)) }

func (m *meter) slot(cpu int32) *slot {
	if int(cpu) >= len(m.slots) { // a CPU that was plugged in after the machine was read
		return &m.slots[len(m.slots)-1]
	}
	return &m.slots[cpu]
}

// slot sums up what workers did on one CPU. It fills its own cache lines.
type slot struct {
	last       atomic.Int64 // when this CPU was last seen at work
	busy       atomic.Int64 // nanoseconds with a worker on this CPU
	flushed    atomic.Int64 // when a worker's tally was last counted here
	readBack   atomic.Int64 // when a worker's placement is to be read back here again
	numbers    atomic.Uint64
	primes     atomic.Uint64
	started    atomic.Uint64
	finished   atomic.Uint64
	workerTime atomic.Int64                        // nanoseconds, start to end, of those that finished here
	durations  [result.HistogramSize]atomic.Uint64 // of those that finished here
	_          [64]byte
}

// occupy adds the time from…to to the CPU's busy time, less what has been claimed: workers that take turns on a CPU do
// not count twice.
func (s *slot) occupy(from, to int64) {
	for last := s.last.Load(); last < to; last = s.last.Load() {
		if s.last.CompareAndSwap(last, to) {
			s.busy.Add(to - max(from, last))
			return
		}
	}
}

// count adds what a worker has done since it was last counted.
func (s *slot) count(w *worker) {
	s.numbers.Add(w.tally.Numbers - w.flushed.Numbers)
	s.primes.Add(w.tally.Primes - w.flushed.Primes)
	w.flushed = w.tally
}

// reading is a copy of a meter's busy time by CPU.
type reading []time.Duration

func (m *meter) read() reading {
	r := make(reading, len(m.slots))
	for i := range m.slots {
		r[i] = time.Duration(m.slots[i].busy.Load())
	}
	return r
}

func (r reading) sub(before reading) reading {
	for i := range r {
		r[i] -= before[i]
	}
	return r
}

// live sums the slots.
func (m *meter) live() result.State {
	var l result.State
	h := &result.Histogram{}
	l.WorkerSeconds = h
	for i := range m.slots {
		s := &m.slots[i]
		l.NumbersTested += s.numbers.Load()
		l.PrimesFound += s.primes.Load()
		l.WorkersStarted += s.started.Load()
		finished, busy := s.finished.Load(), s.busy.Load()
		l.WorkersFinished += finished
		h.Sum += float64(s.workerTime.Load()) / 1e9
		for b := range s.durations {
			h.Counts[b] += s.durations[b].Load()
		}
		if finished > 0 || busy > 0 {
			l.CPUs = append(l.CPUs, result.CPUState{CPU: i, Workers: finished, BusySeconds: float64(busy) / 1e9})
		}
	}
	return l
}
