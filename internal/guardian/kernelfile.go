package guardian

import (
	"encoding/json"
	"os"
	"slices"

	"gorun/internal/linux"
)

// KernelFile is the right to set the number in a file of the kernel, such as a sysctl or a file of debugfs, and the
// duty to put it back. One process has it at a time.
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

func (s kernelFileState) ours(path string) (bool, error) {
	is, err := linux.ReadKernelFile(path)
	return slices.Contains(s.Set, is), err
}

func (s kernelFileState) undo(path string) error { return linux.SetKernelFile(path, s.Before) }

// Hold takes a setting of the kernel, such as linux.NUMABalancingSysctl, for this process; it changes nothing yet. The
// guardian keeps the lock as well, so that nobody takes the setting before it is put back.
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

// Before returns the value that Restore puts back.
func (s *KernelFile) Before() int { return s.state.Before }

// Set sets the value and reads it back. A value that is there already needs neither a guardian nor a privilege.
func (s *KernelFile) Set(value int) error {
	is, err := linux.ReadKernelFile(s.path)
	if err != nil || is == value {
		return err
	}
	if value != s.state.Before && !slices.Contains(s.state.Set, value) {
		if err := linux.MaySetKernelFile(s.path, value); err != nil {
			return err
		}
		if err := s.guard(append(slices.Clone(s.state.Set), value)); err != nil {
			return err
		}
	}
	return linux.SetKernelFile(s.path, value)
}

// guard has the setting put back if it is one of these values.
func (s *KernelFile) guard(values []int) error {
	next := kernelFileState{Set: values, Before: s.state.Before}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := s.guardian.Add(Step{Kind: "kernel-file", Name: s.path, State: text}, s.lock); err != nil {
		return err
	}
	s.state = next
	return nil
}

// Restore puts the value back that was there before, unless somebody else has set another one meanwhile, and lets go of
// the setting. A second call does nothing.
func (s *KernelFile) Restore() error {
	if s.lock == nil {
		return nil
	}
	err := s.guardian.Undo("kernel-file", s.path)
	s.lock.Close()
	s.lock = nil
	return err
}
