package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"gorun/internal/linux"
)

// Family traces the threads of all processes that descend from a thread. Except for Stop, its methods are for one
// goroutine at a time.
type Family struct {
	*tracer[sighting]
	stop int // an eventfd
	genealogy
	method   TraceMethod
	degraded error
}

// Method returns the source of the moves.
func (f *Family) Method() TraceMethod { return f.method }

// Degraded returns why no better method is available; nil when the best is in use. It has a Hint.
func (f *Family) Degraded() error { return f.degraded }

// familyOpeners lists the methods that can trace future processes, in the order of TraceMethods. The counter of
// migrations cannot: its sample gives a thread's destination, and nothing gives the first CPU of a new thread.
var familyOpeners = []opener[sighting]{
	{TraceMigrateTask, openMigrateTasks},
	{TraceSwitches, openInheritedSwitches},
}

// OpenFamily traces all threads of the processes that the calling thread will start, and of all their descendants in
// any session or PID namespace, by the best method that the machine allows. The goroutine must be locked to the thread.
// cpus are the online CPUs: events on a CPU that comes online later are missed. fsys is rooted at /. The error is like
// OpenTrace's.
//
// A program that gains privileges at its execve(2), as a set-user-ID one does, and all processes that it starts are
// silently missed by TraceSwitches: the kernel does not let ordinary users trace them.
//
// With the tracepoint the cost for the traced threads is too small to measure, but each ring gets the moves and forks
// of the whole machine. With the switches each context switch takes 0.5 µs of CPU time more (two processes that wake
// each other through pipes 200,000 times: 0.71 s instead of 0.48), and each new thread takes a kernel object per CPU,
// as for any inherited event with rings. The reader takes 0.12 µs per switch. With two CPUs for 14 threads, up to a
// sixth of the records of such a pair were lost, mostly none. While all rings are empty the reader takes no time.
// BenchmarkFamily, on 2 CPUs with Linux 6.18.
func OpenFamily(cpus []int, fsys fs.FS) (*Family, error) {
	return openFamily(familyOpeners, cpus, fsys)
}

func openFamily(openers []opener[sighting], cpus []int, fsys fs.FS) (*Family, error) {
	root := linux.Gettid()
	source, method, degraded, err := openBest(openers, root, cpus, fsys)
	if err != nil {
		return nil, err
	}
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, errors.Join(&linux.Error{Op: "trace processes (eventfd)", Err: err}, source.Close())
	}
	return &Family{source, stop, newGenealogy(os.Getpid(), root), method, degraded}, nil
}

// openMigrateTasks opens the tracepoint for all threads of the machine, with the records of forks.
func openMigrateTasks(_ int, cpus []int, fsys fs.FS) (*tracer[sighting], error) {
	format, attr, err := migrateTaskEvent(fsys)
	if err != nil {
		return nil, err
	}
	attr.Bits, attr.Wakeup = unix.PerfBitTask|unix.PerfBitWatermark, wakeup(len(cpus))
	t := &tracer[sighting]{of: func(r record) (sighting, bool, error) {
		if r.kind != unix.PERF_RECORD_SAMPLE {
			return parseLife(r)
		}
		tid, m, err := format.move(r.body)
		return sighting{kind: migrates, tid: tid, Move: m}, true, err
	}}
	return t, t.openOnEach(TraceMigrateTask, attr, -1, cpus, "")
}

// openInheritedSwitches opens a dummy event for its records of context switches (see openSwitches), on the thread and
// its descendants. An inherited event has a ring only if it is opened for each CPU (perf_mmap in kernel/events/core.c).
// Only records of a thread being switched in are used; those of it being switched out add nothing.
func openInheritedSwitches(tid int, cpus []int, _ fs.FS) (*tracer[sighting], error) {
	t := &tracer[sighting]{of: func(r record) (sighting, bool, error) {
		if r.kind != unix.PERF_RECORD_SWITCH {
			return parseLife(r)
		}
		if r.misc&unix.PERF_RECORD_MISC_SWITCH_OUT != 0 {
			return sighting{}, false, nil
		}
		s, err := parseSwitch(r.body)
		return s, true, err
	}}
	return t, t.openOnEach(TraceSwitches, unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_DUMMY,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU,
		Bits: unix.PerfBitContextSwitch | unix.PerfBitSampleIDAll | unix.PerfBitExcludeKernel |
			unix.PerfBitInherit | unix.PerfBitTask | unix.PerfBitWatermark,
		Wakeup: wakeup(len(cpus)),
	}, tid, cpus, "")
}

// wakeup returns the number of bytes in a ring that wake its reader: an eighth of the ring, since on a busy machine the
// reader may have to wait for a CPU.
func wakeup(rings int) uint32 { return uint32(ringSize(rings) / 8) }

// sighting is the content of a record about a thread.
type sighting struct {
	kind
	tid         int
	pid, parent int // of a new thread: its process, and the thread that started it
	Move            // the time; To is the present or next CPU, From the previous one if it migrated
}

// kind is the kind of event that a record reports.
type kind uint8

const (
	begins kind = iota
	ends
	runs     // the thread is switched in
	migrates // the scheduler has decided to move the thread
)

// parseSwitch parses a switch, which has only the fields added by sample_id_all: u32 PID, TID, u64 time, u32 CPU, u32
// 0.
func parseSwitch(body []byte) (sighting, error) {
	if len(body) < 24 {
		return sighting{}, fmt.Errorf("%w: a switch of %d bytes", errRing, len(body))
	}
	return sighting{kind: runs, tid: word(body, 4), Move: Move{
		NS: int64(binary.NativeEndian.Uint64(body[8:])), To: word(body, 16),
	}}, nil
}

// parseLife parses the start or end of a thread: u32 PID, parent's PID, TID, parent's TID, u64 time, and the fields
// added by sample_id_all. ok is false for other records.
func parseLife(r record) (s sighting, ok bool, err error) {
	switch r.kind {
	case unix.PERF_RECORD_FORK:
		s.kind = begins
	case unix.PERF_RECORD_EXIT:
		s.kind = ends
	default:
		return sighting{}, false, nil
	}
	if len(r.body) < 24 {
		return sighting{}, false, fmt.Errorf("%w: a start or end of %d bytes", errRing, len(r.body))
	}
	s.pid, s.tid, s.parent = word(r.body, 0), word(r.body, 8), word(r.body, 12)
	s.NS = int64(binary.NativeEndian.Uint64(r.body[16:]))
	return s, true, nil
}

func word(body []byte, offset int) int { return int(int32(binary.NativeEndian.Uint32(body[offset:]))) }

// genealogy tracks which threads belong to the family, and the CPU of each.
type genealogy struct {
	pid, root int // the tracing process, and its thread that starts the first processes of the family
	at        map[int]*follower
}

func newGenealogy(pid, root int) genealogy { return genealogy{pid, root, map[int]*follower{}} }

// see processes a sighting, in the order of time, and returns the move if it was one. After a start or an end, a TID
// stands for another thread.
func (g genealogy) see(s sighting) (m Move, moved bool) {
	f := g.at[s.tid]
	switch s.kind {
	case begins:
		delete(g.at, s.tid)
		if (s.parent == g.root || g.at[s.parent] != nil) && s.pid != g.pid {
			g.at[s.tid] = &follower{cpu: -1}
		}
	case ends:
		delete(g.at, s.tid)
	case runs:
		if f != nil {
			return f.at(s.NS, s.To)
		}
	case migrates:
		return s.Move, f != nil
	}
	return Move{}, false
}

// Wait returns true when an eighth of some ring has been filled since the last time, and false after Stop.
func (f *Family) Wait() bool {
	fds := make([]unix.PollFd, 0, 1+len(f.events))
	fds = append(fds, unix.PollFd{Fd: int32(f.stop), Events: unix.POLLIN})
	for _, e := range f.events {
		fds = append(fds, unix.PollFd{Fd: int32(e.fd), Events: unix.POLLIN})
	}
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || fds[0].Revents != 0 {
			return false
		}
		for _, fd := range fds[1:] {
			if fd.Revents&unix.POLLIN != 0 {
				return true
			}
		}
		return false // an error: no more events will come
	}
}

// Stop makes present and later calls of Wait return, from any goroutine.
func (f *Family) Stop() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(f.stop, one[:])
}

// Read returns the moves since the last Read, or since OpenFamily, in the order of time, and the number of records lost
// since then. If the record of a thread's start is lost, all its moves are missed.
func (f *Family) Read() (moves []Move, lost uint64, err error) {
	seen, lost, err := f.tracer.Read()
	for _, s := range seen {
		if m, moved := f.see(s); moved {
			moves = append(moves, m)
		}
	}
	f.spare = seen[:0]
	return moves, lost, err
}

// Close ends the trace. A second call does nothing.
func (f *Family) Close() error {
	if len(f.events) == 0 {
		return nil
	}
	return errors.Join(unix.Close(f.stop), f.tracer.Close())
}
