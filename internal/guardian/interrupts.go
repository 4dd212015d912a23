package guardian

import (
	"errors"
	"os"
	"path/filepath"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

// Interrupt is an interrupt that is about to be sent to other CPUs.
type Interrupt struct {
	Path   string     `json:"path"` // of its smp_affinity_list (Documentation/core-api/irq/irq-affinity.rst)
	Before cpuset.Set `json:"before"`
	Set    cpuset.Set `json:"set"`
}

// interruptsState is the state of a step of kind "interrupts", whose name is any.
type interruptsState []Interrupt

const interruptsKind = "interrupts"

// HoldInterrupts makes the guardian restore the CPUs of interrupts that the caller is about to change.
func (g *Guardian) HoldInterrupts(name string, all []Interrupt) error {
	return g.add(interruptsKind, name, interruptsState(all))
}

// UndoInterrupts restores the interrupts of a step.
func (g *Guardian) UndoInterrupts(name string) error { return g.undo(interruptsKind, name) }

// undo restores each interrupt, unless its CPUs have been changed since, or it was freed.
func (s interruptsState) undo(string) error {
	var errs []error
	for _, i := range s {
		is, err := linux.ReadCPUList(i.Path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !is.Equal(i.Set) {
			continue
		}
		if err == nil {
			err = linux.SetCPUList(i.Path, i.Before)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Interrupts returns the interrupts below a directory such as /proc/irq that go to a CPU, and the other CPUs of each.
// Those without other CPUs are in only.
func Interrupts(dir string, cpu int) (all, only []Interrupt, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, "[0-9]*", "smp_affinity_list"))
	for _, path := range paths {
		is, err := linux.ReadCPUList(path)
		if err != nil || !is.Contains(cpu) {
			continue // one that was freed meanwhile
		}
		i := Interrupt{Path: path, Before: is, Set: is.Minus(cpuset.Of(cpu))}
		if i.Set.Empty() {
			only = append(only, i)
		} else {
			all = append(all, i)
		}
	}
	return all, only, err
}
