// Package fleet is `gorun fleet`: it measures one machine in a short visit, and judges the visits of many machines. It schedules
// nothing: files in, files out.
package fleet

import "gorun/internal/result"

// Line is a line of a visit's file, which has one of these. The file is DIR/NODE/BOOT/TIME.jsonl; while the visit lasts, and for
// ever if it is killed, its name ends in .part.
type Line struct {
	Visit   *Header  `json:"visit,omitempty"` // the first line
	Measure *Measure `json:"measure,omitempty"`
	Missing *Missing `json:"missing,omitempty"`
	End     *End     `json:"end,omitempty"` // the last line
}

// Header says what was visited, when and by which gorun.
type Header struct {
	Schema  string      `json:"schema"`
	Node    string      `json:"node"`
	Started string      `json:"started"` // RFC 3339, UTC
	Budget  float64     `json:"budget_seconds"`
	Seed    uint64      `json:"seed"` // of the order of the measures
	Tool    result.Tool `json:"tool"`
	Host    result.Host `json:"host"`
	// Settings are the conditions of `gorun doctor` that are not as they should be, by name.
	Settings map[string]string `json:"settings,omitempty"`
}

// Measure is what one measure of the battery found. Of several parts of the machine, it is that of the worst.
type Measure struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`   // of column.Unit
	Better  string    `json:"better"` // result.Lower or result.Higher
	Figure  float64   `json:"figure"` // the best of the samples: the others were disturbed
	Samples []float64 `json:"samples"`
	Part    string    `json:"part,omitempty"` // "CPU 3"
	Parts   int       `json:"parts"`          // the number of parts that were measured
	Seconds float64   `json:"seconds"`        // that it took
	Wrong   []string  `json:"wrong,omitempty"`
	Doubts  []string  `json:"doubts,omitempty"` // what disturbed it
}

// Missing is a measure that this visit does not have, with the reason.
type Missing struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// End is the end of a visit.
type End struct {
	Ended   string  `json:"ended"` // RFC 3339, UTC
	Seconds float64 `json:"seconds"`
}
