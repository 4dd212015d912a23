package perf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/linux"
)

// Family records the moves of the threads of all processes that descend from a thread: the method TraceSwitches. Except
// for Stop, its methods are for one goroutine at a time.
type Family struct {
	events []*event // by CPU
	stop   int      // an eventfd
	genealogy
	found []sighting // that Read has not processed
}

// OpenFamily traces all threads of the processes that the calling thread will start, and of all their descendants in
// any session or PID namespace. The goroutine must be locked to the thread. cpus are the online CPUs: switches on a CPU
// that comes online later are missed. The error is like OpenTrace's.
//
// A program that gains privileges at its execve(2), as a set-user-ID one does, and all processes that it starts are
// silently missed, also if root traces them: the kernel ends the events of such a process (fs/exec.c, begin_new_exec).
//
// Each context switch takes 0.5 µs of CPU time more (two processes that wake each other through pipes 200,000 times: 0.71 s
// instead of 0.48), and each new thread takes a kernel object per CPU, as for any inherited event with rings. The reader
// takes 0.12 µs per switch. With two CPUs for 14 threads, up to a sixth of the records of such a pair were lost, mostly
// none. While all rings are empty the reader takes no time. Measured on 2 CPUs with Linux 6.18.
//
// The kernel's counter of migrations cannot be used: its records give a thread's destination, and nothing gives the first
// CPU of a new thread.
func OpenFamily(cpus []int) (*Family, error) {
	stop, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, &linux.Error{Op: "trace migrations (eventfd)", Err: err}
	}
	root := linux.Gettid()
	f := &Family{stop: stop, genealogy: newGenealogy(os.Getpid(), root)}
	size := ringSize(len(cpus))
	attr := switches
	attr.Sample_type = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CPU
	attr.Bits |= unix.PerfBitInherit | unix.PerfBitTask | unix.PerfBitWatermark
	// An eighth of a ring wakes its reader, since on a busy machine the reader may have to wait for a CPU.
	attr.Wakeup = uint32(size / 8)
	// An inherited event has a ring only if it is opened for each CPU (kernel/events/core.c, perf_mmap).
	for _, cpu := range cpus {
		e, err := openEvent(attr, root, cpu, size)
		if err != nil {
			return nil, errors.Join(openError(fmt.Sprintf("trace migrations by switches on CPU %d", cpu), err, 2), f.Close())
		}
		f.events = append(f.events, e)
	}
	return f, nil
}

// sighting is what a record says about a thread.
type sighting struct {
	kind        uint32 // PERF_RECORD_FORK: it is started; PERF_RECORD_EXIT: it ends; PERF_RECORD_SWITCH: it is switched in
	ns          int64
	tid         int
	cpu         int // of PERF_RECORD_SWITCH
	pid, parent int // of PERF_RECORD_FORK: its process, and the thread that started it
}

// parseSighting parses a record; ok is false if it is none of a sighting. A switch has only the fields added by
// sample_id_all: u32 PID, TID, u64 time, u32 CPU, u32 0. A start or an end has them after u32 PID, parent's PID, TID,
// parent's TID, u64 time. A record of a thread being switched out adds nothing to that of its being switched in.
func parseSighting(r record) (s sighting, ok bool, err error) {
	switch r.kind {
	case unix.PERF_RECORD_FORK, unix.PERF_RECORD_EXIT:
	case unix.PERF_RECORD_SWITCH:
		if r.misc&unix.PERF_RECORD_MISC_SWITCH_OUT != 0 {
			return sighting{}, false, nil
		}
	default:
		return sighting{}, false, nil
	}
	if len(r.body) < 24 {
		return sighting{}, false, fmt.Errorf("%w: a record of a thread with %d bytes", errRing, len(r.body))
	}
	s.kind = r.kind
	if r.kind == unix.PERF_RECORD_SWITCH {
		s.tid, s.ns, s.cpu = word(r.body, 4), int64(binary.NativeEndian.Uint64(r.body[8:])), word(r.body, 16)
	} else {
		s.pid, s.tid, s.parent = word(r.body, 0), word(r.body, 8), word(r.body, 12)
		s.ns = int64(binary.NativeEndian.Uint64(r.body[16:]))
	}
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
	if s.kind == unix.PERF_RECORD_SWITCH {
		if f := g.at[s.tid]; f != nil {
			return f.at(s.ns, s.cpu)
		}
		return Move{}, false
	}
	delete(g.at, s.tid)
	if s.kind == unix.PERF_RECORD_FORK && s.pid != g.pid && (s.parent == g.root || g.at[s.parent] != nil) {
		g.at[s.tid] = &follower{cpu: -1}
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
// since then. If the record of a thread's start is lost, all its moves are missed. After an error the pending moves are
// lost.
func (f *Family) Read() (moves []Move, lost uint64, err error) {
	if len(f.events) == 0 {
		return nil, 0, errClosed
	}
	complete, err := f.collect(func() error {
		for _, e := range f.events {
			n, err := e.read(func(r record) error {
				s, ok, err := parseSighting(r)
				if ok {
					f.found = append(f.found, s)
				}
				return err
			})
			if err != nil {
				return err
			}
			lost += n
		}
		return nil
	})
	if err != nil {
		f.found = nil
		return nil, 0, err
	}
	for _, s := range f.found[:complete] {
		if m, moved := f.see(s); moved {
			moves = append(moves, m)
		}
	}
	f.found = slices.Delete(f.found, 0, complete)
	return moves, lost, nil
}

// collect calls readRings twice, which appends to f.found what is in the rings, and sorts f.found by time. It returns
// the length of the part to which a later Read adds nothing. The first pass may read one ring just before a record is
// written, and another ring after a later record; the second pass then finds the earlier record. The second pass may
// miss records in the same way, but none that is earlier than the last record of the first pass: the part ends there.
func (f *Family) collect(readRings func() error) (complete int, err error) {
	if err := readRings(); err != nil {
		return 0, err
	}
	last := int64(math.MinInt64)
	for _, s := range f.found {
		last = max(last, s.ns)
	}
	if err := readRings(); err != nil {
		return 0, err
	}
	slices.SortStableFunc(f.found, func(a, b sighting) int { return cmp.Compare(a.ns, b.ns) })
	complete, _ = slices.BinarySearchFunc(f.found, last+1, func(s sighting, ns int64) int { return cmp.Compare(s.ns, ns) })
	return complete, nil
}

// Close ends the trace. A second call does nothing.
func (f *Family) Close() error {
	if f.stop < 0 {
		return nil
	}
	err := unix.Close(f.stop)
	for _, e := range f.events {
		err = errors.Join(err, e.close())
	}
	f.events, f.stop = nil, -1
	return err
}
