package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"gorun/internal/catalog"
	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/result"
)

// Matrix is `gorun matrix EXPERIMENT`: every flag of the experiment takes several values.
type Matrix struct {
	env   Env
	x     experiment.Experiment
	flags []matrix.Flag
	axes  []*axis
	Options

	file     string
	preset   string
	exclude  []string
	baseline string
	args     []string  // arguments other than flags, the same for all cells
	commands *commands // of `gorun ab`: the words that are no flags are commands, each a group of cells; nil: they are not
	sourced  *sourced  // what finds the cells, as of `gorun bench`; nil: they are known
}

// axis is a flag of an experiment that takes several values.
type axis struct {
	flag   matrix.Flag
	kind   string // of the values, for help
	values []string
}

// Set appends values: a flag may be given several times.
func (a *axis) Set(text string) error {
	values, err := matrix.ParseValues(a.flag, text)
	a.values = append(a.values, values...)
	if a.flag.Joined {
		a.values = []string{strings.Join(a.values, "\n")}
	}
	return err
}

func (a *axis) String() string { return matrix.JoinList(a.values) }
func (a *axis) Type() string   { return a.kind }

// commaUsage is the rule of lists for help.
const commaUsage = `\, is a comma in a value`

// NewMatrix returns the command of a matrix, whose flags are in the set.
func NewMatrix(e Env, x experiment.Experiment) (*Matrix, *experiment.FlagSet) {
	c := &Matrix{env: e, x: x}
	set := experiment.NewFlagSet(x.Name)
	set.StringVar(&c.file, "file", "", "read groups of cells from this YAML `file`")
	presets := matrix.PresetsOf(x.Name)
	tables := make([]string, len(presets))
	for i, p := range presets {
		tables[i] = p.Name + ": " + p.Usage
	}
	set.StringVar(&c.preset, "preset", "", "a predefined `table`: "+strings.Join(tables, "; "))
	set.Lookup("preset").Hidden = len(presets) == 0
	set.StringArrayVar(&c.exclude, "exclude", nil, "leave out the cells with these `values`, such as workers=50,lock-thread=true (repeatable)")
	set.StringVar(&c.baseline, "baseline", "", "compare with the cell that has these `values` (default: the first)")
	set.StringVar(&c.svg, "svg", "", "draw the verdicts into this `file`")
	set.Group(experiment.GroupCells)
	c.registerDesign(set)
	c.registerRest(set)
	set.Words("preset", catalog.Words(presets))
	set.Files("file", "yaml", "yml")
	set.Files("svg", "svg")
	c.registerAxes(set)
	return c, set
}

// registerAxes adds the flags of a cell, each for several values, except those that the matrix has itself and those
// that are the same for all cells.
func (c *Matrix) registerAxes(set *experiment.FlagSet) {
	cell := newCellFlags(c.x)
	cell.set.VisitAll(func(f *pflag.Flag) {
		if set.Lookup(f.Name) != nil || slices.Contains(c.x.Single, f.Name) {
			return
		}
		name, _ := pflag.UnquoteUsage(f)
		a := &axis{kind: f.Value.Type(), flag: matrix.Flag{
			Name: f.Name, Switch: f.Value.Type() == "bool", Joined: f.Value.Type() == experiment.SeveralType, List: name == "list", Whole: name == "regex" || name == "masks" || name == "codes" || name == commandFlag, Default: f.DefValue,
		}}
		c.axes, c.flags = append(c.axes, a), append(c.flags, a.flag)
		added := set.VarPF(a, f.Name, "", f.Usage)
		added.DefValue, added.NoOptDefVal = f.DefValue, f.NoOptDefVal
		added.Annotations = f.Annotations
	})
	for _, completion := range cell.set.Completions {
		if set.Lookup(completion.Flag) != nil {
			completion.List = true
			set.Completions = append(set.Completions, completion)
		}
	}
}

// cellFlags are the flags of one cell.
type cellFlags struct {
	set   *experiment.FlagSet
	cpus  cpuFlags
	flags experiment.Flags[any]
}

func newCellFlags(x experiment.Experiment) *cellFlags {
	c := &cellFlags{set: experiment.NewFlagSet(x.Name), flags: x.New()}
	c.flags.Register(c.set)
	c.set.Group(experiment.GroupOwn)
	c.cpus.register(c.set)
	return c
}

// Run executes a command line; args are its arguments other than flags.
func (c *Matrix) Run(ctx context.Context, args []string) (err error) {
	c.args = args
	if err := c.validate(); err != nil {
		return err
	}
	if c.sourced != nil {
		defer func() { err = worseOutcome(err, c.sourced.source.Close()) }()
		if err := c.find(ctx); err != nil {
			return err
		}
		if len(c.sourced.found.Alone) > 0 {
			return c.showAlone(ctx)
		}
	}
	spec, err := c.spec()
	if err != nil {
		return err
	}
	m, err := openMachine(c.env.Root, c.sysroot)
	if err != nil {
		return err
	}
	m.recorded = c.recorded()
	p, err := c.plan(m, spec)
	if err != nil {
		return err
	}
	return c.measure(ctx, p)
}

// measure executes a plan, or shows it.
func (c *Matrix) measure(ctx context.Context, p plan) error {
	if c.plans() {
		return c.show(ctx, p)
	}
	return drive(ctx, c.env, &c.Options, p)
}

// spec returns the spec of the file or the preset, overridden by the axes of the command line.
func (c *Matrix) spec() (spec matrix.Spec, err error) {
	switch {
	case c.file != "" && c.preset != "":
		return spec, hint.Usagef("--file and --preset exclude each other")
	case c.file != "":
		file, err := os.Open(c.file)
		if err != nil {
			return spec, hint.Flag("file", c.file, err)
		}
		defer file.Close()
		if spec, err = matrix.ReadSpec(file); err != nil {
			return spec, hint.Flag("file", c.file, err)
		}
	case c.preset != "":
		if spec, err = matrix.Preset(c.preset); err != nil {
			return spec, hint.Flag("preset", c.preset, err)
		}
	case c.commands != nil:
		if spec.Groups, err = c.commands.groups(c.args, c.values); err != nil {
			return spec, hint.Usage(err)
		}
		c.args = nil
	case c.sourced != nil:
		spec.Groups = c.sourced.groups()
		c.args = nil
	default:
		spec = matrix.Spec{Groups: []matrix.Group{{}}}
	}
	if spec.Experiment != "" && spec.Experiment != c.x.Name {
		return spec, hint.Usage(hint.With(fmt.Errorf("its cells are for gorun %s", spec.Experiment),
			"gorun matrix "+spec.Experiment))
	}
	spec.Experiment = c.x.Name
	var axes []matrix.Axis
	for _, a := range c.axes {
		if len(a.values) > 0 && (c.commands == nil || !slices.Contains(perCommand, a.flag.Name)) {
			axes = append(axes, matrix.Axis{Flag: a.flag.Name, Values: a.values})
		}
	}
	spec = matrix.Override(spec, axes)
	if c.sourced != nil && len(spec.Groups) == 1 && len(c.sourced.columns(axes)) == len(c.sourced.found.Columns) {
		return spec, c.sourced.alone()
	}
	if c.commands != nil {
		spec.Columns = c.commands.columns(axes)
		if len(spec.Groups) == 1 && len(spec.Columns) == 1 {
			return spec, hint.Usage(hint.With(errors.New("one command is nothing to compare"),
				"give another command, each with its arguments in quotes, as 'sort FILE', or several values of a flag: --placement unbound,one-cpu"))
		}
	}
	for _, text := range c.exclude {
		conditions, err := matrix.ParseConditions(text)
		if err != nil {
			return spec, hint.Flag("exclude", text, err)
		}
		spec.Exclude = append(spec.Exclude, conditions)
	}
	if c.baseline != "" {
		if spec.Baseline, err = matrix.ParseConditions(c.baseline); err != nil {
			return spec, hint.Flag("baseline", c.baseline, err)
		}
	}
	c.settle(spec)
	return spec, nil
}

// values returns the values of a flag on the command line; empty: it was not given.
func (c *Matrix) values(flag string) []string {
	i := slices.IndexFunc(c.axes, func(a *axis) bool { return a.flag.Name == flag })
	if i < 0 {
		return nil
	}
	return c.axes[i].values
}

// settle takes the run's parameters from the spec unless a flag gives them.
func (c *Matrix) settle(spec matrix.Spec) {
	take := func(flag string, known bool, set func()) {
		if known && !c.changed(flag) {
			set()
		}
	}
	take("budget", spec.Budget > 0, func() { c.budget = spec.Budget })
	take("samples", spec.Samples != nil, func() { c.samples = *spec.Samples })
	take("warmup", spec.Warmup != nil, func() { c.warmup = *spec.Warmup })
	take("precision", spec.Precision != nil, func() { c.precision = share(*spec.Precision) })
	take("margin", spec.Margin != nil, func() { c.margin = share(*spec.Margin) })
	take("seed", spec.Seed != nil, func() { c.seed = *spec.Seed })
	c.settleSeed(spec.Seed != nil)
	if c.samples > 0 && !c.changed("budget") {
		c.budget = 0 // an explicit number is not cut
	}
	c.budgeted = c.changed("budget") || spec.Budget > 0 && c.budget > 0
}

// plan plans every cell, so that an impossible cell is an error before anything runs.
func (c *Matrix) plan(m *machine, spec matrix.Spec) (p plan, err error) {
	cells, baseline, err := spec.Cells(c.flags)
	if err != nil {
		return p, hint.Usage(err)
	}
	hasCommand := func(cell result.Cell) bool { return cell.Flags["command"] != "" }
	if c.x.Words && len(c.args) == 0 && !slices.ContainsFunc(cells, hasCommand) {
		return p, hint.Usage(hint.With(errors.New("no command was given"),
			fmt.Sprintf("gorun matrix %s %s", c.x.Name, c.x.Args)))
	}
	run := newRun(c.env, c.x.Name, &c.Options)
	common := matrix.Common(cells)
	run.Spec, run.Cells = common, cells
	if c.sourced != nil {
		if common == nil {
			common = map[string]string{}
		}
		maps.Copy(common, c.sourced.found.Spec)
		run.Spec = common
		var axes []matrix.Axis
		for _, a := range c.axes {
			axes = append(axes, matrix.Axis{Flag: a.flag.Name, Values: a.values})
		}
		spec.Columns = c.sourced.columns(axes)
	}
	run.Matrix = &result.Matrix{
		Title: spec.Title, Datum: c.x.Datum, Baseline: baseline, Alpha: defaultAlpha, Margin: float64(c.margin),
		Precision: float64(c.precision), Rounds: c.samples, Warmup: c.warmup, Budget: c.budget.Seconds(),
		Columns: spec.Columns,
	}
	if c.sourced != nil {
		run.Matrix.Layouts = c.sourced.found.Layouts
	}
	contrasts, err := spec.Contrasted(c.flags, cells, baseline)
	if err != nil {
		return p, hint.Usage(err)
	}
	p = plan{
		x: c.x, machine: m, fresh: c.x.Place == experiment.Here, matrix: true, run: run, name: "matrix " + c.x.Name,
		schedule: experiment.Schedule{Order: experiment.Blocks, Samples: c.samples},
	}
	combinations := make([][]row, len(cells))
	for i, cell := range cells {
		if combinations[i], err = c.resolve(&p, cell); err != nil {
			return p, hint.Usagef("cell %s: %w", cell.Name, err)
		}
	}
	if err := c.settleRows(&p, combinations, contrasts); err != nil {
		return p, hint.Usage(err)
	}
	if err := c.settleJudged(run, combinations); err != nil {
		return p, err
	}
	c.addSecond(run, p.cells)
	if err := c.failOn.Check(run); err != nil {
		return p, err
	}
	board, err := matrix.NewBoard(run, c.x.Columns)
	if err != nil {
		return p, hint.Usage(err)
	}
	run.Matrix.Order = board.Order()
	return p, nil
}

// row is one combination of flags, resolved on the machine, or one of its rows.
type row struct {
	shown   result.Cell
	cell    experiment.Cell[any]
	need    childNeed
	judged  experiment.Judged
	content string // equal for two rows that do the same
}

// resolve resolves a combination of flags on the machine.
func (c *Matrix) resolve(p *plan, cell result.Cell) ([]row, error) {
	f := newCellFlags(c.x)
	for _, flag := range c.flags { // in order: some depend on others
		if value, given := cell.Flags[flag.Name]; given {
			if err := f.set.Set(flag.Name, value); err != nil {
				return nil, err
			}
		}
	}
	if taken, err := experiment.Arguments(f.flags, c.args); err != nil {
		return nil, err
	} else if !taken && len(c.args) > 0 {
		return nil, fmt.Errorf("gorun %s takes no arguments, but got %q", c.x.Name, c.args[0])
	}
	if err := experiment.Validate(f.flags); err != nil {
		return nil, err
	}
	m, err := p.machine.share(f.cpus, c.seed)
	if err != nil {
		return nil, err
	}
	m.Given = func(string) bool { return false }
	m.Recorded = slices.DeleteFunc(slices.Clone(m.Recorded), func(recorded result.Cell) bool {
		flags := maps.Clone(recorded.Flags) // a row has more of them
		maps.Copy(flags, cell.Flags)
		return !maps.Equal(flags, recorded.Flags)
	})
	r, err := f.flags.Resolve(m)
	if err != nil {
		return nil, err
	}
	if len(c.args) > 0 {
		cell.Command = append(append(cell.Command, "--"), c.args...)
	}
	if cell.CPUs, err = c.lists(p.machine, m, f.cpus, cell.Flags); err != nil {
		return nil, err
	}
	warn(p.run, r.Warnings)
	var rows []row
	for _, of := range r.Cells {
		if of.Lacking != "" && len(r.Cells) == 1 {
			return nil, errors.New(of.Lacking)
		}
		if of.Lacking != "" {
			continue // a word stands for the rows, of which this machine has the others
		}
		row := row{shown: cell, cell: of, judged: r.Judged, need: childNeed{Resources: r.Resources, cpus: m.CPUs}}
		if row.shown.CPUs, err = row.place(); err != nil {
			return nil, err
		}
		row.shown.Lines, row.shown.AtOnce, row.shown.Repeats, row.shown.Program = of.Lines, of.AtOnce, of.Repeats, of.Program
		row.shown.Chosen = of.Chosen
		content, err := json.Marshal([]any{r.Spec, of.Flags}) // the spec does not define a row
		if err != nil {
			return nil, err
		}
		row.content = string(content)
		rows = append(rows, row)
	}
	return rows, nil
}

// place adds the row's own CPU lists to those of its combination of flags, and restricts it to its own CPUs if it has
// any: the CPUs of a placement are not a flag of the cell.
func (r *row) place() (lists map[string]result.CPUs, err error) {
	lists = maps.Clone(r.cell.CPUs)
	if lists == nil {
		lists = map[string]result.CPUs{}
	}
	if own, has := lists["cpus"]; has {
		if r.need.cpus, err = cpuset.Parse(own.List); err != nil {
			return nil, err
		}
	}
	for flag, list := range r.shown.CPUs {
		if _, has := lists[flag]; flag != "cpus" || !has {
			lists[flag] = list
		}
	}
	return lists, nil
}

// settleRows makes the cells: one for each combination of flags, or for each of its rows. Rows are compared with the
// same row of the baseline's combination, and in a contrast with the same row of its other combination; those that cannot
// be compared are left out.
func (c *Matrix) settleRows(p *plan, combinations [][]row, contrasts []result.Contrast) error {
	run := p.run
	baseline := run.Matrix.Baseline
	several := c.sourced != nil || slices.ContainsFunc(combinations, func(rows []row) bool { return len(rows) > 1 })
	having := map[string]int{}   // number of combinations that have a row of this name
	compared := map[string]int{} // index of each row of the baseline, by its name
	same := map[string]string{}  // a cell's name, by its content
	for i, rows := range combinations {
		for _, row := range rows {
			having[row.cell.Name]++
			if i == baseline {
				compared[row.cell.Name] = -1
			}
		}
	}
	run.Cells = nil
	var alone []string
	at := make([]map[string]int, len(combinations)) // index of each row, by its name
	for i, rows := range combinations {
		at[i] = map[string]int{}
		for _, row := range rows {
			if several {
				c.nameRow(&row)
			}
			if _, has := compared[row.cell.Name]; several && (!has || having[row.cell.Name] == 1) {
				alone = append(alone, row.shown.Name)
				continue
			}
			if i == baseline {
				compared[row.cell.Name] = len(run.Cells)
			}
			at[i][row.cell.Name] = len(run.Cells)
			c.add(p, row, same)
		}
	}
	for _, contrast := range contrasts {
		for _, row := range combinations[contrast.B] {
			a, hasA := at[contrast.A][row.cell.Name]
			if b, hasB := at[contrast.B][row.cell.Name]; hasA && hasB {
				run.Matrix.Contrasts = append(run.Matrix.Contrasts, result.Contrast{A: a, B: b})
			}
		}
	}
	if len(run.Cells) == 0 {
		return hint.With(errors.New("the cells have no row in common with the baseline's"), c.x.OneRow)
	}
	if len(run.Cells) > matrix.MaxCells {
		return hint.With(fmt.Errorf("the matrix would have %d cells, more than %d", len(run.Cells), matrix.MaxCells), c.x.OneRow)
	}
	if !several {
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
func (c *Matrix) nameRow(r *row) {
	r.shown.Name = strings.TrimSpace(r.shown.Name + " " + r.cell.Name)
	r.shown.Flags = maps.Clone(r.shown.Flags)
	maps.Copy(r.shown.Flags, r.cell.Flags)
	if len(r.cell.Command) > 0 {
		r.shown.Command = r.cell.Command
		return
	}
	command := slices.Clone(r.shown.Command)
	for _, flag := range c.flags {
		if value, given := r.cell.Flags[flag.Name]; given {
			command = append(command, "--"+flag.Name+"="+value)
		}
	}
	r.shown.Command = command
}

// add makes a row a cell of the run.
func (c *Matrix) add(p *plan, r row, same map[string]string) {
	if twin, found := same[r.content]; found {
		p.run.Warnings = append(p.run.Warnings, result.Warning{
			Code:    "same-cells",
			Message: fmt.Sprintf("on this machine the cells %s and %s are the same", twin, r.shown.Name),
		})
	}
	same[r.content] = r.shown.Name
	r.cell.Running = r.shown.Name
	p.run.Cells, p.cells, p.needs = append(p.run.Cells, r.shown), append(p.cells, r.cell), append(p.needs, r.need)
	p.cpus = p.cpus.Union(r.need.cpus)
	p.resources.Threads = max(p.resources.Threads, r.need.Threads)
	p.resources.Processes = max(p.resources.Processes, r.need.Processes)
	p.resources.ProcessBytes = max(p.resources.ProcessBytes, r.need.ProcessBytes)
	p.resources.Bytes, p.resources.Less = max(p.resources.Bytes, r.need.Bytes), r.need.Less
}

// lists returns a cell's CPU lists on the machine, including the CPUs of the run.
func (c *Matrix) lists(m *machine, share experiment.Machine, f cpuFlags, flags map[string]string) (map[string]result.CPUs, error) {
	lists := map[string]result.CPUs{"cpus": experiment.DescribeCPUs(m.Machine, share.CPUs.List())}
	for _, flag := range c.flags {
		text, given := flags[flag.Name]
		if !given || !flag.List || text == experiment.NoCPUs || flag.Name == "cpus" {
			continue
		}
		ids, err := m.Select(text, share.CPUs)
		if err != nil {
			return nil, hint.Flag(flag.Name, text, err)
		}
		lists[flag.Name] = experiment.DescribeCPUs(m.Machine, ids)
	}
	return lists, nil
}

// settleJudged settles which figures are judged, which must be the same in all cells.
func (c *Matrix) settleJudged(run *result.Run, combinations [][]row) error {
	run.Matrix.Figures = c.x.Figures(run.Matrix.Datum)
	all := slices.Concat(combinations...)
	if len(all) == 0 {
		return nil
	}
	first := all[0].judged
	for _, row := range all {
		if j := row.judged; j.Datum != first.Datum || j.Better != first.Better || !slices.Equal(j.Figures, first.Figures) {
			return hint.Usage(hint.With(errors.New("--metric and --better are not the same in all cells"),
				"all cells are compared by the same figures"))
		}
	}
	if first.Datum != "" {
		run.Matrix.Datum, run.Matrix.Better, run.Matrix.Figures = first.Datum, first.Better, slices.Clone(first.Figures)
	}
	return nil
}

// addSecond adds the figures of the second family: those of the experiment, and those that some of the cells can have.
func (c *Matrix) addSecond(run *result.Run, cells []experiment.Cell[any]) {
	figures := &run.Matrix.Figures
	for _, column := range c.x.Second {
		*figures = append(*figures, result.Figure{Column: column.Name, Label: column.Label, Second: true})
	}
	for _, cell := range cells {
		for _, f := range cell.Second {
			i := slices.IndexFunc(*figures, func(other result.Figure) bool { return other.Column == f.Column })
			if i < 0 {
				f.Second = true
				i, *figures = len(*figures), append(*figures, f)
			}
			(*figures)[i].Cells++
		}
	}
}

// show prints the cells, the order and, with --estimate, the time of the run, for which it runs the baseline once.
func (c *Matrix) show(ctx context.Context, p plan) (err error) {
	run := p.run
	shown := &result.Plan{
		Schema: result.Schema, Tool: c.env.Tool, Experiment: c.x.Name, Spec: run.Spec,
		Cells: run.Cells, Baseline: run.Matrix.Baseline, Order: run.Matrix.Order, Seed: &run.Seed,
		Contrasts: run.Matrix.Contrasts,
	}
	seconds := 0.0
	if c.estimate {
		d := &driver{plan: p, options: &c.Options, session: &session{env: c.env, run: run}}
		d.tally.begin(c.env.Now)
		defer d.close(&err)
		if err := d.settle(); err != nil {
			return err
		}
		d.options.out, d.options.svg, d.options.metricsFlags = "", "", metricsFlags{given: c.changed}
		d.options.exportJSON, d.options.exportMarkdown = "", ""
		if err := d.open(ctx); err != nil {
			return err
		}
		cut, cancel := d.within(ctx, 0)
		defer cancel()
		if err := d.ready(cut); err != nil {
			return d.ended(ctx, cut, "--setup", longer, err)
		}
		run.Matrix.Warmup = max(1, run.Matrix.Warmup)
		begun := c.env.Now()
		sample, err := d.takeSample(cut, run.Matrix.Baseline)
		if cut.Err() != nil {
			return d.ended(ctx, cut, "the estimate", "give a longer --budget", cut.Err())
		}
		if err != nil {
			return err
		}
		if sample.Quality.Verdict == result.Invalid {
			return noBaseline(spoilt(sample))
		}
		seconds = c.env.Now().Sub(begun).Seconds()
	}
	shown.Estimate = estimate(run.Matrix, seconds)
	return c.env.Views.Plan(c.env.Stdout, shown, c.format)
}

// estimate assumes that every sample takes as long as the baseline's; 0 seconds: not known.
func estimate(m *result.Matrix, baseline float64) *result.Estimate {
	samples := 0
	for _, block := range m.Order.First {
		samples += len(block)
	}
	e := &result.Estimate{
		BaselineSeconds: baseline, RoundSeconds: baseline * float64(samples), BudgetSeconds: m.Budget,
		Rounds: cmp.Or(m.Rounds, matrix.LeastRounds), Asked: m.Rounds > 0,
	}
	e.Seconds = e.RoundSeconds * float64(e.Rounds)
	return e
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}
