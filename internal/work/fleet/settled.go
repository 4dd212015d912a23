package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
)

// Settled is which visits earlier judgements have seen.
type Settled struct {
	Slot  float64         `json:"slot_seconds"`
	Until time.Time       `json:"until"` // slots that ended by then are settled
	IDs   map[string]bool `json:"visits"`
}

// ReadSettled reads what an earlier judgement wrote; nil if there is no such file.
func ReadSettled(ctx context.Context, files input.Opener, path string, slot time.Duration) (*Settled, error) {
	text, err := files.ReadFile(ctx, path, input.Document)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s Settled
	switch err := json.Unmarshal(text, &s); {
	case err != nil || s.IDs == nil || s.Until.IsZero():
		return nil, hint.With(errors.New("no earlier judgement wrote this file"), "name a file that does not exist, or one that --settled wrote")
	case s.Slot != slot.Seconds():
		return nil, hint.With(fmt.Errorf("it was written with slots of %v seconds", s.Slot), "give the same --slot, or another file")
	}
	return &s, nil
}

// Write writes it, for the next judgement.
func (s *Settled) Write(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

// id identifies a visit, wherever its file is.
func (v *visit) id() string {
	sum := sha256.Sum256([]byte(v.node + "\x00" + v.on.host.BootID + "\x00" + v.start.Format(time.RFC3339Nano)))
	return fmt.Sprintf("%x", sum[:8])
}

// late reports whether a slot was settled without a visit.
func (s *Settled) late(v *visit, slot time.Time) bool {
	return s != nil && slot.Before(s.Until) && !s.IDs[v.id()]
}

// settle remembers the visits of this judgement. One that was late stays late.
func (j *judge) settle() {
	now := &Settled{Slot: j.Slot.Seconds(), Until: j.Now.Truncate(j.Slot), IDs: map[string]bool{}}
	if j.Options.Settled != nil {
		maps.Copy(now.IDs, j.Options.Settled.IDs)
	}
	for i := range j.visits {
		if v := &j.visits[i]; !j.Options.Settled.late(v, j.slotOf(v)) {
			now.IDs[v.id()] = true
		}
	}
	j.doc.Settled = now
}
