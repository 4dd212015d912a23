package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/linux"
)

// headerSize is the size of struct perf_event_header (perf_event_open(2)): u32 type, u16 misc, u16 size including the
// header.
const headerSize = 8

// errRing is wrapped by errors about a malformed ring or record.
var errRing = errors.New("damaged perf ring buffer")

// errClosed is not the same as no records.
var errClosed = &linux.Error{Op: "read a trace", Err: os.ErrClosed}

// record is one entry of a ring.
type record struct {
	kind uint32 // PERF_RECORD_*
	misc uint16 // PERF_RECORD_MISC_*
	body []byte // after the header; valid until the next record is read
}

// ring is a perf ring buffer (perf_event_open(2), "MMAP layout"). head and tail are byte counts that are never reduced
// modulo the size: the kernel advances head after writing, the reader advances tail after reading.
type ring struct {
	head, tail *uint64
	data       []byte // a power of two of bytes
	crowded    bool   // a drain found it more than half full, so records may have been lost; the caller resets it
	whole      []byte // the copy of what wraps around the end
}

// drain calls visit for each unread record and frees their space. After an error, also one of visit, the other records
// are dropped.
func (r *ring) drain(visit func(record) error) error {
	tail, head := *r.tail, atomic.LoadUint64(r.head)
	// After this store the kernel overwrites the records.
	defer atomic.StoreUint64(r.tail, head)
	if head-tail > uint64(len(r.data)) {
		return fmt.Errorf("%w: %d unread bytes in one of %d", errRing, head-tail, len(r.data))
	}
	r.crowded = r.crowded || head-tail > uint64(len(r.data)/2)
	for tail != head {
		unread := head - tail
		if unread < headerSize {
			return fmt.Errorf("%w: %d bytes after the last record", errRing, unread)
		}
		header := r.bytes(tail, headerSize)
		kind := binary.NativeEndian.Uint32(header)
		misc := binary.NativeEndian.Uint16(header[4:])
		size := uint64(binary.NativeEndian.Uint16(header[6:]))
		if size < headerSize || size > unread {
			return fmt.Errorf("%w: a record of %d bytes where %d are unread", errRing, size, unread)
		}
		if err := visit(record{kind, misc, r.bytes(tail, size)[headerSize:]}); err != nil {
			return err
		}
		tail += size
	}
	return nil
}

// bytes returns the n bytes at a position, n at most the ring's size.
func (r *ring) bytes(position, n uint64) []byte {
	size := uint64(len(r.data))
	begin := position & (size - 1)
	if begin+n <= size {
		return r.data[begin : begin+n]
	}
	r.whole = append(append(r.whole[:0], r.data[begin:]...), r.data[:begin+n-size]...)
	return r.whole
}

const (
	// ringBytes is the size of a ring: room for 16,384 context switches of 32 bytes. It is also a user's limit per CPU
	// without privilege (perf_event_mlock_kb is 516).
	ringBytes = 512 << 10
	// ringsBytes limits the total size of the rings of all CPUs, if each has at least minRingBytes.
	ringsBytes   = 32 << 20
	minRingBytes = 64 << 10
)

// ringSize returns the size of each of this number of rings.
func ringSize(rings int) int {
	share := ringsBytes / max(rings, 1)
	return max(minRingBytes, min(ringBytes, 1<<(bits.Len(uint(share))-1)))
}

// event is a perf event that writes records into a ring.
type event struct {
	fd       int    // -1: closed
	memory   []byte // the mapping: a page for the two ends of the ring, then its data
	ring     ring
	told     uint64 // lost records, by the records of losses in the ring
	counted  uint64 // lost records, by the event itself
	reported uint64 // lost records that read has returned
}

// openEvent opens a software event of a thread whose records have times of CLOCK_MONOTONIC; CPU -1 is any CPU. The ring
// is smaller if the user may not have one of that size.
func openEvent(attr unix.PerfEventAttr, tid, cpu, size int) (*event, error) {
	attr.Type = unix.PERF_TYPE_SOFTWARE
	attr.Size = uint32(unsafe.Sizeof(attr))
	attr.Bits |= unix.PerfBitUseClockID
	attr.Clockid = unix.CLOCK_MONOTONIC
	attr.Read_format = unix.PERF_FORMAT_LOST
	fd, err := unix.PerfEventOpen(&attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.0
		attr.Read_format = 0
		fd, err = unix.PerfEventOpen(&attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	e := &event{fd: fd}
	page := os.Getpagesize()
	for ; ; size /= 2 {
		e.memory, err = unix.Mmap(fd, 0, page+size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EPERM) || size <= page {
			return nil, errors.Join(fmt.Errorf("map a ring buffer: %w", err), e.close())
		}
	}
	control := (*unix.PerfEventMmapPage)(unsafe.Pointer(&e.memory[0]))
	e.ring = ring{head: &control.Data_head, tail: &control.Data_tail, data: e.memory[page:]}
	return e, nil
}

// read calls visit for each record, except records of losses. It returns the number of records that were lost since the
// last read: the ring reports a loss only with the next record that fits; the event itself reports it at once, since
// Linux 6.0. The event is asked only if it may have lost some, since that interrupts its CPU.
func (e *event) read(visit func(record) error) (lost uint64, err error) {
	if e.fd < 0 {
		return 0, errClosed
	}
	err = e.ring.drain(func(r record) error {
		if r.kind != unix.PERF_RECORD_LOST && r.kind != unix.PERF_RECORD_LOST_SAMPLES {
			return visit(r)
		}
		lost, err := parseLost(r)
		e.told += lost
		return err
	})
	if err != nil {
		return 0, err
	}
	if e.ring.crowded {
		var buf [16]byte // u64 value, u64 lost
		n, err := unix.Read(e.fd, buf[:])
		if err != nil {
			return 0, &linux.Error{Op: "read the number of lost records", Err: err}
		}
		if n == len(buf) {
			e.counted = binary.NativeEndian.Uint64(buf[8:])
		}
		e.ring.crowded = false
	}
	all := max(e.told, e.counted)
	lost, e.reported = all-e.reported, all
	return lost, nil
}

// parseLost parses a record of a loss: u64 id, u64 lost; or, for samples that never got to the ring, u64 lost.
func parseLost(r record) (uint64, error) {
	at := 0
	if r.kind == unix.PERF_RECORD_LOST {
		at = 8
	}
	if len(r.body) < at+8 {
		return 0, fmt.Errorf("%w: a record of a loss with %d bytes", errRing, len(r.body))
	}
	return binary.NativeEndian.Uint64(r.body[at:]), nil
}

// close ends the event. A second call does nothing.
func (e *event) close() error {
	if e.fd < 0 {
		return nil
	}
	var err error
	if e.memory != nil {
		err = unix.Munmap(e.memory)
	}
	err = errors.Join(err, unix.Close(e.fd))
	*e = event{fd: -1}
	return err
}
