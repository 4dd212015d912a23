package guardian

import (
	"os"
	"slices"

	"gorun/internal/linux"
)

// KernelFile gives one process at a time the right to set the number in a kernel file, such as a sysctl or a file of
// debugfs, and makes sure that the number is restored.
type KernelFile struct {
	guardian *Guardian
	path     string
	lock     *os.File
	state    kernelFileState
}

// kernelFileState is the state of a step of kind "kernel-file", whose name is the path.
type kernelFileState struct {
	Set    []int `json:"set"` // the values that this process has set, or is about to set
	Before int   `json:"before"`
}

const kernelFileKind = "kernel-file"

// undo restores the value, unless another program has set one since.
func (s kernelFileState) undo(path string) error {
	is, err := linux.ReadKernelFile(path)
	if err != nil || !slices.Contains(s.Set, is) {
		return err
	}
	return linux.SetKernelFile(path, s.Before)
}

// Hold reserves a setting of the kernel, such as linux.NUMABalancingSysctl, for this process; it changes nothing yet.
// The guardian also keeps the lock, so that no other process reserves the setting before it is restored.
func (g *Guardian) Hold(path string) (*KernelFile, error) {
	lock, err := linux.LockKernelFile(path)
	if err != nil {
		return nil, err
	}
	before, err := linux.ReadKernelFile(path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &KernelFile{guardian: g, path: path, lock: lock, state: kernelFileState{Before: before}}, nil
}

// Before returns the value that Restore restores.
func (s *KernelFile) Before() int { return s.state.Before }

// Set sets the value and reads it back. If the file already has the value, this needs neither a guardian nor a
// privilege.
func (s *KernelFile) Set(value int) error {
	is, err := linux.ReadKernelFile(s.path)
	if err != nil || is == value {
		return err
	}
	if value != s.state.Before && !slices.Contains(s.state.Set, value) {
		if err := linux.MaySetKernelFile(s.path, value); err != nil {
			return err
		}
		next := kernelFileState{Set: append(slices.Clone(s.state.Set), value), Before: s.state.Before}
		if err := s.guardian.add(kernelFileKind, s.path, next, s.lock); err != nil {
			return err
		}
		s.state = next
	}
	return linux.SetKernelFile(s.path, value)
}

// Restore restores the previous value, unless another program has changed it since, and releases the setting. A second
// call does nothing.
func (s *KernelFile) Restore() error {
	if s.lock == nil {
		return nil
	}
	err := s.guardian.undo(kernelFileKind, s.path)
	s.lock.Close()
	s.lock = nil
	return err
}
