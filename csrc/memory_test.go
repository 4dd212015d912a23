package csrc_test

import (
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
)

// aligned returns words doubles at a page, all of one value, in memory that is not Go's.
func aligned(t *testing.T, words int, value float64) []float64 {
	bytes, err := syscall.Mmap(-1, 0, 8*words, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(bytes)) })
	all := unsafe.Slice((*float64)(unsafe.Pointer(&bytes[0])), words)
	for i := range all {
		all[i] = value
	}
	return all
}

// Each operation makes what its name says of every word of its slice, and touches no other, with any number of lines and pause.
func TestMemory(t *testing.T) {
	assert.Contains(t, []string{"avx512", "avx2", "sse2", "neon"}, csrc.MemoryKernel())
	want := map[string]float64{"read": 2, "write": 7, "copy": 3, "triad": 3 + 7*5}
	for op, of := range csrc.MemoryOps {
		for _, lines := range []int{1, 3, 17, 1024, 3000} {
			for _, nontemporal := range []bool{false, true} {
				for _, pause := range []uint64{0, 2} {
					words := lines * csrc.MemoryLine / 8
					a, b, c := aligned(t, words+8, 2), aligned(t, words, 3), aligned(t, words, 5)
					args := csrc.MemoryArgs{
						Op: op, Slices: [3]unsafe.Pointer{unsafe.Pointer(&a[0]), unsafe.Pointer(&b[0]), unsafe.Pointer(&c[0])},
						Bytes: uint64(words) * 8, Factor: 7, Nontemporal: nontemporal, For: 1, Pause: pause,
					}
					r, err := csrc.Memory(args)
					require.NoError(t, err)
					assert.Equal(t, min(uint64(words)*8, 64<<10)*uint64(of.Arrays), r.Bytes, "the time is over after the first piece")
					args.For = time.Duration(lines) * time.Microsecond
					r, err = csrc.Memory(args)
					require.NoError(t, err)
					assert.Greater(t, r.End, r.Start)
					if of.Name == "read" {
						assert.Equal(t, 2*float64(r.Bytes/8), r.Sum)
					}
					if r.Bytes < uint64(words*8*of.Arrays) {
						continue // the time was over before the end of the slice
					}
					for i, v := range a[:words] {
						require.Equal(t, want[of.Name], v, "%s, word %d of %d", of.Name, i, words)
					}
					for _, v := range a[words:] {
						require.Equal(t, 2.0, v, "beyond the slice")
					}
				}
			}
		}
	}
}

func TestMemoryRefuses(t *testing.T) {
	a := aligned(t, 16, 1)
	whole := csrc.MemoryArgs{Slices: [3]unsafe.Pointer{unsafe.Pointer(&a[0])}, Bytes: 128, For: time.Nanosecond}
	_, err := csrc.Memory(whole)
	require.NoError(t, err)
	for name, change := range map[string]func(*csrc.MemoryArgs){
		"no slice":      func(m *csrc.MemoryArgs) { m.Slices[0] = nil },
		"odd address":   func(m *csrc.MemoryArgs) { m.Slices[0] = unsafe.Pointer(&a[1]) },
		"half a line":   func(m *csrc.MemoryArgs) { m.Bytes = 96 },
		"nothing":       func(m *csrc.MemoryArgs) { m.Bytes = 0 },
		"no operation":  func(m *csrc.MemoryArgs) { m.Op = len(csrc.MemoryOps) },
		"no source":     func(m *csrc.MemoryArgs) { m.Op = 2 },
		"negative time": func(m *csrc.MemoryArgs) { m.For = -1 },
	} {
		args := whole
		change(&args)
		_, err := csrc.Memory(args)
		assert.Error(t, err, name)
	}
}
