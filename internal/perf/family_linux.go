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

// familyOpeners has the methods that follow processes to come, in the order of TraceMethods. The counter of migrations
// is none: its sample says where a thread goes to, and nothing says where a new one was.
var familyOpeners = []opener[sighting]{
	{TraceMigrateTask, openMigrateTasks},
	{TraceSwitches, openInheritedSwitches},
}

// OpenFamily follows all threads of the processes that the calling thread, which the goroutine must be locked to, will
// start, and of all their descendants in any session or pid namespace, by the best method that the machine allows. cpus
// are those online: what happens on one that came later is missed. fsys is rooted at /. The error is like OpenTrace's.
//
// A program that gains privileges at its execve(2), as a set-user-ID one does, leaves TraceSwitches with all that it
// starts: the kernel lets ordinary users trace none, and says nothing of it.
//
// By the tracepoint the traced pay nothing that could be measured, but each ring gets the moves and forks of the whole
// machine. By the switches each context switch takes 0.5 µs of CPU time more (two processes that wake each other through
// pipes 200,000 times: 0.71 s instead of 0.48), and each new thread a kernel object a CPU, as for any inherited event
// with rings; the reader takes 0.12 µs a switch of its own. With two CPUs for 14 threads, up to a sixth of the records of
// such a pair were lost, mostly none. Until a ring has something to be read, the reader takes nothing. BenchmarkFamily,
// on 2 CPUs with Linux 6.18.
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
	return &Family{&familyTrace{source, stop, newGenealogy(os.Getpid(), root)}, method, degraded}, nil
}

// openMigrateTasks opens the tracepoint for all threads of the machine, with the records of who starts whom.
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

// openInheritedSwitches opens an event that never happens, for the records of context switches beside it (see
// openSwitches), on the thread and whatever it starts. Only with an event for each CPU has it a ring (perf_mmap in the
// kernel's kernel/events/core.c). That a thread comes onto a CPU is enough; that it leaves says the same again.
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

// wakeup returns how many bytes in one of so many rings wake its reader, which on a busy machine may have to wait for a
// CPU: there is room for seven times as many.
func wakeup(rings int) uint32 { return uint32(ringSize(rings) / 8) }

// sighting is what a record tells of a thread.
type sighting struct {
	kind
	tid         int
	pid, parent int // of a thread that began: its process, and the thread that started it
	Move            // when; To is where it is or goes to, From where it comes from, if it migrated
}

// kind says what a thread does when it is seen.
type kind uint8

const (
	begins kind = iota
	ends
	runs     // it comes onto a CPU
	migrates // the scheduler has decided it
)

// parseSwitch reads what sample_id_all adds to a switch, which has nothing else: u32 PID, TID, u64 time, u32 CPU, u32 0.
func parseSwitch(body []byte) (sighting, error) {
	if len(body) < 24 {
		return sighting{}, fmt.Errorf("%w: a switch of %d bytes", errRing, len(body))
	}
	return sighting{kind: runs, tid: word(body, 4), Move: Move{
		NS: int64(binary.NativeEndian.Uint64(body[8:])), To: word(body, 16),
	}}, nil
}

// parseLife reads a thread's begin or end: u32 PID, parent's PID, TID, parent's TID, u64 time, and what sample_id_all
// adds. It is false for other records.
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
		return sighting{}, false, fmt.Errorf("%w: a begin or end of %d bytes", errRing, len(r.body))
	}
	s.pid, s.tid, s.parent = word(r.body, 0), word(r.body, 8), word(r.body, 12)
	s.NS = int64(binary.NativeEndian.Uint64(r.body[16:]))
	return s, true, nil
}

func word(body []byte, offset int) int { return int(int32(binary.NativeEndian.Uint32(body[offset:]))) }

// genealogy knows who of the threads that are seen is of the family, and where.
type genealogy struct {
	pid, root int // the tracing process, and its thread whose children the family begins with
	at        map[int]*follower
}

func newGenealogy(pid, root int) genealogy { return genealogy{pid, root, map[int]*follower{}} }

// see takes note of what was seen, in the order of time, and returns the move if it was one. A TID is another thread's
// after its begin or end.
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

// familyTrace is a family that is traced.
type familyTrace struct {
	*tracer[sighting]
	stop int // an eventfd
	genealogy
}

// Wait returns true when some ring has an eighth more than at the last time, and false after Stop.
func (f *familyTrace) Wait() bool {
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
		return false // an error of its own: nothing more will come
	}
}

// Stop ends Wait, now and later, from any goroutine.
func (f *familyTrace) Stop() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(f.stop, one[:])
}

// Read returns the moves since the last Read, or since OpenFamily, in the order of time, and how many records were lost
// meanwhile: those of a thread's begin among them, so that it may have moved unseen ever since.
func (f *familyTrace) Read() (moves []Move, lost uint64, err error) {
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
func (f *familyTrace) Close() error {
	if len(f.events) == 0 {
		return nil
	}
	return errors.Join(unix.Close(f.stop), f.tracer.Close())
}
