package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/sysfs"
)

// The prctl(2) of the kernel patch "sched/numa: Adds simple prctl for setting task's preferred node affinity" (Chris
// Hyser). It was not merged: only a patched kernel has it, in one of two layouts.
const (
	preferredNodeGet = 0
	preferredNodeSet = 1

	// preferredNodeField is the line that the patch adds to /proc/PID/sched.
	preferredNodeField = "numa_preferred_nid_force"
)

// preferredNodeLayout is the option's number and the order of its arguments.
type preferredNodeLayout struct {
	option    uintptr
	nodeFirst bool // (command, node, thread, address), else (command, thread, node, address)
}

var preferredNodeLayouts = [...]preferredNodeLayout{
	{option: 101, nodeFirst: true}, // of 2023-12-16
	{option: 79},                   // version 3, of 2025-06-22
}

// HavePreferredNode tests whether a thread's preferred node can be set. It returns nil, errors.ErrUnsupported, or
// another error if that is unknown.
func HavePreferredNode() error {
	_, err := PreferredNode(0)
	return err
}

// PreferredNode returns the node set by SetPreferredNode for a thread; -1: none. TID 0 is the calling thread. The node
// that NUMA balancing itself prefers is a different number, which this call does not return.
func PreferredNode(tid int) (int, error) {
	const op = "read the preferred node"
	// Newer kernels may use the options for something else, which may have side effects: no call is made unless
	// /proc/PID/sched has the field, and a layout is used only if it returns the same number.
	listed, err := listedPreferredNode(os.DirFS("/"), tid)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, threadError(tid, op, unix.ESRCH, "")
	}
	if err != nil {
		return -1, &Error{Op: op, Err: err}
	}
	var refused syscall.Errno
	for _, layout := range preferredNodeLayouts {
		switch node, errno := layout.get(tid); {
		case errno == 0 && node == listed:
			return node, nil
		case errno != 0 && errno != unix.EINVAL:
			refused = errno
		}
	}
	if refused != 0 {
		return -1, threadError(tid, op, refused, preferredNodeRemedy(refused))
	}
	return -1, &Error{Op: op, Err: fmt.Errorf("this kernel has %s, and no prctl that answers %d: %w",
		preferredNodeField, listed, errors.ErrUnsupported)}
}

// SetPreferredNode sets the node that the scheduler prefers for a thread; -1 unsets it. TID 0 is the calling thread.
// While kernel.numa_balancing is off the kernel accepts the node but ignores it.
func SetPreferredNode(tid, node int) error {
	before, err := PreferredNode(tid)
	if err != nil {
		return err // so that EINVAL can only be about the node, and no unrelated prctl is called
	}
	var errno syscall.Errno
	for _, layout := range preferredNodeLayouts {
		if is, failed := layout.get(tid); failed != 0 || is != before {
			continue
		}
		if errno = layout.set(tid, node); errno == 0 {
			return nil
		}
		break
	}
	remedy := preferredNodeRemedy(errno)
	if errno == unix.EINVAL {
		remedy = "the machine has no such node"
	}
	return threadError(tid, fmt.Sprintf("set the preferred node to %d", node), errno, remedy)
}

// listedPreferredNode reads the thread's preferred node from /proc/PID/sched (kernel/sched/debug.c, sched_show_numa,
// with the patch), which needs a kernel with CONFIG_SCHED_DEBUG.
func listedPreferredNode(fsys fs.FS, tid int) (int, error) {
	name := "proc/thread-self/sched"
	if tid != 0 {
		name = fmt.Sprintf("proc/%d/sched", tid)
	}
	text, err := sysfs.ReadString(fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && tid == 0:
		return -1, fmt.Errorf("without /%s (CONFIG_SCHED_DEBUG) a preferred node cannot be known: %w",
			name, errors.ErrUnsupported)
	case err != nil:
		return -1, err
	}
	value, patched := statusField(text, preferredNodeField)
	if !patched {
		return -1, fmt.Errorf("this kernel has no preferred node of a thread: the patch was never merged: %w",
			errors.ErrUnsupported)
	}
	node, err := strconv.Atoi(value)
	if err != nil {
		return -1, sysfs.Malformed(name, "%s: %.60q is not a number", preferredNodeField, value)
	}
	return node, nil
}

func (l preferredNodeLayout) get(tid int) (int, syscall.Errno) {
	const untouched = -2 // never written by the kernel
	node := new(int32)
	*node = untouched
	errno := l.call(preferredNodeGet, 0, tid, unsafe.Pointer(node))
	return int(*node), errno
}

func (l preferredNodeLayout) set(tid, node int) syscall.Errno {
	return l.call(preferredNodeSet, node, tid, nil)
}

func (l preferredNodeLayout) call(command, node, tid int, answer unsafe.Pointer) syscall.Errno {
	third, fourth := uintptr(tid), uintptr(node)
	if l.nodeFirst {
		third, fourth = fourth, third
	}
	_, _, errno := unix.RawSyscall6(unix.SYS_PRCTL, l.option, uintptr(command), third, fourth, uintptr(answer), 0)
	runtime.KeepAlive(answer)
	return errno
}

func preferredNodeRemedy(errno syscall.Errno) string {
	if errno == unix.EPERM {
		return "the thread belongs to another user: that needs CAP_SYS_PTRACE"
	}
	return ""
}
