package guardian

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
)

// KernelFile gives one process at a time the right to set the number in a kernel file, such as a sysctl or a file of
// debugfs, and makes sure that the number is restored.
type KernelFile struct {
	guardian *Guardian
	path     string
	before   int
	state    *subject.State // nil: this process may not set the number
}

// Hold reserves a setting of the kernel, such as linux.NUMABalancingSysctl, for this process; it changes nothing yet. A process that may
// not set it reserves nothing: so no ordinary user keeps root from it.
func (g *Guardian) Hold(path string) (*KernelFile, error) {
	k := &KernelFile{guardian: g, path: path}
	if linux.MaySetKernelFile(path, 0) == nil {
		k.state = subject.New(subject.Who{}, path)
		k.state.Files = []subject.File{{Path: path}}
		if err := k.state.Keep(); err != nil {
			return nil, fmt.Errorf("take %s: %w", path, err)
		}
	}
	var err error
	if k.before, err = linux.ReadKernelFile(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("this kernel has no such setting: %w", errors.ErrUnsupported)
		}
		return nil, errors.Join(fmt.Errorf("take %s: %w", path, err), k.Restore())
	}
	if k.state != nil {
		k.state.Files[0].Before = strconv.Itoa(k.before)
	}
	return k, nil
}

// Before returns the value that Restore restores.
func (k *KernelFile) Before() int { return k.before }

// Set sets the value and reads it back. If the file already has the value, this needs neither a guardian nor a
// privilege.
func (k *KernelFile) Set(value int) error {
	is, err := linux.ReadKernelFile(k.path)
	if err != nil || is == value {
		return err
	}
	if k.state != nil {
		of := &k.state.Files[0]
		if text := strconv.Itoa(value); !slices.Contains(append(of.Given, of.Before), text) {
			of.Given = append(of.Given, text)
			if err := k.guardian.HoldState(k.state); err != nil {
				return err
			}
		}
	}
	return linux.SetKernelFile(k.path, value)
}

// Restore restores the previous value, unless another program has changed it since, and releases the setting. A second
// call does nothing.
func (k *KernelFile) Restore() error {
	if k.state == nil {
		return nil
	}
	_, err := k.guardian.PutBack(k.state)
	k.state = nil
	return err
}
