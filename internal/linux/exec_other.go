//go:build !linux

package linux

import "syscall"

// AdoptOrphans needs Linux.
func AdoptOrphans() error { return unsupported("adopt orphans") }

// Descendants needs Linux.
func Descendants() ([]int, error) { return nil, unsupported("list the processes") }

// InheritedFiles needs Linux.
func InheritedFiles() ([]int, error) { return nil, unsupported("list the open files") }

// Terminal needs Linux.
func Terminal() (has, foreground bool) { return false, false }

// DieWithParent needs Linux.
func DieWithParent() *syscall.SysProcAttr { return nil }

// NextChildStop returns none: only Linux reports stops.
func NextChildStop() (pid int, stopped, ok bool) { return 0, false, false }

// ChildEnded needs Linux, and returns false.
func ChildEnded(int) bool { return false }

// HasStoppedDescendant needs Linux.
func HasStoppedDescendant() (bool, error) { return false, unsupported("list the processes") }

// AwaitEnd needs Linux.
func AwaitEnd(int) error { return unsupported("wait for a child") }

// AwaitEnded needs Linux.
func AwaitEnded() (int, error) { return 0, unsupported("wait for a child") }
