package stats

import (
	"fmt"
	"slices"
)

// Search looks for the change of a history from which on something is worse. It compares the two ends of the history, then again and again
// a change in the middle with both ends of what is left, in the same blocks, and at the end the change that it found with the one
// before it. Only this last comparison bounds the error, with half of it for each of two tries: what the stages before it claim says where to look next.
//
// That a middle looks like an end is no evidence. The search goes to the later half only if the bad end is claimed to be worse than the
// middle, and to the earlier half only if the middle is claimed to be worse than the good end.
type Search struct {
	design    Design  // of one stage
	parents   [][]int // of each change
	good, bad int     // the ends of what is left
	left      []bool  // by change: it may be the one that is looked for, as the bad end may
	skipped   []bool  // by change
	stages    []Stage // the last is in progress, unless the search has ended
	judge     *Judge  // of the stage in progress; nil: the search has ended
	cells     []int   // the changes that it compares
	claimed   int     // rounds at the first claim of the stage; 0: there is none
}

// Stage is one comparison of a search: of two changes, or of three if there is a middle.
type Stage struct {
	Good   int  `json:"good"`             // index of the change
	Middle *int `json:"middle,omitempty"` // none: the two ends are compared with each other
	Bad    int  `json:"bad"`
	Last   bool `json:"last,omitempty"` // the comparison that bounds the error
	Rounds int  `json:"rounds"`
	// FromGood is the verdict on the middle against the good end; without a middle, on the bad end.
	FromGood Verdict  `json:"from_good"`
	ToBad    *Verdict `json:"to_bad,omitempty"` // on the bad end against the middle
	Goes     Goes     `json:"goes"`
	Between  bool     `json:"between,omitempty"` // both are worse: the search follows the larger of the two differences
}

// Goes is what a search does after a stage.
type Goes string

// What a search does after a stage.
const (
	OnIt      Goes = ""          // the stage is in progress
	Later     Goes = "later"     // the bad end is worse than the middle
	Earlier   Goes = "earlier"   // the middle is worse than the good end
	Worse     Goes = "worse"     // without a middle: the bad end is worse than the good end
	NotWorse  Goes = "not-worse" // without a middle: the bad end is better, or there is no difference larger than the margin
	Undecided Goes = "undecided" // the budget of the stage ended before a claim
	Skips     Goes = "skips"     // a change could not be measured
	Again     Goes = "again"     // the good end differs from its duplicate by too much: the stage is repeated once, on new samples
)

// stageCells are the names of the cells of a stage in its design: the good end is the baseline.
var stageCells = [...]string{"0 good", "1 middle", "2 bad"}

// NewSearch returns a search in a history: the changes that each change follows, which have smaller numbers. The design is that of each
// stage; Rounds is the most that a stage takes, 0: no limit.
func NewSearch(d Design, parents [][]int, good, bad int) (*Search, error) {
	n := len(parents)
	if min(good, bad) < 0 || max(good, bad) >= n || good == bad {
		return nil, fmt.Errorf("the ends %d and %d are not two of %d changes", good, bad, n)
	}
	for i, of := range parents {
		for _, p := range of {
			if p < 0 || p >= i {
				return nil, fmt.Errorf("change %d follows change %d, which does not come before it", i, p)
			}
		}
	}
	s := &Search{design: d, parents: parents, good: good, bad: bad, skipped: make([]bool, n)}
	s.left = s.before(bad)
	if !s.left[good] {
		return nil, fmt.Errorf("change %d does not follow change %d", bad, good)
	}
	s.leave(s.before(good))
	return s, s.begin(Stage{Good: good, Bad: bad})
}

// before returns which changes a change follows, directly or not, with itself.
func (s *Search) before(of int) []bool {
	found := make([]bool, len(s.parents))
	found[of] = true
	for i := of; i >= 0; i-- {
		if found[i] {
			for _, p := range s.parents[i] {
				found[p] = true
			}
		}
	}
	return found
}

// leave removes changes from those that are left.
func (s *Search) leave(these []bool) {
	for i, is := range these {
		s.left[i] = s.left[i] && !is
	}
}

// begin begins a stage.
func (s *Search) begin(stage Stage) (err error) {
	d := s.design
	d.Seed += uint64(len(s.stages)) << 32
	d.Rounds, d.Held, d.Answers, d.Comparisons = 0, true, true, 0
	if stage.Last {
		d.Alpha /= 2 // it may be repeated
	}
	s.cells, d.Cells = []int{stage.Good, stage.Bad}, []string{stageCells[0], stageCells[2]}
	if stage.Middle != nil {
		s.cells, d.Cells, d.Contrasts = []int{stage.Good, *stage.Middle, stage.Bad}, stageCells[:], []Contrast{{A: 1, B: 2}}
	}
	s.claimed, s.stages = 0, append(s.stages, stage)
	s.judge, err = NewJudge(d)
	return err
}

// Done reports whether the search has ended.
func (s *Search) Done() bool { return s.judge == nil }

// Next returns the next round: changes, and −1 for the duplicate of the stage's good end.
func (s *Search) Next() []int {
	var round []int
	for _, block := range s.judge.Next() {
		for _, cell := range block {
			of := -1
			if cell != s.judge.Control() {
				of = s.cells[cell]
			}
			round = append(round, of)
		}
	}
	return round
}

// Add adds the times of a round that Next returned, in its order; none: the round is not judged, because a sample of it is missing.
func (s *Search) Add(seconds []float64) error {
	round := s.judge.Next()
	if seconds == nil {
		round = Round{}
	}
	if err := s.judge.Add(round, seconds); err != nil {
		return err
	}
	stage := s.stage()
	stage.Rounds = s.judge.Rounds()
	switch {
	case stage.Middle != nil:
		return s.halve()
	case stage.Last:
		return s.confirm()
	}
	return s.compareEnds()
}

// stage returns the stage in progress.
func (s *Search) stage() *Stage { return &s.stages[len(s.stages)-1] }

// hidden reports whether a stage has no claim because the good end differs from its duplicate.
func (s *Search) hidden() bool {
	claims := func(c comparison) bool { return s.judge.quick(c).claims() }
	return s.judge.differs() && !slices.ContainsFunc(s.judge.all(), claims)
}

// over reports whether a stage has taken all its rounds, or more rounds cannot decide it.
func (s *Search) over() bool {
	full := s.design.Rounds > 0 && s.judge.Rounds() >= s.design.Rounds
	return full || s.hidden()
}

// patient reports whether a stage that has a claim goes on: for half as many rounds again as the claim took, so that a difference about as
// large on the other side of the middle is seen too, and the interval becomes narrower.
func (s *Search) patient(claims bool) bool {
	if claims && s.claimed == 0 {
		s.claimed = s.judge.Rounds()
	}
	return s.claimed == 0 || s.judge.Rounds() < s.claimed+s.claimed/2
}

// compareEnds goes on from the comparison of the two ends.
func (s *Search) compareEnds() error {
	switch kind := s.judge.quick(s.judge.comparisons[1]); {
	case s.over(), !s.patient(kind.claims()):
		return s.end()
	case kind == Same && s.judge.Settled(1):
		return s.end()
	}
	return nil
}

// confirm goes on from the last comparison, until its interval is narrow enough to be an answer.
func (s *Search) confirm() error {
	if s.over() || s.judge.Settled(1) {
		return s.end()
	}
	return nil
}

// halve goes on from a comparison with a middle.
func (s *Search) halve() error {
	from, to := s.judge.quick(s.judge.comparisons[1]), s.judge.quick(s.judge.contrasts[0])
	if s.over() || !s.patient(from == Slower || to == Slower) {
		return s.end()
	}
	return nil
}

// quick returns the kind of a verdict, without the estimates that only a verdict needs.
func (r *Judge) quick(c comparison) Kind {
	if e := c.typical.ends(); !c.differs() && !e.within(r.design.Margin) {
		return CantTell
	}
	return r.verdict(c).Kind
}

// Expire ends the stage in progress, whose time is over.
func (s *Search) Expire() error { return s.end() }

// end ends the stage in progress with what is known, and begins the next one.
func (s *Search) end() error {
	stage := s.settled()
	switch stage.Goes {
	case Earlier:
		s.bad = *stage.Middle
		before := s.before(s.bad)
		for i := range s.left {
			s.left[i] = s.left[i] && before[i]
		}
	case Later:
		s.good = *stage.Middle
		s.leave(s.before(s.good))
	case Again:
		return s.begin(Stage{Good: stage.Good, Middle: stage.Middle, Bad: stage.Bad, Last: stage.Last})
	case Worse:
		if stage.Last {
			s.judge = nil
			return nil
		}
	default:
		s.judge = nil
		return nil
	}
	return s.goOn()
}

// settled sets what the stage in progress has found, and returns it.
func (s *Search) settled() *Stage {
	stage := s.stage()
	*stage = s.Standing()
	worse := stage.FromGood.Kind == Slower
	switch {
	case s.hidden() && !s.repeated():
		stage.Goes = Again
	case stage.Middle == nil && worse:
		stage.Goes = Worse
	case stage.Middle == nil && (stage.FromGood.Kind == Same || stage.FromGood.Kind == Faster):
		stage.Goes = NotWorse
	case stage.Middle == nil:
		stage.Goes = Undecided
	default:
		later := stage.ToBad.Kind == Slower
		stage.Between = worse && later
		switch {
		case later && (!worse || stage.ToBad.Claim().Ratio > stage.FromGood.Claim().Ratio):
			stage.Goes = Later
		case worse:
			stage.Goes = Earlier
		default:
			stage.Goes = Undecided
		}
	}
	return stage
}

// repeated reports whether the stage in progress repeats the one before it.
func (s *Search) repeated() bool { return len(s.stages) > 1 && s.stages[len(s.stages)-2].Goes == Again }

// Standing returns the stage in progress with its verdicts as they are now.
func (s *Search) Standing() Stage {
	stage := *s.stage()
	stage.FromGood = s.judge.verdict(s.judge.comparisons[1])
	if stage.Middle != nil {
		stage.ToBad = new(s.judge.verdict(s.judge.contrasts[0]))
	}
	return stage
}

// goOn begins the stage with the next middle, or the last one.
func (s *Search) goOn() error {
	if middle := s.middle(); middle >= 0 {
		return s.begin(Stage{Good: s.good, Middle: &middle, Bad: s.bad})
	}
	good := s.good
	if len(s.Left()) == 1 {
		good = s.parents[s.bad][0]
	}
	return s.begin(Stage{Good: good, Bad: s.bad, Last: true})
}

// Skip leaves out a change that cannot be measured. The stage in progress ends; with another middle, if it was the middle. Without an end,
// the search ends.
func (s *Search) Skip(change int) error {
	stage := s.stage()
	s.skipped[change] = true
	*stage = s.Standing()
	stage.Goes = Skips
	if stage.Middle != nil && *stage.Middle == change {
		return s.goOn()
	}
	s.judge = nil
	return nil
}

// middle returns the change that leaves about half of the others, whichever it is like; −1: none can be measured. It is the choice of git
// bisect: the number of changes that it follows, of those that are left, is nearest to half of them.
func (s *Search) middle() int {
	follows := make([]int, len(s.left)) // how many of those that are left, with itself
	all := 0
	for i, left := range s.left {
		if !left {
			continue
		}
		all++
		var of []int
		for _, p := range s.parents[i] {
			if s.left[p] {
				of = append(of, p)
			}
		}
		switch len(of) {
		case 0:
			follows[i] = 1
		case 1:
			follows[i] = follows[of[0]] + 1
		default:
			for at, is := range s.before(i) {
				if is && s.left[at] {
					follows[i]++
				}
			}
		}
	}
	best, middle := 0, -1
	for i, n := range follows {
		if half := min(n, all-n); s.left[i] && i != s.bad && !s.skipped[i] && half > best {
			best, middle = half, i
		}
	}
	return middle
}

// Stages returns what was done so far. The last one is in progress, unless the search has ended.
func (s *Search) Stages() []Stage { return s.stages }

// Left returns the changes that may be the one that is looked for, in order.
func (s *Search) Left() (changes []int) {
	for i, left := range s.left {
		if left {
			changes = append(changes, i)
		}
	}
	return changes
}
