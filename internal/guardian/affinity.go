package guardian

import (
	"errors"
	"os"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

// Mask is a thread whose mask of CPUs is changed, or is about to be.
type Mask struct {
	PID    int        `json:"pid"`
	TID    int        `json:"tid"`
	Start  uint64     `json:"start"` // of linux.Task: no other thread has the TID and this
	Before cpuset.Set `json:"before"`
	Set    cpuset.Set `json:"set"`
}

// masksState is the state of a step of kind "masks", whose name is any.
type masksState struct {
	Since uint64 `json:"since"` // clock ticks after boot: threads that started later may have inherited a mask
	Masks []Mask `json:"masks"`
}

const masksKind = "masks"

// HoldMasks makes the guardian restore masks that the caller is about to set, and keep the files. Threads that started after
// since, in clock ticks after boot, and inherited such a mask also get the previous one. A later call with the same name
// replaces the masks.
func (g *Guardian) HoldMasks(name string, since uint64, masks []Mask, keep ...*os.File) error {
	return g.add(masksKind, name, masksState{since, masks}, keep...)
}

// UndoMasks restores the masks of a step.
func (g *Guardian) UndoMasks(name string) error { return g.undo(masksKind, name) }

// undo restores each thread that still has the mask that was set, and each that inherited it.
func (s masksState) undo(string) error {
	var errs []error
	root := os.DirFS("/")
	known := map[int]Mask{} // by TID
	for _, m := range s.Masks {
		known[m.TID] = m
		errs = append(errs, m.putBack())
	}
	for more := true; more; {
		more = false
		err := linux.ProcessTasks(root, func(t linux.Task) {
			if t.Start <= s.Since || known[t.TID].Start == t.Start {
				return
			}
			for _, m := range known {
				if (m.PID == t.PID || m.PID == t.Parent) && m.Set.Equal(t.CPUs) {
					inherited := Mask{t.PID, t.TID, t.Start, m.Before, m.Set}
					known[t.TID], more = inherited, true // its own children are next
					errs = append(errs, inherited.putBack())
					return
				}
			}
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// putBack restores a thread's previous mask, unless the thread has ended or its mask has been changed since.
func (m Mask) putBack() error {
	t, err := linux.ReadTask(os.DirFS("/"), m.PID, m.TID)
	if linux.Gone(err) || err == nil && (t.Start != m.Start || !t.CPUs.Equal(m.Set)) {
		return nil
	}
	if err == nil {
		err = linux.SetAffinity(m.TID, m.Before)
	}
	if linux.Gone(err) {
		return nil
	}
	return err
}
