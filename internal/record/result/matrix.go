package result

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gorun/internal/base/units"
	"gorun/internal/stats"
)

// Matrix is the design of a run of several cells, fixed before its first sample.
type Matrix struct {
	Title     string         `json:"title,omitempty"`
	Compared  string         `json:"datum,omitempty"`       // column of the deciding figure, which is compared and decides when the run stops; none: wall seconds
	Label     string         `json:"datum_label,omitempty"` // what a metric is called; "": by a group of its expression, or MetricColumn
	Better    string         `json:"better,omitempty"`      // of a metric: Lower or Higher
	Figures   []JudgedFigure `json:"figures,omitempty"`     // judged on the same samples, in addition to the deciding figure
	Rules     int            `json:"rules,omitempty"`       // matrix.Rules of the gorun that began the run
	Baseline  int            `json:"baseline"`              // index of the cell with which cells without an Against are compared
	Alpha     float64        `json:"alpha"`                 // probability of any false verdict in the run
	Margin    float64        `json:"margin"`                // a difference up to it is none: 0.02 is 2%
	Precision float64        `json:"precision"`             // width of the interval at which a cell is sampled enough
	Rounds    int            `json:"rounds"`                // of every cell; 0: until it is decided
	Warmup    int            `json:"warmup"`                // executions that each child process drops before its sample
	// WarmupSeconds is the time after which a warm-up is cut; 0: not cut.
	WarmupSeconds float64      `json:"warmup_seconds,omitempty"`
	Budget        float64      `json:"budget_seconds"` // no round begins that would not end within it; 0: no limit
	Order         Order        `json:"order"`
	Padding       int          `json:"padding_bytes,omitempty"` // of the environment of each sample, at most; 0: none
	Layouts       int          `json:"layouts,omitempty"`       // of bench: orders in which the functions of the test binaries are linked; round i uses number i mod Layouts
	Columns       []FlagColumn `json:"columns,omitempty"`       // of the table; none: the flags that differ
	// Comparisons of two cells other than the baseline, declared before the first sample.
	Contrasts []Contrast `json:"contrasts,omitempty"`
	// Of a search in order, each cell after the first against the one before it; a step is tried only when those before it scale. None: all
	// cells are sampled.
	Steps []Step `json:"steps,omitempty"`

	Candidates []Candidate `json:"candidates,omitempty"` // of --why=confirm: those that may be tried

	History [][]int `json:"history,omitempty"` // of bisect: the cells that each cell follows; the baseline and the last cell are the ends

	Enough string `json:"enough,omitempty"`  // see End
	FailOn string `json:"fail_on,omitempty"` // see End
	// LaterEnds are the other ends to which a resumed run went on, one after the other.
	LaterEnds []LaterEnd `json:"later_ends,omitempty"`

	// Derived from the samples.
	Reached  *int           `json:"reached,omitempty"`  // of a search in order: index of the last cell up to which each step scales
	Search   *Searched      `json:"search,omitempty"`   // of bisect
	Best     *Best          `json:"best,omitempty"`     // of a run that looks for the best cell
	Control  *stats.Verdict `json:"control,omitempty"`  // on the baseline's duplicate
	Controls []Control      `json:"controls,omitempty"` // of all baselines, if there are several
	// On the baseline's duplicate by the name of the column, of the figures in addition to the deciding one.
	ControlVerdicts map[string]stats.Verdict `json:"control_verdicts,omitempty"`
	Ranking         []int                    `json:"ranking,omitempty"` // indices of the cells, the best first; see Rank. None with several baselines
	Groups          [][]int                  `json:"groups,omitempty"`  // of cells that are not told apart; see Grouped. None with several baselines
}

// Planned returns the rounds of every cell; 0: until it is decided.
func (m *Matrix) Planned() int {
	return m.Ends().Samples
}

// Ends returns when the run ends, if no budget ends it before.
func (m *Matrix) Ends() End {
	if n := len(m.LaterEnds); n > 0 {
		return m.LaterEnds[n-1].End
	}
	return End{m.Rounds, m.Enough, m.FailOn}
}

// JudgedFigure is a figure that is judged in addition to the one that decides when the run stops, or in place of it.
type JudgedFigure struct {
	Column string `json:"column"` // the name of its column
	Label  string `json:"label"`  // in words: "CPU time"
	// Better is Lower or Higher; "": as the column says.
	Better string `json:"better,omitempty"`
	// Second: it is of the second family of comparisons, which has an error rate of its own (Alpha too) and decides nothing about
	// when the run stops: peak memory, and the own units of benchmarks.
	Second bool `json:"second,omitempty"`
	Cells  int  `json:"cells,omitempty"` // how many cells can have it; 0: all
}

// WarmupWords describes the warm-up of each process: the number of executions, and the time after which they are cut.
func (m *Matrix) WarmupWords() string {
	if m.WarmupSeconds > 0 {
		return fmt.Sprintf("%d, cut after %g s", m.Warmup, m.WarmupSeconds)
	}
	return strconv.Itoa(m.Warmup)
}

// LayoutWords describes how the layout of memory varies from sample to sample; empty where it does not by design.
func (m *Matrix) LayoutWords() (words []string) {
	if m.Padding > 0 {
		words = append(words, fmt.Sprintf("environment padded by up to %d bytes", m.Padding))
	}
	switch {
	case m.Layouts == 1:
		words = append(words, "1 layout")
	case m.Layouts > 1:
		words = append(words, fmt.Sprintf("%d layouts", m.Layouts))
	}
	return words
}

// Control is the verdict on the duplicate of one of several baselines.
type Control struct {
	Baseline int                      `json:"baseline"` // index of the cell
	Verdict  stats.Verdict            `json:"verdict"`
	Verdicts map[string]stats.Verdict `json:"verdicts,omitempty"` // of the figures in addition to the deciding one, by column
}

// Searched is what a search has found. Cells are given by their indices.
type Searched struct {
	Stages  []stats.Stage  `json:"stages"`            // the last may be in progress
	Left    []int          `json:"left"`              // the cells that may be the first that is worse, in order
	Skipped map[int]string `json:"skipped,omitempty"` // why a cell could not be measured
}

// Named returns the cell that was found: the last comparison claims that it is worse than the one before it. false: there is none, or
// skipped cells leave several.
func (s *Searched) Named() (cell int, found bool) {
	last := s.Stages[len(s.Stages)-1]
	return last.Bad, s.Confirmed() && len(s.Left) == 1
}

// Confirmed reports whether the last comparison claims a difference.
func (s *Searched) Confirmed() bool {
	last := s.Stages[len(s.Stages)-1]
	return last.Last && last.Goes == stats.Worse
}

// Best is what is known of the best cell of a run.
type Best struct {
	Left   []int `json:"left"`             // indices of the cells that may be the best; none: each is worse than another
	Winner *int  `json:"winner,omitempty"` // index of the cell than which none is better by more than the margin
	Out    []Out `json:"out"`              // the others, in the order of the cells
}

// Out is a cell that cannot be the best.
type Out struct {
	Cell int `json:"cell"` // its index
	Than int `json:"than"` // index of the cell that it is shown to be worse than
}

// Contrast is a comparison of two cells that are not the baseline.
type Contrast struct {
	A       int            `json:"a"` // index of the cell with which B is compared
	B       int            `json:"b"` // index of the cell that is judged
	Verdict *stats.Verdict `json:"verdict,omitempty"`
	// On the figures in addition to the deciding one, by the column's name.
	Verdicts map[string]stats.Verdict `json:"verdicts,omitempty"`
}

// Step is a step of a search in order. The verdict on it is that of the cell.
type Step struct {
	Cell int     `json:"cell"` // index of the cell that is judged, against the one before it
	Work float64 `json:"work"` // how many times the work of the one before it it does: numbers of copies differ in it, and numbers of threads do not
}

// Gate is what --fail-on found.
type Gate struct {
	Condition string   `json:"condition"`        // as it was given
	Result    string   `json:"result"`           // GatePassed, GateFailed or GateUndecided
	Why       []string `json:"why,omitempty"`    // if it passed: the greatest difference that it could have missed
	Rounds    int      `json:"rounds,omitempty"` // after which this was found; 0: the runs were not in rounds
}

// The results of a gate. If one cell fails the condition, it failed; else it is undecided if one cell may fail it.
const (
	GatePassed    = "passed"
	GateFailed    = "failed"
	GateUndecided = "undecided"
)

// String returns the gate in words.
func (g Gate) String() string {
	text := "--fail-on " + g.Condition + ": " + g.Result
	if g.Rounds > 0 {
		text += " after " + units.Things(g.Rounds, "round")
	}
	if len(g.Why) > 0 {
		text += ": " + g.Why[0]
	}
	if more := len(g.Why) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// OfMatrix reports whether the run is one of gorun matrix: its cells are combinations of flags.
func (r *Run) OfMatrix() bool { return len(r.Command) > 0 && r.Command[0] == "matrix" }

// MaxRSS is the column of the peak memory.
const MaxRSS = "max_rss_bytes"

// WallColumn is the wall time.
const WallColumn = "seconds"

// MetricColumn is a command's own figure, in its own unit.
const MetricColumn = "metric"

// MetricColumnOf returns the column of a command's figure by its position, from 0.
func MetricColumnOf(i int) string {
	if i == 0 {
		return MetricColumn
	}
	return fmt.Sprintf("%s_%d", MetricColumn, i+1)
}

// The directions in which a metric is better.
const (
	Lower  = "lower"
	Higher = "higher"
)

// Comparisons returns the number of comparisons that share the error rate of a family: for each of its figures, one for each
// cell that can have it (the control of each baseline takes the place of the baseline) and one for each contrast. The deciding
// figure is of the first family.
func (r *Run) Comparisons(second bool) (n int) {
	all := len(r.Cells) + len(r.Matrix.Contrasts)
	if steps := len(r.Matrix.Steps); steps > 0 { // each has a control of its own
		all = 2 * steps
	}
	if !second {
		n = all
	}
	for _, f := range r.Matrix.Figures {
		if f.Second == second {
			n += cmp.Or(f.Cells, all)
		}
	}
	return n
}

// Against returns the index of the cell with which a cell of a judged run is compared; for a baseline, its own.
func (r *Run) Against(cell int) int {
	if against := r.Cells[cell].Against; against != nil {
		return *against
	}
	return r.Matrix.Baseline
}

// IsBaseline reports whether others are compared with a cell of a judged run.
func (r *Run) IsBaseline(cell int) bool { return r.Matrix != nil && r.Against(cell) == cell }

// Rank puts the cells that were measured in order: those shown to be faster than the baseline, the baseline, and the
// rest; within each by their ratio to it.
func (r *Run) Rank() []int {
	place := func(i int) (group int, ratio float64) {
		v := r.Cells[i].Verdict
		switch {
		case v == nil:
			return 1, 1
		case v.Kind == stats.Faster:
			return 0, v.Claim().Ratio
		}
		return 2, v.Typical.Ratio
	}
	var ranking []int
	for i, cell := range r.Cells {
		if cell.Verdict == nil || cell.Verdict.Kind != stats.Invalid {
			ranking = append(ranking, i)
		}
	}
	slices.SortStableFunc(ranking, func(i, j int) int {
		group, ratio := place(i)
		otherGroup, otherRatio := place(j)
		return cmp.Or(cmp.Compare(group, otherGroup), cmp.Compare(ratio, otherRatio))
	})
	return ranking
}

// Order describes the order of the samples. All rounds follow from the run's seed; the samples hold their places.
type Order struct {
	Design     string `json:"design,omitempty"` // Pairs, Rows or Search; none: randomised complete blocks
	Method     string `json:"method"`           // in words
	BlockCells int    `json:"block_cells"`      // maximum number of cells that share one sample of the baseline
	// First round, block by block; the number of cells stands for the control. None where all samples of a cell are
	// taken before those of the next.
	First [][]int `json:"first,omitempty"`
}

// The designs other than randomised complete blocks.
const (
	Pairs = "pairs" // a fixed number of trials of each cell, each paired with one of the baseline; no control
	Rows  = "rows"  // all samples of a cell, then all of the next: nothing can be judged
	// Search is of bisect: randomised blocks of the cells that the samples before them ask for.
	Search = "search"
)

// CommentColumn takes the place of the flag in a column that shows the comments of the groups.
const CommentColumn = "comment"

// FlagColumn is how a flag is shown in the table of a matrix.
type FlagColumn struct {
	Title string `json:"title"`
	Flag  string `json:"flag"`            // or "group" or "comment"
	Style string `json:"style"`           // one of FlagStyles
	Unset string `json:"unset,omitempty"` // shown for a cell without the flag
}

// FlagStyles are the ways to show the value of a flag, the default first.
var FlagStyles = []string{
	"value", // as it was given
	"truth", // T or F
	"cpus",  // T-4: on 4 CPUs; F (8): floats, on up to 8 at once
}

// Cell is one configuration of a matrix. The fields after Lines are derived from the samples.
type Cell struct {
	Name  string `json:"name"` // unique in its run
	Group string `json:"group,omitempty"`
	// Index of the cell with which this one is compared, its own for a baseline; none: the matrix's baseline. If a
	// combination of flags has several rows, each is compared with the same row of the baseline.
	Against *int              `json:"against,omitempty"`
	Comment string            `json:"comment,omitempty"`
	Flags   map[string]string `json:"flags"` // of the experiment, by name without dashes
	// Of ab: the values in place of {NAME} in its texts, by name.
	Parameters  map[string]string `json:"parameters,omitempty"`
	CPUs        map[string]CPUs   `json:"cpus,omitempty"`      // its CPU lists on this machine, by flag; "cpus" always exists
	AtOnce      int               `json:"at_once,omitempty"`   // CPUs that its work can use at the same time, if fewer than all
	Command     Argv              `json:"command"`             // command line, from the experiment's name on, that repeats one of its samples
	Chosen      string            `json:"chosen,omitempty"`    // which CPU it has and why, if one was chosen among others
	Lines       *Lines            `json:"lines,omitempty"`     // of exec: ways to have the same setting
	Unavailable string            `json:"lacking,omitempty"`   // of a plan: why this machine cannot run it
	Repeats     int               `json:"repeats,omitempty"`   // of bench: iterations in each sample
	Program     string            `json:"program,omitempty"`   // of live: the program that runs
	By          *JudgedFigure     `json:"judged_by,omitempty"` // of bench: the deciding figure of this cell and of its baseline, in place of the matrix's; Label is its unit

	Summary *Summary       `json:"summary,omitempty"`
	Verdict *stats.Verdict `json:"verdict,omitempty"` // absent for the baseline; of several figures, on the deciding one
	// On the figures in addition to the deciding one, by the column's name. One that no sample has is absent.
	Verdicts map[string]stats.Verdict `json:"verdicts,omitempty"`
	Words    string                   `json:"words,omitempty"` // Verdict in words
	// With several layouts, the typical ratio to the baseline of each, by the deciding figure. One without samples is left out.
	Layouts []float64 `json:"layouts,omitempty"`
	Why     *Why      `json:"why,omitempty"` // where the difference to the baseline is; nil: not known, or not asked for
}

// Judged gives a cell what follows from the samples of another one.
func (c *Cell) Judged(by Cell) {
	c.Summary, c.Verdict, c.Verdicts, c.Words, c.Layouts, c.Why = by.Summary, by.Verdict, by.Verdicts, by.Words, by.Layouts, by.Why
}

// CPUs is a list of CPUs as one machine has it.
type CPUs struct {
	List     string `json:"list"` // in its order
	Count    int    `json:"count"`
	Relation string `json:"relation"` // of the CPUs to each other, for comparing machines
}

// Slot is a sample's place in a matrix.
type Slot struct {
	Cell     int     `json:"cell"`               // index in the run's cells; of a confirming sample, the candidates follow them
	Control  bool    `json:"control,omitempty"`  // the baseline's duplicate
	Confirms bool    `json:"confirms,omitempty"` // it is of --why=confirm; no verdict follows from it
	Round    int     `json:"round"`
	Block    int     `json:"block"`
	Elapsed  float64 `json:"elapsed_seconds"` // of the run at the end of the sample, without the time between a stop and --resume
}

// Answer is the result of the work: the same question must have the same answer in every cell, or the work was not
// done.
type Answer struct {
	Of string `json:"of"`
	Is string `json:"is"`
}

// Interim is the state of a matrix in progress.
type Interim struct {
	Running string // the present or next cell; "": none
	Samples int    // taken
	Rounds  int    // complete
	Planned int    // rounds; 0: until all cells are decided
	Elapsed float64
	Left    float64 // seconds, at most; negative: not known
	Control stats.Verdict
	Label   string         // of the figure that decides
	Figures []JudgedFigure // that are judged in addition
	Cells   []InterimCell
}

// InterimCell is one cell of an Interim.
type InterimCell struct {
	Name     string
	Seconds  float64 // median so far, as the verdict has it: the inverse of a rate; 0: none yet
	By       *JudgedFigure
	Open     bool // still sampled
	Baseline bool // others are compared with it
	Verdict  stats.Verdict
	Verdicts map[string]stats.Verdict // on the figures in addition to the deciding one, by column
}

// Comparison compares two runs cell by cell.
type Comparison struct {
	Schema      string            `json:"schema"`
	Tool        Tool              `json:"tool"`
	Experiment  string            `json:"experiment"`
	A           Origin            `json:"a"`
	B           Origin            `json:"b"`
	MoreA       []Origin          `json:"more_a,omitempty"` // further runs of each side, in turn
	MoreB       []Origin          `json:"more_b,omitempty"`
	Differences []Difference      `json:"differences"` // of the conditions
	Forced      bool              `json:"forced"`      // in spite of unintended differences
	Unmeant     []string          `json:"unmeant,omitempty"`
	Cells       []ComparedCell    `json:"cells"`
	Units       map[string]string `json:"units,omitempty"` // of a program's own figures, by column, as in the first run
	Gate        *Gate             `json:"gate,omitempty"`
	OnlyA       []string          `json:"only_a"` // cells without a partner
	OnlyB       []string          `json:"only_b"`
	Warnings    []Warning         `json:"warnings"`
}

// FewRuns is the code of the warning that a comparison has too few runs to show how far runs drift apart by themselves.
const FewRuns = "sessions"

// SameRun is the code of the warning that several files hold one run, which counts once.
const SameRun = "same-run"

// Origin describes the run on one side of a comparison.
type Origin struct {
	File    string `json:"file"`
	Started string `json:"started"`
	Host    Host   `json:"host"`
	Tool    Tool   `json:"tool"`
	Samples int    `json:"samples"`
}

// Difference is a condition that differs between two runs.
type Difference struct {
	What string `json:"what"` // "kernel", "binary"
	A    string `json:"a"`
	B    string `json:"b"`
}

// ComparedFigure is a figure of a cell in two runs.
type ComparedFigure struct {
	JudgedFigure
	Verdict  stats.Verdict  `json:"verdict"` // on B's against A's
	Words    string         `json:"words"`
	Relative *stats.Verdict `json:"relative,omitempty"` // on the ratio to the baseline in B against that in A
}

// ComparedCell is a cell in two runs.
type ComparedCell struct {
	A        string           `json:"a"` // its name there
	B        string           `json:"b"`
	Relation string           `json:"relation,omitempty"`  // by which cells with different CPUs were matched
	Metric   string           `json:"metric,omitempty"`    // that is compared, and stands in seconds_a and seconds_b; "": a time
	By       *JudgedFigure    `json:"judged_by,omitempty"` // in A
	SecondsA Distribution     `json:"seconds_a"`
	SecondsB Distribution     `json:"seconds_b"`
	Verdict  stats.Verdict    `json:"verdict"` // on B's time against A's
	Words    string           `json:"words"`
	Relative *stats.Verdict   `json:"relative,omitempty"`  // on the ratio to the baseline in B against that in A
	Figures  []ComparedFigure `json:"figures,omitempty"`   // judged by both runs in addition to the deciding figure
	VerdictA string           `json:"verdict_a,omitempty"` // each run's verdict on the cell against its own baseline
	VerdictB string           `json:"verdict_b,omitempty"`
}
