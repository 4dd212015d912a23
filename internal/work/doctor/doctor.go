// Package doctor is `gorun doctor`: whether placement measurements on this machine can be trusted, and which of gorun's
// features work here.
//
// A condition is a property of the machine that affects a measurement or a feature. Each is a row of the table in
// conditions.go, and a function that reads it. A trial measures how much two equal runs differ.
package doctor

import (
	"context"
	"io/fs"
	"slices"
	"strings"

	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Level is how much a condition matters.
type Level string

// The levels, from the least to the greatest.
const (
	OK    Level = "ok"    // nothing to do
	Note  Level = "note"  // it belongs to the machine, and a reader of a result should know it
	Limit Level = "limit" // differences are harder to find, or a part of gorun does not work
	Unfit Level = "unfit" // the machine is not ready for the area
)

var levels = []Level{OK, Note, Limit, Unfit}

// Area is a part of gorun's work that needs its own conditions.
type Area string

// The areas, in the order in which they are shown.
const (
	Timing    Area = "timing"    // differences between times
	Placement Area = "placement" // of threads and processes on CPUs
	NUMA      Area = "numa"      // placement of memory on nodes
	Counters  Area = "counters"  // migrations, and what disturbed a sample
)

// Areas lists all areas.
var Areas = [...]Area{Timing, Placement, NUMA, Counters}

// needed are the areas without which the machine is not ready: every experiment needs both.
var needed = []Area{Timing, Placement}

// Condition is a property of the machine, with what it means for a measurement.
type Condition struct {
	Name   string `json:"name"`
	Area   Area   `json:"area"`
	Level  Level  `json:"level"`
	Value  string `json:"value"`
	Effect string `json:"effect,omitempty"` // on a measurement, or on a part of gorun; "" where it has none
	Remedy string `json:"remedy,omitempty"` // what to do; "" where nothing can be done
	Fix    *Fix   `json:"fix,omitempty"`    // nil: no command changes it
	Digest string `json:"-"`                // a few words for the header of a run; "" where it is usual
}

// Fix is the commands that change a condition. gorun never runs them.
type Fix struct {
	Do   string `json:"do"`
	Undo string `json:"undo"`
}

// Readiness is whether one area works here.
type Readiness struct {
	Area   Area   `json:"area"`
	Ready  bool   `json:"ready"`
	Reason string `json:"reason,omitempty"` // why not
}

// Report is the result of an examination.
type Report struct {
	Schema     string      `json:"schema"`
	Tool       result.Tool `json:"tool"`
	Ready      bool        `json:"ready"`
	Areas      []Readiness `json:"areas"`
	Trial      *Trial      `json:"trial,omitempty"` // nil: it was left out
	Conditions []Condition `json:"conditions"`
	Warnings   []string    `json:"warnings"` // files of the kernel that are missing or odd
}

// Subject is the machine that is examined.
type Subject struct {
	Root    fs.FS // rooted at /
	Machine *topology.Machine
	Live    bool // it is this machine, so that system calls and counters can be tried
	Host    result.Host
}

// Examine reads all conditions and, on this machine, takes the trial. ctx ends the trial early.
func Examine(ctx context.Context, s Subject) *Report {
	if s.Live {
		return examine(s, try(ctx, s))
	}
	return examine(s, nil)
}

func examine(s Subject, t *Trial) *Report {
	r := &Report{Schema: result.Schema, Warnings: append([]string{}, s.Machine.Warnings...), Trial: t}
	for _, c := range conditions {
		if c.when == tried && t == nil || c.when == live && !s.Live {
			continue
		}
		if found := c.read(s, t); found != nil {
			found.Name, found.Area = c.name, c.area
			r.Conditions = append(r.Conditions, *found)
		}
	}
	r.judge()
	return r
}

// judge derives the areas' readiness from the conditions: an area with an unfit one is not ready.
func (r *Report) judge() {
	r.Ready = true
	for _, area := range Areas {
		reasons := []string{}
		for _, c := range r.Conditions {
			if c.Area == area && c.Level == Unfit {
				reasons = append(reasons, c.Name+": "+c.Value)
			}
		}
		r.Areas = append(r.Areas, Readiness{Area: area, Ready: len(reasons) == 0, Reason: strings.Join(reasons, "; ")})
		if len(reasons) > 0 && slices.Contains(needed, area) {
			r.Ready = false
		}
	}
}

// Odd returns the values of the conditions that are not OK, by name. It takes no trial.
func Odd(s Subject) map[string]string {
	odd := map[string]string{}
	for _, c := range examine(s, nil).Conditions {
		if c.Level != OK {
			odd[c.Name] = c.Value
		}
	}
	return odd
}

// Digest returns the conditions that a reader of a result should know, each in a few words. It reads files, and tries
// nothing.
func Digest(s Subject) (words []string) {
	s.Live = false
	for _, c := range conditions {
		if c.when != briefly {
			continue
		}
		if found := c.read(s, nil); found != nil && found.Digest != "" {
			words = append(words, found.Digest)
		}
	}
	return words
}
