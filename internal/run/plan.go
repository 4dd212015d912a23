package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

// plan is a run before anything has been opened or measured.
type plan struct {
	x         experiment.Experiment
	machine   *machine
	cells     []experiment.Cell[any] // those that can be sampled, in the order of run.Cells if that is set
	needs     []need                 // of each cell
	listed    []result.Cell          // all cells, also those that this machine lacks; of a plan that shows them
	cpus      cpuset.Set             // of all cells
	schedule  matrix.Schedule
	resources experiment.Resources
	labels    experiment.Labels
	placement string // as flags, if it is the same for all cells
	kind      kind
	run       *result.Run

	candidates []any // what those of the run do

	addTo func(*result.Plan) // adds the experiment's own part of a plan; nil: none
}

// kind is what a run is for, which decides how it is planned, sampled and shown.
type kind int

const (
	// plainRun is a run of an experiment with its own rows and schedule. Warm-ups are executed once, before the run.
	plainRun kind = iota
	// matrixRun compares cells, each with its warm-ups before each sample. Gorun's own work is done by a fresh child for each.
	matrixRun
	// onceRun executes the user's command once, with this process's input, output and signals, which the command handles itself.
	onceRun
)

// fresh reports whether each sample is taken by a fresh child of gorun.
func (p *plan) fresh() bool { return p.kind == matrixRun && p.x.Place == experiment.Here }

// need is what a cell needs.
type need struct {
	experiment.Resources
	cpus    cpuset.Set
	checked bool  // once: the limits do not change during a run
	refusal error // why the machine does not allow it
}

// request is what a command line asks for: settings, each of which becomes a cell, or several if the experiment has several rows in it.
type request struct {
	matrix.Spec
	settings  []combination
	baseline  int // index of the setting
	contrasts []result.Contrast
	history   [][]int // of a search: see result.Matrix
	rows      bool    // cells are named by their rows, even if each setting has one
}

// combination is a combination of an experiment's flags: that of a plain run, or one of a matrix.
type combination struct {
	cell     result.Cell // how it is shown; of a plain run it has no name and no flags
	flags    experiment.Flags[any]
	cpus     cpuFlags
	sampling experiment.Sampling    // of a plain run
	given    func(flag string) bool // likewise
}

// row is a setting on the machine, or one of its rows.
type row struct {
	shown result.Cell
	cell  experiment.Cell[any]
	need  need
}

// plan plans every cell, so that an impossible cell is an error before anything runs.
func (c *command) plan(m *machine, q request) (p plan, err error) {
	p = plan{
		x: c.x, machine: m, kind: c.kind, run: newRun(c.env, c.x.Name, &c.Options),
	}
	settings := make([][]*row, len(q.settings))
	var judged []experiment.ComparedBy
	for i, s := range q.settings {
		rows, r, err := c.resolve(m, s)
		if err != nil && s.cell.Name != "" {
			err = hint.Usagef("cell %s: %w", s.cell.Name, err)
		}
		if err != nil {
			return p, err
		}
		warn(p.run, r.Warnings)
		settings[i], judged = rows, append(judged, r.Compared)
		if c.kind != matrixRun {
			c.settlePlain(&p, r)
		}
		if q.One {
			p.placement = r.Placement
		}
	}
	if c.kind == matrixRun {
		p.schedule = matrix.Schedule{Order: matrix.RandomBlocks, Title: q.Title, Compared: c.x.Compared, Samples: c.samples}
		p.run.Spec = common(q)
		if c.searches {
			p.schedule.Order = matrix.Searching
		}
	}
	if c.compares(&p, settings[0]) {
		p.run.Matrix = c.matrix(p.schedule, q)
	}
	if s, ok := p.run.Spec.(experiment.Sampled); ok {
		s.SetSampling(experiment.Sampling{Samples: p.schedule.Samples, Warmup: c.warmup, Budget: c.budget.Seconds()})
	}
	byRow := q.rows || p.lists() || slices.ContainsFunc(settings, func(rows []*row) bool { return len(rows) > 1 })
	for _, row := range slices.Concat(settings...) {
		if byRow {
			c.nameRow(row)
		}
	}
	if len(settings) > 1 {
		err = hint.Usage(c.pairUp(&p, q, settings, byRow))
	} else {
		err = p.addAll(settings[0])
	}
	if p.run.Matrix == nil || q.One || err != nil {
		return p, err
	}
	if err := c.settleMatrix(&p, judged); err != nil || c.why != WhyConfirm {
		return p, err
	}
	return p, c.addCandidates(&p)
}

// addCandidates adds what may confirm the causes of differences.
func (c *command) addCandidates(p *plan) error {
	if c.x.Candidates == nil || p.schedule.Order != matrix.RandomBlocks {
		return hint.Usage(hint.With(errors.New("--why=confirm is for programs that are started one at a time, and judged as the samples come"),
			"gorun ab, gorun exec --placements and gorun matrix exec do so"))
	}
	run := p.run
	pinned := map[int]string{}
	if header := c.header(); header != nil && header.Matrix != nil {
		for _, of := range header.Matrix.Candidates {
			if of.Axis == result.AxisCPUs {
				pinned[of.Cell] = of.Value
			}
		}
	}
	for i, cell := range p.cells {
		on := experiment.Machine{Machine: p.machine.Machine, CPUs: p.needs[i].cpus, Root: p.machine.root, Live: p.machine.live, Seed: c.seed}
		for _, candidate := range c.x.Candidates(on, cell.Do, pinned[i]) {
			candidate.Cell = i
			run.Matrix.Candidates = append(run.Matrix.Candidates, candidate.Candidate)
			p.candidates = append(p.candidates, candidate.Do)
		}
	}
	return nil
}

// lists reports whether all rows are listed with their names, also those that this machine lacks: those of a plain run that are
// compared, or whose plan has no part of its own.
func (p *plan) lists() bool { return p.kind != matrixRun && (p.run.Matrix != nil || p.addTo == nil) }

// settlePlain settles what a plain run has of its experiment.
func (c *command) settlePlain(p *plan, r experiment.Resolution[any]) {
	c.settleSchedule(&r.Schedule)
	p.schedule, p.labels, p.placement, p.addTo, p.run.Spec = r.Schedule, r.Labels, r.Placement, r.Plan, r.Spec
	if r.Header != nil {
		r.Header(p.run)
	}
}

// compares reports whether the cells of a run are compared: those of a matrix, or several that are in an order for it.
func (c *command) compares(p *plan, rows []*row) bool {
	able := 0
	for _, row := range rows {
		if row.cell.Unavailable == "" {
			able++
		}
	}
	if p.kind != matrixRun && able == 1 { // it is not compared, so no difference decides when it is sampled enough
		p.schedule.Order, p.schedule.Samples = matrix.Turns, c.samples
	}
	return p.kind == matrixRun || p.schedule.Order != matrix.Turns
}

// matrix returns how the cells are compared.
func (c *command) matrix(s matrix.Schedule, q request) *result.Matrix {
	m := &result.Matrix{
		Title: s.Title, Rules: matrix.Rules, Compared: s.Compared, Figures: c.x.JudgedColumns(s.Compared), Baseline: s.Baseline,
		Alpha: defaultAlpha, Margin: float64(c.margin), Precision: float64(c.precision), Rounds: s.Samples, Budget: c.budget.Seconds(), Columns: q.Columns, Layouts: q.Layouts,
	}
	if s.Order == matrix.RandomBlocks {
		end := c.ends(s.Samples)
		m.Enough, m.FailOn = end.Enough, end.FailOn
	}
	if c.kind == matrixRun {
		m.Warmup = c.warmup
	}
	if s.Order == matrix.Searching {
		m.Figures, m.History, m.Order = nil, q.history, matrix.Searched
	}
	return m
}

// settleMatrix settles which figures are judged, and in what order the cells are sampled.
func (c *command) settleMatrix(p *plan, judged []experiment.ComparedBy) error {
	for _, cell := range p.run.Cells {
		if err := shell.CheckText(cell.Command...); err != nil {
			return hint.Usage(err)
		}
	}
	run := p.run
	if p.kind == matrixRun {
		warnEqual(p)
		if err := settleJudged(run, judged); err != nil {
			return err
		}
		if c.searches {
			if len(run.Cells) != len(run.Matrix.History) {
				return hint.Usage(errOneCell)
			}
			run.Matrix.Figures = nil
			return nil
		}
		c.addSecond(run, p.cells)
		c.setSteps(run)
	}
	if err := c.failOn.Check(run); err != nil || p.schedule.Order != matrix.RandomBlocks {
		return err
	}
	judging, err := matrix.NewJudging(run, c.x.Columns)
	if err != nil {
		return hint.Usage(err)
	}
	run.Matrix.Order = judging.Order()
	return nil
}

var errOneCell = hint.With(errors.New("each revision is one cell of a search"), "give one value of each flag, without words such as auto")

// setSteps makes a run a search in order, if its cells ask for one, and nothing was given that asks for more of each cell than its answer.
// A run that is continued goes on by the rules that it began with.
func (c *command) setSteps(run *result.Run) {
	end, header := run.Matrix.Ends(), c.header()
	began := header == nil || header.Matrix == nil || header.Matrix.Rules >= matrix.StepsSince
	if began && !c.everyStep && !c.given("baseline") && end.Answers() && end.Samples == 0 {
		c.x.Scaling.SetSteps(run)
	}
}

// common returns the flags that all cells share.
func common(q request) map[string]string {
	var cells []result.Cell
	for _, s := range q.settings {
		cells = append(cells, s.cell)
	}
	spec := matrix.Common(cells)
	if len(q.Common) > 0 && spec == nil {
		spec = map[string]string{}
	}
	maps.Copy(spec, q.Common)
	return spec
}

// resolve resolves a setting on the machine.
func (c *command) resolve(m *machine, s combination) ([]*row, experiment.Resolution[any], error) {
	var r experiment.Resolution[any]
	on, err := m.share(s.cpus, c.seed)
	if err != nil {
		return nil, r, err
	}
	on.Sampling, on.Given = s.sampling, s.given
	if on.Given == nil {
		on.Given = func(flag string) bool { return flag == "why" && c.why != "" } // it alone asks for more figures of each cell
	}
	if flags := s.cell.Flags; c.kind == matrixRun {
		on.Recorded = slices.DeleteFunc(slices.Clone(on.Recorded), func(recorded result.Cell) bool {
			own := maps.Clone(recorded.Flags) // a row has more of them
			maps.Copy(own, flags)
			return !maps.Equal(own, recorded.Flags)
		})
	}
	if r, err = s.flags.Resolve(on); err != nil {
		return nil, r, err
	}
	if s.cell.CPUs, err = c.lists(m, on, s.cell.Flags); err != nil {
		return nil, r, err
	}
	c.endCommand(&s.cell)
	var rows []*row
	lacking := ""
	for _, cell := range r.Cells {
		if cell.Unavailable != "" && c.kind == matrixRun {
			lacking = cell.Unavailable // a word stands for the rows, of which this machine has the others
			continue
		}
		row := &row{shown: s.cell, cell: cell, need: need{Resources: r.Resources, cpus: on.CPUs}}
		if err := row.place(); err != nil {
			return nil, r, err
		}
		row.shown.Lines, row.shown.AtOnce, row.shown.Repeats, row.shown.Program = cell.Lines, cell.AtOnce, cell.Repeats, cell.Program
		row.shown.Chosen, row.shown.Unavailable, row.shown.By = cell.Chosen, cell.Unavailable, cell.By
		rows = append(rows, row)
	}
	if len(rows) == 0 && lacking != "" {
		return nil, r, errors.New(lacking)
	}
	return rows, r, nil
}

// place adds the row's own CPU lists to those of its setting, and restricts it to its own CPUs if it has any: the CPUs of a placement
// are not a flag of the cell.
func (r *row) place() (err error) {
	if own, has := r.cell.CPUs["cpus"]; has {
		if r.need.cpus, err = cpuset.Parse(own.List); err != nil {
			return err
		}
	}
	if len(r.cell.CPUs) > 0 {
		r.shown.CPUs = maps.Clone(r.shown.CPUs)
		maps.Copy(r.shown.CPUs, r.cell.CPUs)
	}
	return nil
}

// lists returns a setting's CPU lists on the machine, including the CPUs of the run.
func (c *command) lists(m *machine, on experiment.Machine, flags map[string]string) (map[string]result.CPUs, error) {
	lists := map[string]result.CPUs{"cpus": experiment.DescribeCPUs(m.Machine, on.CPUs.List())}
	for _, flag := range c.flags {
		text, given := flags[flag.Name]
		if !given || !flag.List || text == experiment.NoCPUs || flag.Name == "cpus" {
			continue
		}
		ids, err := m.Select(text, on.CPUs)
		if err != nil {
			return nil, hint.Flag(flag.Name, text, err)
		}
		lists[flag.Name] = experiment.DescribeCPUs(m.Machine, ids)
	}
	return lists, nil
}

// addAll makes the rows of one setting the cells. They are compared with the first one, or with those that they name.
func (p *plan) addAll(rows []*row) error {
	p.cells, p.needs = slices.Grow(p.cells, len(rows)), slices.Grow(p.needs, len(rows)) // c2c has half a million
	for _, row := range rows {
		p.add(row)
	}
	switch {
	case len(rows) == 0:
		return errors.New("no cell can be measured")
	case len(p.cells) == 0:
		return fmt.Errorf("no row can be measured: %s", rows[0].cell.Unavailable)
	}
	against(p.listed, rows)
	if p.run.Matrix == nil {
		return nil
	}
	able := slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return r.cell.Unavailable != "" })
	if against(p.run.Cells, able); p.run.Cells[0].Against != nil {
		p.run.Matrix.Baseline = *p.run.Cells[0].Against
	}
	return nil
}

// against sets the baseline of each cell to the one that its row names.
func against(cells []result.Cell, rows []*row) {
	for i, row := range rows {
		if row.cell.Against == "" || i >= len(cells) {
			continue
		}
		if at := slices.IndexFunc(cells, func(c result.Cell) bool { return c.Name == row.cell.Against }); at >= 0 {
			cells[i].Against = &at
		}
	}
}

// pairUp compares the rows of several settings: each with the same row of the baseline's setting, and in a contrast with the same row
// of its other setting. Rows that cannot be compared are left out. byRow: the cells are told apart by their rows.
func (c *command) pairUp(p *plan, q request, settings [][]*row, byRow bool) error {
	run := p.run
	having := map[string]int{}   // number of settings that have a row of this name
	compared := map[string]int{} // index of each row of the baseline, by its name
	for i, rows := range settings {
		for _, row := range rows {
			having[row.cell.Name]++
			if i == q.baseline {
				compared[row.cell.Name] = -1
			}
		}
	}
	var alone []string
	at := make([]map[string]int, len(settings)) // index of each row, by its name
	for i, rows := range settings {
		at[i] = map[string]int{}
		for _, row := range rows {
			if _, has := compared[row.cell.Name]; byRow && (!has || having[row.cell.Name] == 1) {
				alone = append(alone, row.shown.Name)
				continue
			}
			if i == q.baseline {
				compared[row.cell.Name] = len(run.Cells)
			}
			at[i][row.cell.Name] = len(run.Cells)
			p.add(row)
		}
	}
	for _, contrast := range q.contrasts {
		for _, row := range settings[contrast.B] {
			a, hasA := at[contrast.A][row.cell.Name]
			if b, hasB := at[contrast.B][row.cell.Name]; hasA && hasB {
				run.Matrix.Contrasts = append(run.Matrix.Contrasts, result.Contrast{A: a, B: b})
			}
		}
	}
	if len(run.Cells) == 0 {
		return hint.With(errors.New("the cells have no row in common with the baseline's"), c.x.RowHint)
	}
	if len(run.Cells) > matrix.MaxCells {
		return hint.With(fmt.Errorf("the matrix would have %d cells, more than %d", len(run.Cells), matrix.MaxCells), c.x.RowHint)
	}
	run.Matrix.Baseline = q.baseline
	if !byRow {
		return nil
	}
	for i := range run.Cells {
		run.Cells[i].Against = new(compared[p.cells[i].Name])
	}
	run.Matrix.Baseline = *run.Cells[0].Against
	if len(alone) > 0 {
		run.Warnings = append(run.Warnings, result.Warning{
			Code: "rows-alone", Message: "not measured: " + strings.Join(alone, "; "),
			Hint: "each row is compared with the same row of another cell, which does not exist for these",
		})
	}
	return nil
}

// nameRow gives a row its name, its flags and its command.
func (c *command) nameRow(r *row) {
	r.shown.Name = strings.TrimSpace(r.shown.Name + " " + r.cell.Name)
	if len(r.cell.Flags) > 0 {
		flags := map[string]string{}
		maps.Copy(flags, r.shown.Flags)
		maps.Copy(flags, r.cell.Flags)
		r.shown.Flags = flags
	}
	if len(r.cell.Command) > 0 || c.kind != matrixRun {
		r.shown.Command = append([]string{}, r.cell.Command...)
		return
	}
	r.shown.Command = []string{c.x.Name}
	for _, flag := range c.flags {
		if value, given := r.shown.Flags[flag.Name]; given {
			r.shown.Command = append(r.shown.Command, flag.Argument(value))
		}
	}
	c.endCommand(&r.shown)
}

// endCommand adds the words that all cells have.
func (c *command) endCommand(cell *result.Cell) {
	if len(c.args) > 0 {
		cell.Command = append(append(slices.Clone(cell.Command), "--"), c.args...)
	}
}

// add makes a row a cell of the run, if this machine has it.
func (p *plan) add(r *row) {
	if p.lists() {
		p.listed = append(p.listed, r.shown)
	}
	if r.cell.Unavailable != "" {
		return
	}
	if p.kind == matrixRun {
		r.cell.Running = r.shown.Name
	}
	if p.run.Matrix != nil {
		p.run.Cells = append(p.run.Cells, r.shown)
	}
	if last := len(p.needs) - 1; last < 0 || !p.needs[last].cpus.Equal(r.need.cpus) {
		p.cpus = p.cpus.Union(r.need.cpus)
	}
	p.cells, p.needs = append(p.cells, r.cell), append(p.needs, r.need)
	to, of := &p.resources, r.need.Resources
	to.Threads, to.GOMAXPROCS, to.Numbers, to.Less = max(to.Threads, of.Threads), of.GOMAXPROCS, of.Numbers, of.Less
	to.Processes, to.ProcessBytes = max(to.Processes, of.Processes), max(to.ProcessBytes, of.ProcessBytes)
	to.Bytes, to.Copies = max(to.Bytes, of.Bytes), max(to.Copies, of.Copies)
}

// warnEqual adds a warning for each cell that does the same on this machine as one before it.
func warnEqual(p *plan) {
	first := map[string]string{} // a cell's name, by its content
	for i, cell := range p.cells {
		content, err := json.Marshal([]any{cell.Do, p.needs[i].cpus})
		if err != nil {
			continue
		}
		name := p.run.Cells[i].Name
		if twin, found := first[string(content)]; found {
			p.run.Warnings = append(p.run.Warnings, result.Warning{
				Code: "same-cells", Message: fmt.Sprintf("on this machine the cells %s and %s are the same", twin, name),
			})
		}
		first[string(content)] = name
	}
}

// settleJudged settles which figures are judged, which must be the same in all cells.
func settleJudged(run *result.Run, all []experiment.ComparedBy) error {
	first := all[0]
	for _, j := range all {
		if j.Column != first.Column || j.Label != first.Label || j.Better != first.Better || !slices.Equal(j.Figures, first.Figures) {
			return hint.Usage(hint.With(errors.New("--metric and --better are not the same in all cells"),
				"all cells are compared by the same figures"))
		}
	}
	if first.Column != "" || first.Better != "" {
		m := run.Matrix
		m.Compared, m.Label, m.Better, m.Figures = first.Column, first.Label, first.Better, slices.Clone(first.Figures)
	}
	return nil
}

// addSecond adds the figures of the second family: those of the experiment, and those that some of the cells can have.
func (c *command) addSecond(run *result.Run, cells []experiment.Cell[any]) {
	figures := &run.Matrix.Figures
	for _, column := range c.x.Second {
		*figures = append(*figures, result.JudgedFigure{Column: column.Name, Label: column.Label, Second: true})
	}
	for _, cell := range cells {
		for _, f := range cell.Second {
			i := slices.IndexFunc(*figures, func(other result.JudgedFigure) bool { return other.Column == f.Column })
			if i < 0 {
				f.Second = true
				i, *figures = len(*figures), append(*figures, f)
			}
			(*figures)[i].Cells++
		}
	}
}
