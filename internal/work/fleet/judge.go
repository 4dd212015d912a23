package fleet

import (
	"context"
	"runtime/debug"
	"time"

	"gorun/internal/record/result"
)

// Options are what a judgement of visits is asked for.
type Options struct {
	Margin  float64       // a node is slow if it is slower than its class by more than it: 0.02 is 2%
	FDR     float64       // the expected share of false names among those that are named: at most this
	Slot    time.Duration // nodes that are visited in the same slot of time are each other's peers
	Since   time.Time     // earlier visits do not count; the zero time: all do
	Now     time.Time     // slots that have not ended are not judged
	Expect  []string      // all nodes of the fleet, which should have reported; nil: those that have
	Settled *Settled      // nil: no judgement was made before
}

// judge is a judgement in progress.
type judge struct {
	Options
	doc     Judgement
	visits  []visit // those that count, in the order of time
	classes map[Alike]*classJudge
	nodes   map[string]*nodeState
	expect  map[string]bool
}

// nodeState is what is known of a node.
type nodeState struct {
	class  *classJudge
	last   *machine
	visits int
	lastAt time.Time
	judged bool
	// unexpected: it is not in --expect. Anyone who can write into the directory can make such nodes, so they are nobody's peers.
	unexpected bool
}

// Judge judges the visits in the paths. If more of the files there are other documents, such as journals, it returns these instead.
func Judge(ctx context.Context, paths []string, o Options) (*Judgement, *Journals, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most of what is read is kept
	files, left, err := find(ctx, paths)
	if err != nil {
		return nil, nil, err
	}
	visits, warnings, are := readVisits(ctx, files, o.Now)
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if !are {
		journals := &Journals{Left: left}
		for _, file := range files {
			journals.Files = append(journals.Files, file.Path)
		}
		return nil, journals, nil
	}
	return judgeRead(visits, append(left, warnings...), o), nil, nil
}

// judgeRead judges visits in the order of time.
func judgeRead(visits []visit, warnings []string, o Options) *Judgement {
	j := &judge{Options: o, classes: map[Alike]*classJudge{}, nodes: map[string]*nodeState{}, expect: map[string]bool{}}
	for _, name := range o.Expect {
		j.expect[name] = true
	}
	j.doc = Judgement{
		Schema: result.Schema, Margin: o.Margin, FDR: o.FDR, Slot: o.Slot.Seconds(), States: map[State]int{}, Warnings: warnings,
	}
	visits, j.doc.Visits.Copies = withoutCopies(visits)
	j.choose(visits)
	j.bet()
	j.name()
	j.hold()
	j.list()
	j.settle()
	j.warn(visits)
	j.doc.Settings, j.doc.Clocks = j.settings(), j.clocks(visits)
	return &j.doc
}
