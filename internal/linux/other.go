//go:build !linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"gorun/internal/cpuset"
)

func unsupported(op string) error {
	return &Error{Op: op, Err: fmt.Errorf("%s has no such call: %w", runtime.GOOS, errors.ErrUnsupported)}
}

// Gettid returns 0: only Linux identifies threads.
func Gettid() int { return 0 }

// Getcpu returns -1: only Linux reports the CPU.
func Getcpu() int { return -1 }

// Tasks needs Linux.
func Tasks() ([]int, error) { return nil, unsupported("list the threads of this process") }

// TasksOf needs Linux.
func TasksOf(int) ([]int, error) { return nil, unsupported("list the threads of a process") }

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

// ThreadCPUTime returns 0: only Linux reports it.
func ThreadCPUTime() int64 { return 0 }

// ProcessUsage needs Linux.
func ProcessUsage() (Usage, error) { return Usage{}, unsupported("read the usage of this process") }

// ChildrenUsage needs Linux.
func ChildrenUsage() (Usage, error) { return Usage{}, unsupported("read the usage of children") }

// ChildAttr starts a child in a new process group; only Linux ends it with its parent.
func ChildAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// NewArea needs Linux.
func NewArea(AreaOptions) (*Area, error) { return nil, unsupported("map memory") }

// Touch needs Linux.
func (a *Area) Touch() error { return unsupported("touch memory") }

// Free needs Linux.
func (a *Area) Free() error { return unsupported("free memory") }

// Nodes needs Linux.
func (a *Area) Nodes() (map[int]int, error) { return nil, unsupported("read the nodes of pages") }

// PageNode needs Linux.
func PageNode(unsafe.Pointer) (int, error) { return -1, unsupported("read the node of a page") }

// SetPolicy needs Linux.
func (a *Area) SetPolicy(Mempolicy, cpuset.Set) error { return unsupported("set the policy of memory") }

// Policy needs Linux.
func (a *Area) Policy() (Mempolicy, cpuset.Set, error) {
	return 0, cpuset.Set{}, unsupported("read the policy of memory")
}

// SetHomeNode needs Linux.
func (a *Area) SetHomeNode(int) error { return unsupported("set the home node of memory") }

// HaveHomeNode needs Linux.
func HaveHomeNode() error { return unsupported("set the home node of memory") }

// SetMempolicy needs Linux.
func SetMempolicy(Mempolicy, cpuset.Set) error { return unsupported("set the thread's memory policy") }

// GetMempolicy needs Linux.
func GetMempolicy() (Mempolicy, cpuset.Set, error) {
	return 0, cpuset.Set{}, unsupported("read the thread's memory policy")
}

// HaveMempolicy needs Linux.
func HaveMempolicy(Mempolicy) error { return unsupported("set the thread's memory policy") }

// MemsAllowed needs Linux.
func MemsAllowed() (cpuset.Set, error) { return cpuset.Set{}, unsupported("read the allowed nodes") }

// HavePreferredNode needs Linux.
func HavePreferredNode() error { return unsupported("read the preferred node") }

// PreferredNode needs Linux.
func PreferredNode(int) (int, error) { return -1, unsupported("read the preferred node") }

// SetPreferredNode needs Linux.
func SetPreferredNode(int, int) error { return unsupported("set the preferred node") }

// LockKernelFile needs Linux.
func LockKernelFile(path string) (*os.File, error) { return nil, unsupported("take " + path) }

// ReadKernelFile needs Linux.
func ReadKernelFile(path string) (int, error) { return 0, unsupported("read " + path) }

// MaySetKernelFile needs Linux.
func MaySetKernelFile(path string, _ int) error { return unsupported("set " + path) }

// SetKernelFile needs Linux.
func SetKernelFile(path string, _ int) error { return unsupported("set " + path) }
