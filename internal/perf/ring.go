package perf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
)

// headerSize is the size of struct perf_event_header (perf_event_open(2)): u32 type, u16 misc, u16 size including the
// header.
const headerSize = 8

// errRing is wrapped by errors about a malformed ring or record.
var errRing = errors.New("damaged perf ring buffer")

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
