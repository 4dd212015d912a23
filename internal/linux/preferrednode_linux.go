package linux

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The prctl(2) of the kernel patch "sched/numa: Adds simple prctl for setting task's preferred node affinity" (Chris
// Hyser, 2023-12-16). It was not merged: a kernel has it only where somebody applied the patch.
const (
	prPreferredNID    = 101
	prPreferredNIDGet = 0
	prPreferredNIDSet = 1
)

// HavePreferredNode tells whether the kernel lets a thread's preferred node be set: nil, errors.ErrUnsupported, or
// another error where that cannot be told.
func HavePreferredNode() error {
	_, err := PreferredNode(0)
	return err
}

// PreferredNode returns the node that a thread was told to prefer; -1: none. TID 0 is the calling thread. The node that
// the kernel's own balancing prefers is another number, which it does not give out here.
func PreferredNode(tid int) (int, error) {
	const op = "read the preferred node"
	const untouched = -2 // what the kernel never writes
	node := new(int32)
	*node = untouched
	errno := preferredNID(prPreferredNIDGet, 0, tid, unsafe.Pointer(node))
	switch {
	case errno == unix.EINVAL:
		err := fmt.Errorf("this kernel lacks prctl(%d), a patch that was never merged: %w",
			prPreferredNID, errors.ErrUnsupported)
		return -1, &Error{Op: op, Err: err}
	case errno != 0:
		return -1, threadError(tid, op, errno, preferredNodeRemedy(errno))
	case *node < -1 || *node >= maxNodes:
		err := fmt.Errorf("prctl(%d) means something else on this kernel: %w", prPreferredNID, errors.ErrUnsupported)
		return -1, &Error{Op: op, Err: err}
	}
	return int(*node), nil
}

// SetPreferredNode tells the scheduler which node a thread prefers; -1 takes it back. TID 0 is the calling thread. It
// works only while kernel.numa_balancing is on.
func SetPreferredNode(tid, node int) error {
	if _, err := PreferredNode(tid); err != nil {
		return err // so that EINVAL is about the node, and no other prctl is made by mistake
	}
	errno := preferredNID(prPreferredNIDSet, node, tid, nil)
	if errno == 0 {
		return nil
	}
	remedy := preferredNodeRemedy(errno)
	if errno == unix.EINVAL {
		remedy = "the machine has no such node"
	}
	return threadError(tid, fmt.Sprintf("set the preferred node to %d", node), errno, remedy)
}

func preferredNID(command, node, tid int, value unsafe.Pointer) syscall.Errno {
	_, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, prPreferredNID, uintptr(command), uintptr(node), uintptr(tid),
		uintptr(value), 0)
	runtime.KeepAlive(value)
	return errno
}

func preferredNodeRemedy(errno syscall.Errno) string {
	if errno == unix.EPERM {
		return "the thread belongs to another user: that needs CAP_SYS_PTRACE"
	}
	return ""
}
