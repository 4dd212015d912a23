package perf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// recordOf returns a record in the kernel's format.
func recordOf(kind uint32, body ...byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, kind)
	b = binary.NativeEndian.AppendUint16(b, 0x2000) // misc
	b = binary.NativeEndian.AppendUint16(b, uint16(headerSize+len(body)))
	return append(b, body...)
}

func words(values ...uint64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.NativeEndian.AppendUint64(b, v)
	}
	return b
}

// newRing returns an empty ring with head and tail at a position.
func newRing(size int, position uint64) ring {
	head, tail := position, position
	return ring{head: &head, tail: &tail, data: make([]byte, size)}
}

// write appends a record as the kernel does, if there is room.
func (r *ring) write(record []byte) bool {
	size := uint64(len(r.data))
	if *r.head+uint64(len(record))-*r.tail > size {
		return false
	}
	for i, b := range record {
		r.data[(*r.head+uint64(i))%size] = b
	}
	*r.head += uint64(len(record))
	return true
}

type entry struct {
	kind uint32
	body []byte
}

func drained(r *ring) (entries []entry, err error) {
	err = r.drain(func(r record) error {
		if r.misc != 0x2000 {
			return fmt.Errorf("misc is %#x", r.misc)
		}
		entries = append(entries, entry{r.kind, bytes.Clone(r.body)})
		return nil
	})
	return entries, err
}

// All written records are read once and in order, wherever the ring or the byte counts wrap.
func TestRingReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRing(1<<rapid.IntRange(6, 10).Draw(t, "size"), -rapid.Uint64Range(0, 2000).Draw(t, "position")&^7)
		for range rapid.IntRange(1, 20).Draw(t, "drains") {
			var want []entry
			for range rapid.IntRange(0, 20).Draw(t, "records") {
				kind := rapid.Uint32().Draw(t, "kind")
				body := words(rapid.SliceOfN(rapid.Uint64(), 1, 6).Draw(t, "body")...)
				if r.write(recordOf(kind, body...)) {
					want = append(want, entry{kind, body})
				}
			}
			got, err := drained(&r)
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, *r.head, *r.tail, "the space is free again")
		}
	})
}

func TestRingDamaged(t *testing.T) {
	good := recordOf(9, words(1, 2)...)
	short := recordOf(9)
	short[6] = headerSize - 1
	long := recordOf(9, words(1)...)
	long[6] = 64
	for name, c := range map[string]struct {
		data []byte
		read int
	}{
		"a record of less than its header": {append(bytes.Clone(good), short...), 1},
		"a record without an end":          {append(bytes.Clone(good), long...), 1},
		"half a header":                    {append(bytes.Clone(good), 1, 2, 3, 4), 1},
		"zeros":                            {make([]byte, 16), 0},
	} {
		r := newRing(64, 1<<20)
		require.True(t, r.write(c.data))
		got, err := drained(&r)
		require.ErrorIs(t, err, errRing, name)
		assert.Len(t, got, c.read, name)
		assert.True(t, r.write(good), "%s: the reader continues after it", name)
		got, err = drained(&r)
		require.NoError(t, err, name)
		assert.Equal(t, []entry{{9, words(1, 2)}}, got, name)
	}

	r := newRing(64, 0)
	for range 4 {
		require.True(t, r.write(recordOf(9, words(1)...)))
	}
	*r.head += 16
	_, err := drained(&r)
	assert.ErrorIs(t, err, errRing, "overrun")
}

func TestParseLost(t *testing.T) {
	lost, err := parseLost(record{unix.PERF_RECORD_LOST, 0, words(1, 7)})
	require.NoError(t, err)
	assert.Equal(t, uint64(7), lost)
	lost, err = parseLost(record{unix.PERF_RECORD_LOST_SAMPLES, 0, words(8)})
	require.NoError(t, err)
	assert.Equal(t, uint64(8), lost)
	for _, r := range []record{{unix.PERF_RECORD_LOST, 0, words(1)}, {unix.PERF_RECORD_LOST_SAMPLES, 0, nil}} {
		_, err := parseLost(r)
		assert.ErrorIs(t, err, errRing)
	}
}

func TestRingSize(t *testing.T) {
	for rings, want := range map[int]int{
		0: 512 << 10, 1: 512 << 10, 64: 512 << 10, 65: 256 << 10, 512: 64 << 10, 8192: 64 << 10,
	} {
		assert.Equal(t, want, ringSize(rings), "%d rings", rings)
	}
}
