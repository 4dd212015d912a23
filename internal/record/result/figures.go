package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"gorun/internal/base/fastjson"
	"gorun/internal/base/packed"
)

// Figures holds an experiment's own figures of one sample: its typed struct, or JSON that was read, which is decoded on
// first use. Copies share their contents, and may be read concurrently.
type Figures struct{ held *held }

type held struct {
	json  bool                // the figures were read
	read  []byte              // compact JSON object; nil: typed has all of it
	typed atomic.Pointer[any] // the *F that was given, or to which JSON was last decoded; a nil *F if it did not fit
}

// FiguresOf returns an experiment's figures, which must not change afterwards. Their names are the JSON names of f's
// fields.
func FiguresOf[F any](f *F) Figures {
	var h held
	h.typed.Store(new(any(f)))
	return Figures{&h}
}

// Typed returns the figures of a sample in the type of its experiment; false if there are none, or they belong to
// another experiment. The caller must not change them.
func Typed[F any](s *Sample) (*F, bool) {
	h := s.Values.held
	if h == nil {
		return nil, false
	}
	if last := h.typed.Load(); last != nil {
		if f, ok := (*last).(*F); ok || !h.json {
			return f, f != nil
		}
	}
	f := new(F)
	if text, err := s.Values.MarshalJSON(); err != nil || fastjson.Unmarshal(text, f) != nil {
		f = nil
	}
	h.typed.Store(new(any(f)))
	return f, f != nil
}

// UnmarshalJSON keeps the figures as they were read.
func (f *Figures) UnmarshalJSON(text []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return err
	}
	switch read := compact.Bytes(); {
	case string(read) == "null" || string(read) == "{}":
		f.held = nil
	case read[0] != '{':
		return errors.New("the values of a sample are not a JSON object")
	default:
		f.held = &held{json: true, read: bytes.Clone(read)}
	}
	return nil
}

// MarshalJSON writes the figures, or "{}" if there are none.
func (f Figures) MarshalJSON() ([]byte, error) {
	switch {
	case f.held == nil:
		return []byte("{}"), nil
	case f.held.read != nil:
		return f.held.read, nil
	}
	return encode(*f.held.typed.Load())
}

// Pack encodes the figures with their type, if it is known, or the JSON that was read. It encodes both where the type does not have all of
// the JSON.
func (f *Figures) Pack(e *packed.Encoder) {
	var figures any
	if last := f.held.typed.Load(); last != nil && !reflect.ValueOf(*last).IsNil() {
		figures = *last
	}
	read := f.held.read
	if figures != nil && read != nil {
		if text, err := encode(figures); err == nil && bytes.Equal(text, read) {
			read = nil
		}
	}
	e.Bytes(read)
	e.Bool(f.held.json)
	e.Bool(figures != nil)
	if figures != nil {
		e.Any(figures)
	}
}

// Unpack decodes what Pack has encoded.
func (f *Figures) Unpack(d *packed.Decoder) {
	f.held = &held{}
	if read := d.Bytes(); len(read) > 0 {
		f.held.read = read
	}
	f.held.json = d.Bool()
	if d.Bool() {
		f.held.typed.Store(new(d.Any()))
	}
}

// encode does not escape "<", ">" and "&": the encoder of the enclosing value decides.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("figures of %T: %w", value, err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// Map returns the figures with their decoded JSON changed by a function. They are not decoded if their JSON has no escape and is
// plain: the function would not change them.
func (f Figures) Map(plain func(text string) bool, change func(decoded any) any) Figures {
	text, err := f.MarshalJSON()
	if err != nil || !bytes.Contains(text, []byte(`\`)) && plain(string(text)) {
		return f
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber() // no number is rounded
	var decoded any
	if dec.Decode(&decoded) != nil {
		return f
	}
	changed, err := encode(change(decoded))
	if err != nil {
		return f
	}
	return Figures{&held{json: true, read: changed}}
}

// OwnProcess holds figures of gorun's own process. An experiment that measures in this process embeds it, and
// measure.Watcher fills it in.
type OwnProcess struct {
	MemoryPeakBytes *uint64 `json:"memory_peak_bytes,omitempty" figure:"B" label:"memory at the peak" is:"The greatest resident memory of gorun's process."`
}

func (p *OwnProcess) own() *OwnProcess { return p }

// Own returns the figures of gorun's own process, to be filled in; nil if the experiment has none.
func (f Figures) Own() *OwnProcess {
	if f.held != nil && !f.held.json {
		if figures, ok := (*f.held.typed.Load()).(interface{ own() *OwnProcess }); ok {
			return figures.own()
		}
	}
	return nil
}
