package perf

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The first write to each page of new memory is a fault at its address, and the second is not.
func TestFaults(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	faults, err := OpenFaults()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip("needs perf events of page faults")
	}
	require.NoError(t, err)
	const pages = 20
	page := os.Getpagesize()
	memory, err := unix.Mmap(-1, 0, pages*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(memory)) }()
	require.NoError(t, unix.Madvise(memory, unix.MADV_NOHUGEPAGE))
	begin := uint64(uintptr(unsafe.Pointer(&memory[0])))
	seen := func() map[uint64]int {
		found, lost, err := faults.Read()
		require.NoError(t, err)
		assert.Zero(t, lost)
		at := map[uint64]int{}
		for _, address := range found {
			if begin <= address && address < begin+uint64(len(memory)) {
				at[(address-begin)/uint64(page)]++
			}
		}
		return at
	}
	for round, want := range []int{pages, 0} {
		for i := range pages {
			memory[i*page+round] = 1
		}
		at := seen()
		assert.Len(t, at, want)
		for _, n := range at {
			assert.Equal(t, 1, n)
		}
	}
	require.NoError(t, faults.Close())
	require.NoError(t, faults.Close())
	_, _, err = faults.Read()
	assert.Error(t, err)
}
