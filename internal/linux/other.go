//go:build !linux

package linux

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"gorun/internal/cpuset"
)

func unsupported(op string) error {
	return &Error{Op: op, Err: fmt.Errorf("%s has no such call: %w", runtime.GOOS, errors.ErrUnsupported)}
}

// Gettid returns 0: only Linux tells threads apart.
func Gettid() int { return 0 }

// Getcpu returns -1: only Linux tells the CPU.
func Getcpu() int { return -1 }

// Tasks needs Linux.
func Tasks() ([]int, error) { return nil, unsupported("list the threads of this process") }

// AllowedCPUs needs Linux.
func AllowedCPUs(int) (cpuset.Set, error) { return cpuset.Set{}, unsupported("read the affinity") }

// GetAffinity needs Linux.
func GetAffinity(int) (cpuset.Set, error) { return cpuset.Set{}, unsupported("read the affinity") }

// SetAffinity needs Linux.
func SetAffinity(int, cpuset.Set) error { return unsupported("set the affinity") }

// HasAffinity needs Linux.
func HasAffinity(int, cpuset.Set) (bool, error) { return false, unsupported("read the affinity") }

// VisitCPUs needs Linux.
func VisitCPUs([]int, func(int) error) error { return unsupported("set the affinity") }

// GetNice needs Linux, where each thread has its own nice value.
func GetNice(int) (int, error) { return 0, unsupported("read nice") }

// SetNice needs Linux, where each thread has its own nice value.
func SetNice(int, int) error { return unsupported("set nice") }

// GetSched needs Linux.
func GetSched(int) (Sched, error) { return Sched{}, unsupported("read the policy") }

// SetSched needs Linux.
func SetSched(int, Sched) error { return unsupported("set the policy") }

// ProcessUsage needs Linux.
func ProcessUsage() (Usage, error) { return Usage{}, unsupported("read the usage of this process") }

// ChildAttr starts a child in a process group of its own; only Linux ends it with its parent.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
