package stats

import "math"

// Share is a confidence sequence for the share of a difference between a cell and its baseline that goes away when one of the two is
// changed. It follows from two differences to the baseline, that of the cell and that of the changed one, each with half of the error.
type Share struct {
	baseline       bool // the baseline is the one that is changed
	whole, changed *Differences
}

// NewShare returns a sequence without rounds, with an error probability of at most alpha. baseline: the changed one is the baseline, else it
// is the cell. Least is a difference that nobody asks for.
func NewShare(alpha, least float64, baseline bool) *Share {
	return &Share{baseline, NewDifferences(alpha/2, least), NewDifferences(alpha/2, least)}
}

// Add adds a round: the figures of the cell, of the changed one, of the baseline and of the baseline's duplicate.
func (s *Share) Add(cell, changed, base, duplicate float64) {
	s.whole.Add(cell-base, cell-duplicate)
	s.changed.Add(changed-base, changed-duplicate)
}

// Rounds returns the number of rounds on which bets were made.
func (s *Share) Rounds() int { return s.whole.Rounds() }

// Found returns the interval of the share: 1 is all of the difference. It is not bounded while the sign of the difference is not known.
func (s *Share) Found() (share Shift) {
	whole, changed := s.whole.Found(), s.changed.Found()
	if whole.Typical < 0 { // both in the direction of the difference
		whole, changed = whole.negative(), changed.negative()
	}
	if !whole.Clear(1) {
		return share
	}
	share.Typical = changed.Typical / whole.Typical
	// A share of a positive difference is lowest with its greatest value if the part is positive, and with its least value if it is negative.
	if of := changed.Lo; of != nil && *of < 0 {
		share.Lo = new(*of / *whole.Lo)
	} else if of != nil {
		share.Lo = new(*of / whole.most())
	}
	if of := changed.Hi; of != nil && *of < 0 {
		share.Hi = new(*of / whole.most())
	} else if of != nil {
		share.Hi = new(*of / *whole.Lo)
	}
	offset := 0.0
	if !s.baseline { // what the changed cell still differs by is what is left
		share, offset = share.negative(), 1
	}
	share.Typical = math.Round((offset+share.Typical)*permille) / permille
	if share.Lo != nil {
		*share.Lo = math.Floor((offset+*share.Lo)*permille) / permille
	}
	if share.Hi != nil {
		*share.Hi = math.Ceil((offset+*share.Hi)*permille) / permille
	}
	return share
}

// permille is how many steps a share of 1 has. Its ends are rounded outward to one.
const permille = 1000

// negative returns the interval of the negative difference.
func (d Shift) negative() Shift {
	minus := func(end *float64) *float64 {
		if end == nil {
			return nil
		}
		return new(-*end)
	}
	return Shift{-d.Typical, minus(d.Hi), minus(d.Lo)}
}

// most returns the upper end of the interval.
func (d Shift) most() float64 {
	if d.Hi == nil {
		return math.Inf(1)
	}
	return *d.Hi
}
