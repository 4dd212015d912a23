package linux

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cpuset"
)

// A mask of commonWords covers 1024 CPUs, like glibc's cpu_set_t, and is on the stack. The kernel refuses to fill a
// mask smaller than its own (kernel/sched/syscalls.c, sys_sched_getaffinity); then a mask of mostWords is needed.
const (
	commonWords = 1024 / 64
	mostWords   = (cpuset.Max + 1) / 64
)

// GetAffinity returns the CPUs that a thread may run on (sched_getaffinity(2)); TID 0 is the calling thread.
func GetAffinity(tid int) (cpuset.Set, error) {
	var common [commonWords]uint64
	words := common[:]
	errno := readMask(tid, words)
	if errno == unix.EINVAL {
		words = make([]uint64, mostWords)
		errno = readMask(tid, words)
	}
	if errno != 0 {
		return cpuset.Set{}, threadError(tid, "read the affinity", errno, "")
	}
	return cpuset.FromWords(words), nil
}

// SetAffinity lets a thread run on these CPUs only (sched_setaffinity(2)); TID 0 is the calling thread. The kernel
// silently drops CPUs outside the thread's cpuset: read the result back with HasAffinity or GetAffinity. It allocates
// nothing for CPUs below 1024.
func SetAffinity(tid int, set cpuset.Set) error {
	var common [commonWords]uint64
	words := common[:]
	if !fillMask(&common, set) {
		words = set.Words(0)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(tid), uintptr(len(words)*8),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))))
	remedy := ""
	switch errno {
	case 0:
		return nil
	case unix.EINVAL:
		remedy = "none of these CPUs is online and in the thread's cpuset (see Cpus_allowed_list in /proc/self/status)"
	case unix.EPERM:
		remedy = remedyOfOthers(tid)
	}
	return threadError(tid, fmt.Sprintf("set the affinity to CPUs %v", set), errno, remedy)
}

// HasAffinity reports whether a thread may run on exactly these CPUs: the read-back of SetAffinity. It allocates
// nothing on machines of up to 1024 CPUs.
func HasAffinity(tid int, set cpuset.Set) (bool, error) {
	var common, asked [commonWords]uint64
	errno := readMask(tid, common[:])
	if errno == unix.EINVAL {
		is, err := GetAffinity(tid)
		return err == nil && is.Equal(set), err
	}
	if errno != 0 {
		return false, threadError(tid, "read the affinity", errno, "")
	}
	return fillMask(&asked, set) && common == asked, nil
}

// fillMask writes a set into a zero mask, Set.Words without the allocation. It returns false if the mask is too small.
func fillMask(mask *[commonWords]uint64, set cpuset.Set) bool {
	if set.Last() >= len(mask)*64 {
		return false
	}
	for cpu := range set.All() {
		mask[cpu/64] |= 1 << (cpu % 64)
	}
	return true
}

// VisitCPUs pins the calling thread to each of the CPUs in turn, calls visit there, and restores the thread's mask. It
// stops at the first error. A thread whose mask cannot be restored stays locked to its goroutine, and ends with it.
func VisitCPUs(cpus []int, visit func(cpu int) error) error {
	runtime.LockOSThread()
	before, err := GetAffinity(0)
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	for _, cpu := range cpus {
		if err = SetAffinity(0, cpuset.Of(cpu)); err == nil {
			err = visit(cpu)
		}
		if err != nil {
			break
		}
	}
	if restoreErr := SetAffinity(0, before); restoreErr != nil {
		return errors.Join(err, restoreErr)
	}
	runtime.UnlockOSThread()
	return err
}

// readMask fills words with a thread's mask. The kernel writes only its own size, so words must be zero.
func readMask(tid int, words []uint64) syscall.Errno {
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(tid), uintptr(len(words)*8),
		uintptr(unsafe.Pointer(unsafe.SliceData(words))))
	return errno
}

// remedyOfOthers returns the remedy for EPERM on a thread of another user; "" for a thread of this process, for which
// the kernel requires no privilege (sched_setaffinity(2), setpriority(2)).
func remedyOfOthers(tid int) string {
	if tid == 0 || exists("/proc/self/task/"+strconv.Itoa(tid)) {
		return ""
	}
	return "the thread belongs to another user: that needs CAP_SYS_NICE"
}

// threadError returns the error of a call about one thread.
func threadError(tid int, op string, errno syscall.Errno, remedy string) error {
	if tid != 0 {
		op = fmt.Sprintf("%s of thread %d", op, tid)
	}
	return &Error{Op: op, Err: errno, Remedy: remedy}
}
