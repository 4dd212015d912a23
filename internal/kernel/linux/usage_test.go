package linux

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestPeakRSS(t *testing.T) {
	status := "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"
	got, err := PeakRSS(fstest.MapFS{"proc/self/status": {Data: []byte(status)}})
	assert.NoError(t, err)
	assert.EqualValues(t, 2<<20, got)
}

func TestProcessUsageGrows(t *testing.T) {
	const pages = 256
	before, err := ProcessUsage()
	require.NoError(t, err)
	memory, err := unix.Mmap(-1, 0, pages*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer func() { assert.NoError(t, unix.Munmap(memory)) }()
	_ = unix.Madvise(memory, unix.MADV_NOHUGEPAGE) // the test counts one fault per base page
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	require.NoError(t, unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)) // the thread itself sleeps, unlike time.Sleep's
	after, err := ProcessUsage()
	require.NoError(t, err)
	used := after.Sub(before)
	assert.GreaterOrEqual(t, used.MinorFaults, uint64(pages))
	assert.NotZero(t, used.VoluntarySwitches, "it slept")

	for after.UserSeconds+after.SystemSeconds == before.UserSeconds+before.SystemSeconds {
		after, err = ProcessUsage()
		require.NoError(t, err)
	}
}

func TestChildrenUsageGrows(t *testing.T) {
	before, err := ChildrenUsage()
	require.NoError(t, err)
	child := exec.Command("/proc/self/exe", "-test.run=^$")
	require.NoError(t, child.Run())
	after, err := ChildrenUsage()
	require.NoError(t, err)
	used := after.Sub(before)
	want := child.ProcessState.SysUsage().(*syscall.Rusage)
	assert.EqualValues(t, want.Minflt, used.MinorFaults)
	assert.Positive(t, used.UserSeconds+used.SystemSeconds)
}
