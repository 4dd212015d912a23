package guardian

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

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

// maskBytes is the size at which a step is full. One more mask still fits into a message: the two of a thread on 8,192
// CPUs take at most 21 KB each.
const maskBytes = maxBytes / 4

// masksState is the state of a step of kind "masks", whose name is any.
type masksState struct {
	Since uint64 `json:"since"` // clock ticks after boot: threads that started later may have inherited a mask
	Masks []Mask `json:"masks"`
}

// HoldMasks makes the guardian restore masks that the caller is about to set. Threads that started after since, in
// clock ticks after boot, and inherited such a mask also get the previous one. It returns the names of the steps, each
// of which keeps the files.
func (g *Guardian) HoldMasks(name string, since uint64, masks []Mask, keep ...*os.File) (names []string, err error) {
	for len(masks) > 0 {
		n, size := 0, 0
		for n < len(masks) && size < maskBytes {
			text, err := json.Marshal(masks[n])
			if err != nil {
				return names, err
			}
			n, size = n+1, size+len(text)
		}
		part := fmt.Sprintf("%s, part %d", name, len(g.steps)+1)
		if err := g.add(masksKind, part, masksState{since, masks[:n]}, keep...); err != nil {
			return names, err
		}
		names, masks = append(names, part), masks[n:]
	}
	return names, nil
}

// UndoMasks restores the masks of all these steps. It searches once for inherited masks.
func (g *Guardian) UndoMasks(names []string) error {
	var all masksState
	for _, name := range names {
		i := slices.IndexFunc(g.steps, step{Kind: masksKind, Name: name}.same)
		if i < 0 {
			continue
		}
		var part masksState
		if err := json.Unmarshal(g.steps[i].State, &part); err != nil {
			return err
		}
		all = masksState{part.Since, append(all.Masks, part.Masks...)}
	}
	err := all.undo("")
	for _, name := range names {
		g.remove(masksKind, name)
	}
	return err
}

const masksKind = "masks"

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
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
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
