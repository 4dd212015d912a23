package perf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"gorun/internal/linux"
)

// Fault is a minor page fault of a thread in user mode.
type Fault struct {
	NS      int64 // CLOCK_MONOTONIC in nanoseconds
	Address uint64
}

// Faults traces the page faults of one thread. It is for one goroutine at a time. A Read also returns the number of faults
// that did not fit into the kernel's ring.
type Faults struct{ *tracer[Fault] }

// faultsBytes is the size of the ring. A fault takes 24 bytes, so that there is room for 87,381: more than the 65,536 pages
// that NUMA balancing marks at once. The ring is smaller if the user may not lock so much memory.
const faultsBytes = 2 << 20

// OpenFaults traces the calling thread's page faults, with the address of each. It needs CAP_PERFMON, or
// kernel.perf_event_paranoid of at most 2.
func OpenFaults() (*Faults, error) {
	const op = "trace page faults (perf_event_open)"
	e, err := openEvent(unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, Sample: 1,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR, Bits: unix.PerfBitExcludeKernel,
	}, linux.Gettid(), -1, faultsBytes)
	if err != nil {
		remedy := ""
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			remedy = "needs CAP_PERFMON or sysctl kernel.perf_event_paranoid=2"
		}
		return nil, &linux.Error{Op: op, Err: err, Remedy: remedy}
	}
	t := &tracer[Fault]{events: []*event{e}, of: func(r record) (Fault, bool, error) {
		if r.kind != unix.PERF_RECORD_SAMPLE {
			return Fault{}, false, nil
		}
		if len(r.body) < 16 { // u64 time, u64 address
			return Fault{}, false, fmt.Errorf("%w: a sample of %d bytes", errRing, len(r.body))
		}
		return Fault{
			int64(binary.NativeEndian.Uint64(r.body)), binary.NativeEndian.Uint64(r.body[8:]),
		}, true, nil
	}}
	if err := e.enable(); err != nil {
		return nil, errors.Join(&linux.Error{Op: op, Err: err}, t.Close())
	}
	return &Faults{t}, nil
}

func (f Fault) time() int64 { return f.NS }
