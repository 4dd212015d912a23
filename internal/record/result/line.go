package result

import "slices"

// Line is one line of a journal (JSON Lines): exactly one of its fields is set. The first is the header, then come
// samples in the order in which they were taken, and a footer if the run ended normally. A run that is resumed after
// its footer writes another one when it ends again: the last one counts. If it is to take another number of samples than before, an end
// comes first. Package journal adds the line's checksum.
type Line struct {
	Header *Run    `json:"header,omitempty"` // without samples
	Sample *Sample `json:"sample,omitempty"`
	Footer *Footer `json:"footer,omitempty"`
	End    *End    `json:"end,omitempty"`
}

// End is another end of a run that is resumed, from here on.
type End struct {
	Samples int    `json:"samples"`           // of each cell; 0: until the differences are known
	Enough  string `json:"enough,omitempty"`  // when a cell leaves: EnoughAnswer, EnoughPrecision or EnoughBest; "": as EnoughPrecision
	FailOn  string `json:"fail_on,omitempty"` // the condition whose answer ends the run; "": none does
}

// Answers reports whether a cell that differs leaves with an interval that is narrow for the size of the difference. A condition may need
// more.
func (e End) Answers() bool { return e.Enough == EnoughAnswer && e.FailOn == "" }

// When a cell leaves.
const (
	EnoughAnswer    = "answer"    // no difference is shown; or the interval of one is narrow for the size of the difference, or as narrow as the precision
	EnoughPrecision = "precision" // no difference is shown, or its interval is as narrow as the precision
	EnoughBest      = "best"      // it cannot be the best
)

// LaterEnd is an end to which a run went on when it was resumed.
type LaterEnd struct {
	After int `json:"after"` // samples that were taken before, with the confirming ones
	End
}

// Footer holds the results derived at the end of the run.
type Footer struct {
	Samples  int       `json:"samples"` // lines of samples before it
	Summary  *Summary  `json:"summary,omitempty"`
	Cells    []Cell    `json:"cells,omitempty"` // of a matrix, with their verdicts
	Findings []Finding `json:"findings"`
	Warnings []Warning `json:"warnings"`
	Partial  bool      `json:"partial"`
	Overhead *Overhead `json:"overhead,omitempty"`
}

// Header returns a copy of the run as it was before its first sample: without what follows from samples.
func (r *Run) Header() *Run {
	header := *r
	header.Samples, header.Confirming, header.Units, header.Summary, header.Cells = Samples{}, Samples{}, nil, nil, slices.Clone(r.Cells)
	header.Overhead = nil
	for i := range header.Cells {
		header.Cells[i].Judged(Cell{})
	}
	if r.Matrix != nil {
		m := *r.Matrix
		m.Reached, m.Best, m.Control, m.Controls, m.ControlVerdicts, m.Ranking, m.Groups = nil, nil, nil, nil, nil, nil, nil
		m.LaterEnds, m.Search, m.Contrasts = nil, nil, slices.Clone(m.Contrasts)
		for i := range m.Contrasts {
			m.Contrasts[i].Verdict, m.Contrasts[i].Verdicts = nil, nil
		}
		header.Matrix = &m
	}
	return &header
}
