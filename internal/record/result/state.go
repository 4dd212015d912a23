package result

import (
	"cmp"
	"maps"
)

// State is the state of a run in progress. Its counters only grow.
type State struct {
	// What the workers have done so far, including the sample in progress.
	NumbersTested       uint64
	PrimesFound         uint64
	WorkersStarted      uint64
	WorkersFinished     uint64
	Threads             int // 0: not known
	VoluntarySwitches   uint64
	InvoluntarySwitches uint64
	CPUs                []CPUState
	WorkerSeconds       *Histogram // nil: workers are not timed individually

	Totals Totals

	RunCPUs  int // number of CPUs that the run may use
	Extent   Extent
	Elapsed  float64  // seconds, including those before a resume; stops when the run is over
	Left     *float64 // upper bound of the remaining seconds; nil: not known
	Finished bool     // the run is over, and only its metrics are still served
	Interim  *Interim // of a matrix or numa's rows; nil: no comparison
}

// CPUState is one CPU's share of a State.
type CPUState struct {
	CPU         int
	Workers     uint64 // finished here
	BusySeconds float64
}

// Extent holds the planned extent of a run.
type Extent struct {
	Samples  int     // planned, warm-ups included; 0: open-ended
	Budget   float64 // seconds after which no sample begins; 0: no limit
	Duration float64 // seconds after which the run ends, with any number of samples; 0: off
}

// Left returns an upper bound of the remaining seconds of the run, after this number of samples and elapsed seconds;
// nil: not known.
func (c Extent) Left(samples int, elapsed float64) *float64 {
	left := -1.0
	if c.Samples > 0 && samples > 0 {
		left = max(0, elapsed/float64(samples)*float64(c.Samples-samples))
	}
	for _, end := range []float64{c.Budget, c.Duration} {
		if end > 0 && (left < 0 || end-elapsed < left) {
			left = max(0, end-elapsed)
		}
	}
	if left < 0 {
		return nil
	}
	return &left
}

// Grades lists the grades of a sample, the best first.
var Grades = [...]Grade{Valid, Suspect, Invalid}

// UnknownRelation stands for an unknown relation between CPUs.
const UnknownRelation = "unknown"

// Totals holds sums over the samples. A figure that no sample has is absent.
type Totals struct {
	Samples int
	Grades  map[Grade]uint64
	Seconds Histogram // wall

	Watched     float64 // wall seconds in which the following were counted
	Steal       *float64
	Throttled   *float64
	RunQueue    *float64
	Pressure    *float64
	MinorFaults *uint64
	MajorFaults *uint64
	Migrations  map[string]uint64 // by the relation of the two CPUs
	Relation    string            // of any two CPUs between which a thread can move; "": they have several
	Load        *Load             // during the last sample that had one
}

// Add adds a sample, and its migrations by the relation of the two CPUs; nil: only their number is known, as the kernel
// counted them.
func (t *Totals) Add(s Sample, migrations map[string]uint64) {
	t.Samples++
	if t.Grades == nil {
		t.Grades = map[Grade]uint64{}
	}
	t.Grades[s.Quality.Grade]++
	t.Seconds.Add(s.Seconds)
	sig := s.Quality.Signals
	t.Watched += sig.WatchedSeconds
	grow(&t.Steal, sig.StealSeconds)
	grow(&t.Throttled, sig.ThrottledSeconds)
	grow(&t.RunQueue, sig.RunQueueSeconds)
	grow(&t.Pressure, sig.CPUPressureSeconds)
	grow(&t.MinorFaults, sig.MinorFaults)
	grow(&t.MajorFaults, sig.MajorFaults)
	if n := sig.Migrations; migrations == nil && n != nil {
		migrations = map[string]uint64{cmp.Or(t.Relation, UnknownRelation): *n}
	}
	for relation, n := range migrations {
		if t.Migrations == nil {
			t.Migrations = map[string]uint64{}
		}
		t.Migrations[relation] += n
	}
}

// grow adds a figure, if it is known.
func grow[N float64 | uint64](sum **N, more *N) {
	if more == nil {
		return
	}
	grown := *more
	if *sum != nil {
		grown += **sum
	}
	*sum = &grown // a copy, since others may still read the old sum
}

// Clone returns a copy that a later Add does not change.
func (t *Totals) Clone() Totals {
	c := *t
	c.Grades, c.Migrations = maps.Clone(t.Grades), maps.Clone(t.Migrations)
	return c
}
