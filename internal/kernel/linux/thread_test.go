package linux

import (
	"io/fs"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cpuset"
)

// ownThread locks the test's goroutine to its thread, which ends with the test and takes its settings along. (The main
// thread cannot end, so its mask is restored.)
func ownThread(t *testing.T) (allowed cpuset.Set) {
	t.Helper()
	runtime.LockOSThread()
	allowed, err := GetAffinity(0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, SetAffinity(0, allowed)) })
	return allowed
}

// otherThread starts a thread that ends with the test.
func otherThread(t *testing.T) (tid int) {
	t.Helper()
	tids, end := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		tids <- Gettid()
		<-end
	}()
	t.Cleanup(func() { close(end) })
	return <-tids
}

// missingTID is above every TID that the kernel can give out (include/linux/threads.h, PID_MAX_LIMIT).
const missingTID = 4<<20 + 1

func TestTasksHasEveryThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	other := otherThread(t)
	tids, err := Tasks()
	require.NoError(t, err)
	assert.Contains(t, tids, os.Getpid(), "the main thread")
	assert.Contains(t, tids, Gettid(), "this thread")
	assert.Contains(t, tids, other)
	assert.NotEqual(t, Gettid(), other)
	assert.True(t, slices.IsSorted(tids))
}

func TestHotPathAllocatesNothing(t *testing.T) {
	allowed := ownThread(t)
	one := cpuset.Of(allowed.First())
	require.NoError(t, SetNice(0, 1)) // so that every user may set it again
	Getcpu()
	for name, call := range map[string]func(){
		"Getcpu":       func() { Getcpu() },
		"Gettid":       func() { Gettid() },
		"SetAffinity":  func() { _ = SetAffinity(0, one) },
		"HasAffinity":  func() { _, _ = HasAffinity(0, one) },
		"SetNice":      func() { _ = SetNice(0, 1) },
		"GetNice":      func() { _, _ = GetNice(0) },
		"SetSched":     func() { _ = SetSched(0, Sched{}) },
		"GetSched":     func() { _, _ = GetSched(0) },
		"ProcessUsage": func() { _, _ = ProcessUsage() },
	} {
		assert.Zero(t, testing.AllocsPerRun(100, call), name)
	}
}

func TestVisitCPUs(t *testing.T) {
	allowed := ownThread(t)
	var visited []int
	require.NoError(t, VisitCPUs(allowed.List(), func(cpu int) error {
		assert.Equal(t, cpu, Getcpu())
		assert.Equal(t, cpu, getcpuCall())
		visited = append(visited, cpu)
		return nil
	}))
	assert.Equal(t, allowed.List(), visited)

	err := VisitCPUs([]int{allowed.First(), allowed.First()}, func(int) error { return os.ErrClosed })
	assert.ErrorIs(t, err, os.ErrClosed)
	assert.ErrorIs(t, VisitCPUs([]int{cpuset.Max}, nil), unix.EINVAL)

	is, err := GetAffinity(0)
	require.NoError(t, err)
	assert.Equal(t, allowed, is, "the mask is restored, also after an error")
}

// The kernel's mask contains all CPUs that the thread may run on, and setting it changes nothing.
func TestAllowedCPUs(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now, err := GetAffinity(0)
	require.NoError(t, err)
	allowed, err := AllowedCPUs(Gettid())
	require.NoError(t, err)
	assert.True(t, now.Minus(allowed).Empty(), "%v is not within %v", now, allowed)
	require.NoError(t, SetAffinity(0, allowed))
	after, err := GetAffinity(0)
	require.NoError(t, err)
	assert.Equal(t, now.String(), after.String())

	_, err = AllowedCPUs(1 << 30)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
