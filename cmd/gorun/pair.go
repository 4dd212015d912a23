package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/bytesize"
	"gorun/internal/catalog"
	"gorun/internal/child"
	"gorun/internal/hint"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/metrics"
	"gorun/internal/process"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// pairOptions are the flags and arguments of `gorun pair`.
type pairOptions struct {
	env      env
	machine  machineFlags
	sampling samplingFlags
	output   outputFlags
	metrics  metricsFlags

	args      []string // A B [LOOPS]; with auto [LOOPS]
	auto      bool
	work      string
	array     string
	precision share
	margin    share

	changed func(name string) bool
}

// pairSamples are those of one pair, and pairBudget is how long they take at most; with --auto, rounds go on for
// matrixBudget.
const (
	pairSamples = 5
	pairBudget  = 10 * time.Second
)

func newPair(e env, runF func(context.Context, *pairOptions) error) *cobra.Command {
	o := &pairOptions{
		env: e, sampling: samplingFlags{samples: pairSamples, warmup: 1, budget: pairBudget},
		precision: matrixPrecision, margin: matrixMargin,
	}
	cmd := &cobra.Command{
		Use:   "pair {A B | --auto} [LOOPS]",
		Short: "Measure what it does to two processes how their CPUs stand to each other",
		Long: "A process on CPU A and one on CPU B start together and each make LOOPS loops of the work: by default\n" +
			"system calls. In a ping-pong they hand a turn back and forth, and a loop is a round trip. With --auto\n" +
			"there is a pair for each relation of two CPUs that the machine has, from the same CPU on; they take\n" +
			"turns, and each is judged against the first.",
		Example: "  gorun pair 0 1\n" +
			"  gorun pair 0 0 30000000 --samples 1\n" +
			"  gorun pair --auto\n" +
			"  gorun pair --auto --work pingpong-futex",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return runF(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&o.auto, "auto", false, "take the pairs from the machine, one for each relation")
	flags.StringVar(&o.work, "work", process.Works[0].Name, "what each process does: `name` of\n"+workUsages())
	flags.StringVar(&o.array, "array", "", "`size` of the array of sum, of each process (default: the L2 of CPU A)")
	flags.Var(&o.precision, "precision", "with --auto: width of the interval at which a pair has been sampled enough")
	flags.Var(&o.margin, "margin", "with --auto: a difference up to this is none")
	o.sampling.register(cmd)
	flags.Lookup("samples").Usage += "\n(with --auto, of each pair; by default as many as are needed within --budget, 1m)"
	o.machine.register(cmd, e)
	o.output.register(cmd)
	o.metrics.register(flags)
	o.changed = flags.Changed
	completeWords(cmd, "work", catalog.Words(process.Works))
	return cmd
}

// workUsages are the works, a line each.
func workUsages() (text string) {
	for i, word := range catalog.Words(process.Works) {
		if i > 0 {
			text += "\n"
		}
		text += "  " + word
	}
	return text
}

// pairSpec is what was asked, by flag name.
type pairSpec struct {
	Work       string  `json:"work"`
	Auto       bool    `json:"auto"`
	Loops      uint64  `json:"loops"`       // 0: each pair has its own
	ArrayBytes uint64  `json:"array_bytes"` // 0: the work has none
	CPUs       string  `json:"cpus"`
	Samples    int     `json:"samples"` // 0: as many as are needed
	Warmup     int     `json:"warmup"`
	Budget     float64 `json:"budget_seconds"`
}

func (o *pairOptions) validate() error {
	if err := o.output.validate(o.machine); err != nil {
		return err
	}
	if _, err := catalog.Find(process.Works, "work", o.work); err != nil {
		return usageError{err}
	}
	if o.array != "" && o.work != "sum" {
		return usageError{hint.With(fmt.Errorf("--array is of the work sum, and this is %s", o.work), "give --work sum")}
	}
	for _, name := range []string{"precision", "margin"} {
		if o.changed(name) && !o.auto {
			return usageError{hint.With(fmt.Errorf("--%s is for comparing pairs, and this is one", name), "give --auto")}
		}
	}
	if o.auto && !o.changed("budget") {
		o.sampling.budget = matrixBudget
	}
	return errors.Join(o.sampling.validate(), o.metrics.validate())
}

// arguments are the two CPUs and the loops of the command line; 0 loops are the work's default.
func (o *pairOptions) arguments(m machine) (pair topology.Pair, loops uint64, err error) {
	args := o.args
	if !o.auto {
		if len(args) < 2 {
			return pair, 0, usageError{hint.With(errors.New("a pair is two CPUs, A and B, which may be the same"),
				"gorun pair 0 1, or gorun pair --auto for one pair of each relation")}
		}
		for i, cpu := range []*int{&pair.A, &pair.B} {
			if *cpu, err = oneCPU(m, args[i]); err != nil {
				return pair, 0, usageError{hint.With(fmt.Errorf("CPU %c %s: %w", 'A'+i, args[i], err), hint.Of(err))}
			}
		}
		pair.Relation = m.Relation(pair.A, pair.B)
		args = args[2:]
	}
	switch {
	case len(args) == 0:
		return pair, 0, nil
	case len(args) > 1 && o.auto:
		return pair, 0, usageError{hint.With(fmt.Errorf("--auto chooses the CPUs itself, and got %d arguments", len(args)),
			"give LOOPS alone, or the CPUs without --auto")}
	case len(args) > 1:
		return pair, 0, usagef("gorun pair takes A, B and LOOPS, and got %q too", args[1])
	}
	loops, err = strconv.ParseUint(args[0], 10, 63)
	if err != nil || loops == 0 {
		return pair, 0, usageError{hint.With(fmt.Errorf("LOOPS %s: it is not a whole number from 1 on", args[0]),
			fmt.Sprintf("without it each process makes %d", process.DefaultLoops(o.work, pair.Relation)))}
	}
	return pair, loops, nil
}

// oneCPU is the only CPU of a list.
func oneCPU(m machine, list string) (int, error) {
	cpus, err := m.Select(list, m.cpus)
	if err != nil {
		return 0, err
	}
	if len(cpus) > 1 {
		return 0, hint.With(fmt.Errorf("these are %d CPUs", len(cpus)), "name one of them")
	}
	return cpus[0], nil
}

// pairPlan is what the options come to on a machine.
type pairPlan struct {
	rows     []result.PairRow // relations that have no pair too
	measured []result.PairRow // those that have one
	requests []process.PairRequest
	spec     pairSpec
}

// prepare does all that needs no run.
func (o *pairOptions) prepare() (m machine, p pairPlan, err error) {
	if err = o.validate(); err != nil {
		return m, p, err
	}
	if m, err = o.machine.read(o.env); err != nil {
		return m, p, err
	}
	pair, loops, err := o.arguments(m)
	if err != nil {
		return m, p, err
	}
	p.rows = []result.PairRow{process.Row(pair, o.work, loops)}
	if o.auto {
		p.rows = process.AutoRows(m.Machine, m.cpus, o.work, loops)
	}
	p.spec = pairSpec{
		Work: o.work, Auto: o.auto, Loops: loops, CPUs: m.cpus.String(), Samples: o.sampling.samples,
		Warmup: o.sampling.warmup, Budget: o.sampling.budget.Seconds(),
	}
	if p.spec.ArrayBytes, err = o.arrayBytes(p.rows[0].CPUA); err != nil {
		return m, p, err
	}
	for _, row := range p.rows {
		if row.Lacking != "" {
			continue
		}
		p.measured = append(p.measured, row)
		p.requests = append(p.requests, process.PairRequest{
			Pair: topology.Pair{A: row.CPUA, B: row.CPUB, Relation: m.Relation(row.CPUA, row.CPUB)},
			Work: o.work, Loops: row.Loops, ArrayBytes: p.spec.ArrayBytes,
		})
	}
	if !slices.ContainsFunc(p.measured, func(row result.PairRow) bool { return row.Loops != p.measured[0].Loops }) {
		p.spec.Loops = p.measured[0].Loops
	}
	if len(p.measured) > 1 && !o.changed("samples") {
		p.spec.Samples = 0
	}
	return m, p, nil
}

// arrayBytes is the size of a process's array, of a pair whose first CPU this is.
func (o *pairOptions) arrayBytes(cpu int) (uint64, error) {
	if o.work != "sum" {
		return 0, nil
	}
	if o.array == "" {
		root, err := openRoot(o.env, o.machine.sysroot)
		if err != nil {
			return 0, err
		}
		return process.ReadL2(root, cpu)
	}
	sizes, err := bytesize.ParseList(o.array)
	if err != nil {
		return 0, usageError{hint.With(fmt.Errorf("--array %s: %w", o.array, err), hint.Of(err))}
	}
	if len(sizes) > 1 {
		return 0, usagef("--array %s: one size is possible", o.array)
	}
	return sizes[0], nil
}

// pairPlaced is where the processes are, in words.
const pairPlaced = "a process pinned to each CPU of the pair"

func (o *pairOptions) dryRun(m machine, p pairPlan) *result.Plan {
	return &result.Plan{
		Schema: result.Schema, Tool: tool(), Experiment: "pair", Spec: p.spec, CPUs: m.cpus.String(), Placement: pairPlaced,
		PairRows: p.rows,
	}
}

// design is the run without samples. Several pairs are the cells of a matrix; they may have different loops, so what is
// compared is the time of one.
func (o *pairOptions) design(m machine, p pairPlan) *result.Run {
	run := &result.Run{
		Command: commandLine(o.env.args),
		Schema:  result.Schema, Tool: tool(), Experiment: "pair", Spec: p.spec, Seed: o.sampling.seed,
		Started: o.env.now().UTC().Format(time.RFC3339Nano),
		Samples: []result.Sample{}, Findings: []result.Finding{}, Warnings: []result.Warning{},
	}
	if w, some := process.Lacking(p.rows); o.auto && some {
		run.Warnings = append(run.Warnings, w)
	}
	if len(p.measured) == 1 {
		return run
	}
	run.Matrix = &result.Matrix{
		Title: "CPUs of two processes", Datum: "ns_per_loop", Alpha: matrixAlpha, Margin: float64(o.margin),
		Precision: float64(o.precision), Rounds: p.spec.Samples, Budget: p.spec.Budget,
	}
	for i, row := range p.measured {
		run.Cells = append(run.Cells, o.cell(m, row, p.requests[i]))
	}
	return run
}

// cell is a pair as a cell of a matrix.
func (o *pairOptions) cell(m machine, row result.PairRow, r process.PairRequest) result.Cell {
	a, b, loops := strconv.Itoa(r.A), strconv.Itoa(r.B), strconv.FormatUint(r.Loops, 10)
	cell := result.Cell{
		Name:  row.Relation,
		Flags: map[string]string{"pair": a + "," + b, "relation": row.Relation, "loops": loops, "work": o.work},
		CPUs: map[string]result.CPUs{
			"cpus": matrix.DescribeCPUs(m.Machine, m.cpus.List()),
			"pair": {List: a + "," + b, Count: 2, Relation: row.Relation},
		},
		Command: []string{"pair", a, b, loops, "--work", o.work, "--cpus", m.cpus.String()},
	}
	if r.Relation == topology.SameCPU {
		cell.CPUs["pair"] = result.CPUs{List: a + "," + b, Count: 1, Relation: row.Relation}
	}
	if r.ArrayBytes > 0 {
		cell.Flags["array"] = bytesize.Format(r.ArrayBytes)
		cell.Command = append(cell.Command, "--array", cell.Flags["array"])
	}
	return cell
}

func runPair(ctx context.Context, o *pairOptions) (err error) {
	m, p, err := o.prepare()
	if err != nil {
		return err
	}
	if o.output.dryRun {
		return render.Plan(o.env.stdout, o.dryRun(m, p), o.output.format)
	}
	s := &session{env: o.env, run: o.design(m, p)}
	defer s.close(&err)
	if s.run.Host, err = measure.ReadHost(o.env.root, m.Machine, o.env.environ()); err != nil {
		return err
	}
	if s.run.Tool.SHA256, err = hashFile(o.env.self.Path); err != nil {
		return err
	}
	if s.watcher, err = measure.OpenOutside(o.env.root, m.cpus); err != nil {
		return err
	}
	var board *matrix.Board
	if s.run.Matrix != nil {
		if board, err = matrix.NewBoard(s.run); err != nil {
			return err
		}
		s.run.Matrix.Order = board.Order()
	}
	s.tally.cpus = m.cpus.Len()
	info := metrics.Info{Experiment: "pair", Version: version, Placement: pairPlaced}
	if err := s.start(o.output, o.metrics, s.tally.worked, info); err != nil {
		return err
	}
	self := o.env.self.In(measure.Environment(o.env.environ()))
	if board == nil {
		err = o.measureOne(ctx, s, self, p.requests[0])
	} else {
		err = o.measureAll(ctx, s, board, self, p.requests)
	}
	if err != nil {
		return err
	}
	return s.finish(ctx, o.output, o.metrics, o.sampling.strict)
}

// measureOne takes the samples of one pair.
func (o *pairOptions) measureOne(ctx context.Context, s *session, self child.Self, r process.PairRequest) error {
	now := fmt.Sprintf("CPUs %d and %d", r.A, r.B)
	progress := term.Progress{What: "pair", Now: func() string { return now }}
	return s.measure(ctx, o.sampling, 0, o.output.quiet, progress, func(ctx context.Context) (result.Sample, error) {
		return process.MeasurePair(ctx, self, r)
	})
}

// measureAll has the pairs take turns until they are judged.
func (o *pairOptions) measureAll(ctx context.Context, s *session, board *matrix.Board, self child.Self,
	requests []process.PairRequest,
) error {
	s.tally.plan(result.Course{
		Samples: s.run.Matrix.Rounds * board.Round(), Budget: s.run.Matrix.Budget,
	}, 0)
	take := func(ctx context.Context, cell int) (result.Sample, error) {
		finish := s.watcher.Watch()
		sample, err := process.MeasurePair(ctx, self, requests[cell])
		if err == nil {
			finish(&sample)
		}
		return sample, err
	}
	for range o.sampling.warmup {
		if _, err := take(ctx, 0); err != nil || ctx.Err() != nil {
			s.run.Partial = true
			return err
		}
	}
	err := s.takeTurns(ctx, board, o.output.quiet,
		func(ctx context.Context, slot result.Slot) (result.Sample, error) { return take(ctx, slot.Cell) })
	if err == nil && !s.run.Partial && !board.Done() {
		s.run.Warnings = append(s.run.Warnings, result.Warning{
			Code:    "budget",
			Message: fmt.Sprintf("the budget ended after %d rounds, before all could be told", board.Rounds()),
			Hint:    "give a longer --budget, or --samples for a fixed number",
		})
	}
	return err
}
