package matrix

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// Side is one run of a comparison, with its verdicts, and the file that it was read from.
type Side struct {
	File string
	Run  *result.Run // its cells have verdicts
}

// implied lists the conditions that necessarily change with an intended one.
var implied = map[string][]string{
	"kernel": {"boot", "kernel-command-line", "mitigations"},
	"go":     {"binary", "version"},
	"binary": {"version"},
	"host": {
		"boot", "kernel", "kernel-command-line", "mitigations", "arch", "cpu-model", "microcode", "hypervisor", "topology", "smt",
		"turbo", "governor", "clocksource", "transparent-hugepages", "numa-balancing", "migration-cost", "aslr", "cpus", "gomaxprocs",
		"cpu-quota", "memory-limit",
	},
}

// flagsDiffer names the difference between two runs whose common flags, the same for all cells of a run, differ.
const flagsDiffer = "flags"

// Across returns the words that name an intended difference.
func Across() []string { return append(result.Conditions(), flagsDiffer) }

// ErrDiffer means that two runs differ in more than the intended way.
var ErrDiffer = errors.New("the two runs cannot be compared")

// Distinct returns the pairs of A and B without those of which an earlier pair has a run, and a warning if there are such: a run that is
// given again shows nothing new. It is an error if a run is one of A and of B.
func Distinct(sides []Side) (once []Side, warning *result.Warning, err error) {
	runs := make([]*result.Run, len(sides))
	for i, side := range sides {
		runs[i] = side.Run
	}
	counts, first := result.Once(runs), map[int]int{}
	for i, n := range counts {
		if before, found := first[n]; !found {
			first[n] = i
		} else if before%2 != i%2 {
			return nil, nil, hint.With(fmt.Errorf("%w: %s and %s hold the same run, once as A and once as B", ErrDiffer, sides[before].File,
				sides[i].File), "give two runs; of one journal alone, gorun compare shows the verdicts")
		}
	}
	taken, again := map[int]bool{}, ""
	for i := 0; i+1 < len(sides); i += 2 {
		a, b := counts[i], counts[i+1]
		if taken[a] || taken[b] {
			again = cmp.Or(again, sides[i].File+" and "+sides[i+1].File)
			continue
		}
		taken[a], taken[b] = true, true
		once = append(once, sides[a], sides[b])
	}
	if again != "" {
		warning = &result.Warning{
			Code: result.SameRun,
			Message: fmt.Sprintf("left out: %d of %d pairs, since a run of each is in an earlier pair; the first is %s", (len(sides)-len(once))/2,
				len(sides)/2, again),
			Hint: "measure again for each pair: a copy of a journal, or an earlier state of it, is the same run",
		}
	}
	return once, warning, nil
}

// Compare compares two matrices cell by cell: B against A. across names the intended differences; for others, Compare
// returns an error that wraps ErrDiffer and names them, or with force reports them in the result. More runs, of A and of B
// in turn, show how much equal runs differ.
func Compare(a, b Side, columns column.List, across []string, force bool, more ...Side) (*result.Comparison, error) {
	sides := append([]Side{a, b}, more...)
	for i := range sides[1:] {
		if len(a.Run.Units) > 0 {
			var err error
			if sides[i+1].Run, err = sides[i+1].Run.In(a.Run.Units); err != nil {
				return nil, hint.With(fmt.Errorf("%w: %s, compared with %s: %w", ErrDiffer, sides[i+1].File, a.File, err), hint.Of(err))
			}
		}
	}
	b = sides[1]
	for _, side := range sides {
		if side.Run.Matrix == nil {
			return nil, hint.With(fmt.Errorf("%s has samples of one setting, which cannot be compared with those of another run", side.File),
				"gorun ab 'COMMAND A' 'COMMAND B' compares commands; gorun matrix --out makes journals that can be compared")
		}
		if side.Run.Matrix.Order.Design == result.Rows {
			return nil, hint.With(fmt.Errorf("%s has all samples of a row after each other: drift between the rows cannot be "+
				"distinguished from a difference", side.File), "measure both without --blocks")
		}
	}
	if a.Run.Experiment != b.Run.Experiment {
		return nil, fmt.Errorf("%w: %s is of gorun %s and %s of gorun %s", ErrDiffer, a.File, a.Run.Experiment, b.File,
			b.Run.Experiment)
	}
	keys := Varying(a.Run.Cells, b.Run.Cells)
	c := &result.Comparison{
		Schema: result.Schema, Experiment: a.Run.Experiment, A: origin(a), B: origin(b), Units: a.Run.Units,
		Differences: append(result.Differences(a.Run, b.Run), fixed(a.Run.Cells, b.Run.Cells, keys)...),
	}
	var unmeant []string
	for _, d := range c.Differences {
		if !slices.ContainsFunc(across, func(word string) bool { return word == d.What || slices.Contains(implied[word], d.What) }) {
			if !slices.Contains(c.Unmeant, d.What) {
				c.Unmeant = append(c.Unmeant, d.What)
			}
			unmeant = append(unmeant, fmt.Sprintf("%s is %s in A and %s in B", d.What, d.A, d.B))
		}
	}
	c.Forced = len(unmeant) > 0
	if c.Forced && !force {
		return nil, hint.With(fmt.Errorf("%w: %s", ErrDiffer, strings.Join(unmeant, "; ")),
			"if you want the effect of that change, name it by --across "+strings.Join(c.Unmeant, ",")+
				"; --force compares anyway, and every line says so")
	}
	figures := make([][]Comparand, len(sides))
	for i, side := range sides {
		var err error
		figures[i], err = Comparands(side.Run, columns)
		if err == nil && i > 1 {
			err = repeats(sides[i%2], side, force)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", side.File, err)
		}
		switch {
		case i < 2: // these are A and B
		case i%2 == 0:
			c.MoreA = append(c.MoreA, origin(side))
		default:
			c.MoreB = append(c.MoreB, origin(side))
		}
	}
	if inA, inB := a.Run.Matrix.WarmupWords(), b.Run.Matrix.WarmupWords(); inA != inB {
		c.Warnings = append(c.Warnings, result.Warning{
			Code:    "warmup",
			Message: fmt.Sprintf("executions that each process dropped: %s in A and %s in B", inA, inB),
			Hint:    "give both the same --warmup",
		})
	}
	compareCells(c, sides, common(figures), keys)
	if len(c.Cells) == 0 {
		return nil, fmt.Errorf("%w: no cell of %s is in %s", ErrDiffer, a.File, b.File)
	}
	undecided := func(cell result.ComparedCell) bool { return cell.Verdict.Kind == stats.CantTell }
	if len(sides) < 2*stats.FewestPairs && slices.ContainsFunc(c.Cells, undecided) {
		c.Warnings = append(c.Warnings, tooFew(sides, c.Cells))
	}
	return c, nil
}

// repeats returns an error unless a further run of one side measured the same as the first.
func repeats(first, run Side, force bool) error {
	differences := append(result.Differences(first.Run, run.Run), fixed(first.Run.Cells, run.Run.Cells, nil)...)
	if len(differences) > 0 && !force {
		return fmt.Errorf("%w: not a repetition of %s: %s is %s there and %s here", ErrDiffer, first.File, differences[0].What,
			differences[0].A, differences[0].B)
	}
	same := func(x, y result.Cell) bool { return x.Name == y.Name }
	if first.Run.Experiment != run.Run.Experiment || !slices.EqualFunc(first.Run.Cells, run.Run.Cells, same) ||
		first.Run.Matrix.Baseline != run.Run.Matrix.Baseline {
		return fmt.Errorf("%w: not a repetition of %s: it has other cells", ErrDiffer, first.File)
	}
	return nil
}

// tooFew returns the warning for undecided cells: why this number of runs is not enough, and what would be.
func tooFew(sides []Side, cells []result.ComparedCell) result.Warning {
	var files []string
	for i := range 2 * stats.FewestPairs {
		if i < len(sides) {
			files = append(files, sides[i].File)
			continue
		}
		extension := filepath.Ext(sides[i%2].File)
		files = append(files, fmt.Sprintf("%s-%d%s", strings.TrimSuffix(sides[i%2].File, extension), i/2+1, extension))
	}
	w := result.Warning{
		Code:    result.FewRuns,
		Message: fmt.Sprintf("%d runs of each are too few to show how far runs drift apart by themselves.", len(sides)/2),
		Hint:    "gorun compare " + shell.Join(files),
	}
	inTurn := fmt.Sprintf(" Run both in turn, %d times each, and compare all.", stats.FewestPairs)
	if len(sides) > 2 {
		w.Message += inTurn
		return w
	}
	w.Message = "Two single runs can't tell: they do not show how far runs drift apart by themselves."
	least := math.Inf(1)
	for _, cell := range cells {
		if e := cell.Verdict.Typical; cell.Verdict.Kind == stats.CantTell && e.Bounded() {
			least = min(least, e.Hi/e.Ratio-1)
		}
	}
	if !math.IsInf(least, 1) {
		w.Message += fmt.Sprintf(" Differences below %.0f%% stay hidden here.", math.Ceil(100*least))
	}
	w.Message += inTurn
	return w
}

func origin(s Side) result.Origin {
	return result.Origin{
		File: s.File, Started: s.Run.Started, Host: s.Run.Host, Tool: s.Run.Tool, Samples: s.Run.Samples.Len(),
	}
}

// flagsOf returns the flags that any of the cells has.
func flagsOf(cells ...result.Cell) []string {
	flags := map[string]bool{}
	for _, cell := range cells {
		for flag := range cell.Flags {
			flags[flag] = true
		}
	}
	return slices.Sorted(maps.Keys(flags))
}

// Varying returns the flags in which the cells of any of the runs differ.
func Varying(runs ...[]result.Cell) []string {
	return slices.DeleteFunc(flagsOf(slices.Concat(runs...)...), func(flag string) bool {
		return !slices.ContainsFunc(runs, func(cells []result.Cell) bool {
			return slices.ContainsFunc(cells, func(c result.Cell) bool { return c.Flags[flag] != cells[0].Flags[flag] })
		})
	})
}

// fixed returns the differences in flags that do not vary within a run.
func fixed(a, b []result.Cell, keys []string) (differences []result.Difference) {
	for _, flag := range flagsOf(a[0], b[0]) {
		x, y := a[0].Flags[flag], b[0].Flags[flag]
		if x != y && !slices.Contains(keys, flag) {
			differences = append(differences, result.Difference{What: flagsDiffer, A: given(flag, x), B: given(flag, y)})
		}
	}
	return differences
}

func given(flag, value string) string {
	if value == "" {
		return "no --" + flag
	}
	return "--" + flag + " " + value
}

// Key returns the text by which a cell is matched: the flags in which cells differ. Between machines of different
// topology, CPUs given by number are matched by their relation, since their numbers have no common meaning.
func Key(c result.Cell, flags []string, elsewhere bool) (text, relations string) {
	var words, related []string
	for _, flag := range flags {
		value := c.Flags[flag]
		if list, found := c.CPUs[flag]; found && elsewhere {
			if _, err := cpuset.Parse(value); err == nil {
				value = list.Relation
				related = append(related, list.Relation)
			}
		}
		words = append(words, flag+"="+value)
	}
	return strings.Join(words, " "), strings.Join(related, "; ")
}

// match holds the indices of a cell of A and of the cell of B that is compared with it.
type match struct {
	a, b     int
	relation string // of their CPUs; "": the CPUs are the same, or have none
	relative bool   // their baselines match too
}

// matchCells matches the cells of the runs. Of several cells with the same key, the first is taken.
func matchCells(c *result.Comparison, a, b *result.Run, flags []string) (matches []match) {
	elsewhere := slices.ContainsFunc(c.Differences, func(d result.Difference) bool { return d.What == "topology" })
	partners := map[string]int{}
	for i, cell := range slices.Backward(b.Cells) {
		k, _ := Key(cell, flags, elsewhere)
		partners[k] = i
	}
	for i, cell := range a.Cells {
		k, relation := Key(cell, flags, elsewhere)
		j, found := partners[k]
		if !found {
			c.OnlyA = append(c.OnlyA, cell.Name)
			continue
		}
		delete(partners, k)
		matches = append(matches, match{a: i, b: j, relation: relation})
	}
	for i, cell := range b.Cells {
		if !slices.ContainsFunc(matches, func(m match) bool { return m.b == i }) {
			c.OnlyB = append(c.OnlyB, cell.Name)
		}
	}
	for i := range matches {
		m := &matches[i]
		m.relative = a.Against(m.a) != m.a && slices.ContainsFunc(matches, func(base match) bool {
			return base.a == a.Against(m.a) && base.b == b.Against(m.b)
		})
	}
	return matches
}

// compareCells matches the cells and judges each pair. figures has, for each figure, the comparand of each run.
func compareCells(c *result.Comparison, sides []Side, figures [][]Comparand, flags []string) {
	a, b := sides[0].Run, sides[1].Run
	matches := matchCells(c, a, b, flags)
	c.Cells = make([]result.ComparedCell, len(matches))
	for i, m := range matches {
		c.Cells[i] = result.ComparedCell{A: a.Cells[m.a].Name, B: b.Cells[m.b].Name, Relation: m.relation}
		if len(sides) == 2 {
			c.Cells[i].VerdictA, c.Cells[i].VerdictB = a.Cells[m.a].Words, b.Cells[m.b].Words
		}
	}
	forced := ""
	if c.Forced {
		forced = "forced across " + strings.Join(c.Unmeant, ", ") + ": "
	}
	first := make([]Comparand, len(figures)) // of the first run
	for f, figure := range figures {
		first[f] = figure[0]
	}
	cells := make([][]result.Samples, len(sides))
	for r, side := range sides {
		cells[r] = side.Run.ByCell()
	}
	for f, figure := range figures {
		comparisons := len(matches) * family(first, first[f].Second)
		faults := make([]Faults, len(sides))
		for r, side := range sides {
			faults[r] = faultsOf(side.Run, figure[r])
		}
		for i, m := range matches {
			cell := &c.Cells[i]
			by := first[f].of(m.a)
			of, seconds := compareFigure(sides, cells, figure, faults, m, by.design(a.Matrix, comparisons))
			of.Words = forced + of.Verdict.String()
			switch {
			case f == 0:
				if cell.By = a.Cells[m.a].By; cell.By != nil {
					cell.Metric = cell.By.Label
				} else if by.amount || by.rate {
					cell.Metric = a.MetricName()
				}
				cell.SecondsA, cell.SecondsB = by.distribute(seconds[0]), by.distribute(seconds[1])
				cell.Verdict, cell.Relative, cell.Words = of.Verdict, of.Relative, of.Words
			case of.Verdict.Kind != stats.Invalid:
				cell.Figures = append(cell.Figures, of)
			}
		}
	}
}

// compareFigure judges a pair of cells by a figure, of which each run has its comparand and faults. cells are the samples of each run by cell. It also returns the seconds
// of A and of B, of all runs.
func compareFigure(sides []Side, cells [][]result.Samples, figure []Comparand, faults []Faults, m match, design stats.Design) (
	of result.ComparedFigure, seconds [2][]float64,
) {
	by := figure[0].of(m.a)
	of.JudgedFigure = by.JudgedFigure
	var why, spoilt string
	var sessions [2][]stats.Session
	var ofCell, ofBase [2][]float64
	for r, side := range sides {
		s, at := r%2, [2]int{m.a, m.b}[r%2]
		name := string("AB"[s])
		if r > 1 {
			name += strconv.Itoa(r/2 + 1)
		}
		if other := figure[r].of(at); other.JudgedFigure != by.JudgedFigure {
			of.Verdict = stats.InvalidVerdict(fmt.Sprintf("by %s in A, and by %s in %s", cmp.Or(by.Label, "wall time"), cmp.Or(other.Label, "wall time"), name))
			return of, [2][]float64{}
		}
		if faults[r].none(at) {
			why = cmp.Or(why, "in "+name+": "+faults[r].cells[at].reason)
		}
		spoilt = cmp.Or(spoilt, faults[r].spoil(at, "the cell in "+name))
		session := sessionOf(side.Run, at, cells[r][at], figure[r])
		sessions[s], seconds[s] = append(sessions[s], session), append(seconds[s], session.Seconds...)
		cell, base := paired(cells[r][at], cells[r][side.Run.Against(at)], figure[r])
		ofCell[s], ofBase[s] = append(ofCell[s], cell...), append(ofBase[s], base...)
	}
	if why != "" {
		of.Verdict = stats.InvalidVerdict(why)
		return of, seconds
	}
	of.Verdict = stats.Sessions(sessions[0], sessions[1], design)
	if spoilt != "" {
		of.Verdict = of.Verdict.Unjudged(spoilt)
	} else if m.relative {
		of.Relative = new(stats.Relative(ofCell[0], ofBase[0], ofCell[1], ofBase[1], design))
	}
	return of, seconds
}

// common returns, for each run, the figures by which runs are compared: those that decided when the runs stopped, and
// the others that all runs judge.
func common(of [][]Comparand) (figures [][]Comparand) {
	for f, figure := range of[0] {
		each := make([]Comparand, 0, len(of))
		for _, run := range of {
			at := 0
			if f > 0 {
				at = slices.IndexFunc(run, func(other Comparand) bool { return other.Column == figure.Column })
			}
			if at == 0 && f > 0 || at < 0 {
				break
			}
			each = append(each, run[at])
		}
		if len(each) == len(of) {
			figures = append(figures, each)
		}
	}
	return figures
}

// sessionOf returns a cell's samples in the order of the rounds, without the baseline's duplicate.
func sessionOf(run *result.Run, cell int, samples result.Samples, figure Comparand) stats.Session {
	var s stats.Session
	cpus := run.Cells[cell].CPUs["cpus"].Count
	watched := 0.0 // CPU time
	for sample := range judgedOf(samples, figure) {
		s.Seconds = append(s.Seconds, figure.Of(sample))
		sig := sample.Quality.Signals
		if sig.StealSeconds != nil && sig.OtherSeconds != nil {
			watched += sig.WatchedSeconds * float64(cpus)
			s.Others = append(s.Others, min(1, sig.Share(sig.StealSeconds, cpus)+sig.Share(sig.OtherSeconds, cpus)))
		}
		if sig.CanarySeconds != nil && *sig.CanarySeconds > 0 {
			s.Canary = append(s.Canary, *sig.CanarySeconds)
		}
	}
	// The kernel counts in ticks: if their rounding at both ends of each sample is more than the margin, the share is
	// meaningless.
	if rounding := result.Tick * math.Sqrt(float64(len(s.Others))/6); rounding > run.Matrix.Margin*watched {
		s.Others = nil
	}
	return s
}

// judgedOf returns those of a cell's samples that can be judged by a figure, without the baseline's duplicate.
func judgedOf(samples result.Samples, figure Comparand) iter.Seq[*result.Sample] {
	return func(yield func(*result.Sample) bool) {
		for _, s := range samples.Each() {
			if !s.Control && figure.has(s) && !yield(s) {
				return
			}
		}
	}
}

// paired returns the seconds of a cell and of the baseline in the same blocks.
func paired(of, against result.Samples, figure Comparand) (seconds, baseline []float64) {
	type place struct{ round, block int }
	base := map[place]float64{}
	for s := range judgedOf(against, figure) {
		base[place{s.Round, s.Block}] = figure.Of(s)
	}
	for s := range judgedOf(of, figure) {
		if b, found := base[place{s.Round, s.Block}]; found {
			seconds, baseline = append(seconds, figure.Of(s)), append(baseline, b)
		}
	}
	return seconds, baseline
}
