package guardian

import (
	"encoding/json"
	"os"
	"slices"

	"gorun/internal/linux"
)

// Sysctl is the right to set a setting of the kernel, which one process has at a time, and the duty to put it back.
type Sysctl struct {
	guardian *Guardian
	path     string
	lock     *os.File
	state    sysctlState
}

// sysctlState is the state of a step of kind "sysctl", whose name is the path.
type sysctlState struct {
	Set    []int `json:"set"` // the values that this process has set, or is about to set
	Before int   `json:"before"`
}

func (s sysctlState) ours(path string) (bool, error) {
	is, err := linux.ReadSysctl(path)
	return slices.Contains(s.Set, is), err
}

func (s sysctlState) undo(path string) error { return linux.SetSysctl(path, s.Before) }

// Hold takes a setting of the kernel, such as linux.NUMABalancingSysctl, for this process; it changes nothing yet. The
// guardian keeps the lock as well, so that nobody takes the setting before it is put back.
func (g *Guardian) Hold(path string) (*Sysctl, error) {
	lock, err := linux.LockSysctl(path)
	if err != nil {
		return nil, err
	}
	before, err := linux.ReadSysctl(path)
	if err != nil {
		lock.Close()
		return nil, err
	}
	return &Sysctl{guardian: g, path: path, lock: lock, state: sysctlState{Before: before}}, nil
}

// Before returns the value that Restore puts back.
func (s *Sysctl) Before() int { return s.state.Before }

// Set sets the value and reads it back. A value that is there already needs neither a guardian nor a privilege.
func (s *Sysctl) Set(value int) error {
	is, err := linux.ReadSysctl(s.path)
	if err != nil || is == value {
		return err
	}
	if value != s.state.Before && !slices.Contains(s.state.Set, value) {
		if err := linux.MaySetSysctl(s.path, value); err != nil {
			return err
		}
		if err := s.guard(append(slices.Clone(s.state.Set), value)); err != nil {
			return err
		}
	}
	return linux.SetSysctl(s.path, value)
}

// guard has the setting put back if it is one of these values.
func (s *Sysctl) guard(values []int) error {
	next := sysctlState{Set: values, Before: s.state.Before}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := s.guardian.Add(Step{Kind: "sysctl", Name: s.path, State: text}, s.lock); err != nil {
		return err
	}
	s.state = next
	return nil
}

// Restore puts the value back that was there before, unless somebody else has set another one meanwhile, and lets go of
// the setting. A second call does nothing.
func (s *Sysctl) Restore() error {
	if s.lock == nil {
		return nil
	}
	err := s.guardian.Undo("sysctl", s.path)
	s.lock.Close()
	s.lock = nil
	return err
}
