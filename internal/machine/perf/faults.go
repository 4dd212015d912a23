package perf

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/linux"
)

// Faults records the minor page faults of one thread in user mode. It is for one goroutine at a time.
type Faults struct{ event *event }

// faultsBytes is the size of the ring. A fault takes 24 bytes, so that there is room for 87,381: more than the 65,536 pages
// that NUMA balancing marks at once. The ring is smaller if the user may not lock so much memory.
const faultsBytes = 2 << 20

// OpenFaults records the calling thread's page faults, with the address of each. It needs CAP_PERFMON, or
// kernel.perf_event_paranoid of at most 2.
func OpenFaults() (*Faults, error) {
	e, err := openEvent(unix.PerfEventAttr{
		Config: unix.PERF_COUNT_SW_PAGE_FAULTS_MIN, Sample: 1,
		Sample_type: unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_ADDR, Bits: unix.PerfBitExcludeKernel,
	}, linux.Gettid(), -1, faultsBytes)
	if err != nil {
		return nil, openError("trace page faults", err, 2)
	}
	return &Faults{e}, nil
}

// Read returns the addresses of the faults since the last Read, or since OpenFaults, and the number of faults that did not fit into the
// kernel's ring.
func (f *Faults) Read() (addresses []uint64, lost uint64, err error) {
	lost, err = f.event.read(func(r record) error {
		if r.kind != unix.PERF_RECORD_SAMPLE {
			return nil
		}
		if len(r.body) < 16 { // u64 time, u64 address
			return fmt.Errorf("%w: a sample of %d bytes", errRing, len(r.body))
		}
		addresses = append(addresses, binary.NativeEndian.Uint64(r.body[8:]))
		return nil
	})
	return addresses, lost, err
}

// Close ends the trace. A second call does nothing.
func (f *Faults) Close() error { return f.event.close() }
