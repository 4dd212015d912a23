package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/bytesize"
	"gorun/internal/catalog"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/matrix"
	"gorun/internal/measure"
	"gorun/internal/metrics"
	"gorun/internal/numa"
	"gorun/internal/render"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// numaOptions are the flags of `gorun numa`.
type numaOptions struct {
	env      env
	machine  machineFlags
	sampling samplingFlags
	output   outputFlags
	metrics  metricsFlags

	mem         string
	cpu         string
	balancing   string
	preferred   string
	preferredBy string
	full        bool
	blocks      bool
	load        float64
	loadOnly    bool
	duration    time.Duration
	buffer      string
	pages       string
	access      string
	accesses    uint64
	repetitions int
	settle      time.Duration
	nice        int
	precision   share
	margin      share
	svg         string

	changed func(name string) bool
}

// The defaults make a sample of about a third of a second: 10 repetitions of some 20 ns an access, when it has settled.
const (
	numaSamples     = 64
	numaBudget      = time.Minute
	numaLoad        = 60
	numaBuffer      = "256MiB"
	numaAccesses    = 1 << 20
	numaRepetitions = 10
	numaSettle      = 100 * time.Millisecond
)

func newNuma(e env, runF func(context.Context, *numaOptions) error) *cobra.Command {
	o := &numaOptions{
		env: e, sampling: samplingFlags{samples: numaSamples, warmup: 1, budget: numaBudget},
		precision: matrixPrecision, margin: matrixMargin,
	}
	cmd := &cobra.Command{
		Use:   "numa",
		Short: "Measure what it costs where a process and its memory are",
		Long: "A probe does nothing but access memory, in a process of its own for each sample, while a load on every CPU keeps\n" +
			"the kernel's load balancer at work. Rows bind the probe's memory and the probe to nodes, or let them float, with\n" +
			"NUMA balancing off and on, and with a preferred node where the kernel has that. Samples of all rows take turns,\n" +
			"and each row is judged against row [00].",
		Example: "  gorun numa\n" +
			"  gorun numa --mem 0,1,float --cpu 0,1,float --load 0\n" +
			"  gorun numa --access chase --buffer 32KiB,1MiB,32MiB,1GiB --mem float --cpu float --load 0\n" +
			"  gorun numa --load-only --load 60 --duration 10s",
		RunE: func(cmd *cobra.Command, _ []string) error { return runF(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&o.mem, "mem", "", "`nodes` that the memory is bound to, by commas, and float (default: each, and float)")
	flags.StringVar(&o.cpu, "cpu", "", "`nodes` whose CPUs the probe is bound to, by commas, and float (default: each, and float)")
	flags.StringVar(&o.balancing, "numa-balancing", "",
		"`values` of kernel.numa_balancing: 0, 1, keep, by commas; it is the whole machine's, and is\n"+
			"changed only when this flag is given (default: rows for 0 and 1, of which those run that it is)")
	flags.StringVar(&o.preferred, "preferred-node", "", "preferred `nodes`, by commas, and none (default: none, and each)")
	flags.StringVar(&o.preferredBy, "preferred-node-by", numa.PreferredWays[0].Name,
		"`how` a node is preferred: "+catalog.List(numa.PreferredWays[:]))
	flags.BoolVar(&o.full, "full", false, "the whole product; else nodes are preferred with the highest balancing only")
	flags.BoolVar(&o.blocks, "blocks", false, "all samples of a row, then all of the next: nothing can be judged then")
	flags.Float64Var(&o.load, "load", numaLoad, "load on each CPU beside the probe, in percent (0: none)")
	flags.BoolVar(&o.loadOnly, "load-only", false, "run the load alone, and tell what it achieves")
	flags.DurationVar(&o.duration, "duration", 0, "how long the load runs, with --load-only (0: until it is interrupted)")
	flags.StringVar(&o.buffer, "buffer", numaBuffer, "`sizes` of the probe's memory, by commas")
	flags.StringVar(&o.pages, "pages", linux.PageKinds[0].Name,
		"`kinds` of its pages, by commas: "+strings.Join(numa.PageNames(), ", "))
	flags.StringVar(&o.access, "access", numa.AccessNames()[0],
		"`ways` to access it, by commas: "+strings.Join(numa.AccessNames(), ", "))
	flags.Uint64Var(&o.accesses, "accesses", numaAccesses, "accesses of a repetition")
	flags.IntVar(&o.repetitions, "repetitions", numaRepetitions, "repetitions of a sample")
	flags.DurationVar(&o.settle, "settle", numaSettle,
		"time of accesses before the first repetition, which do not count: caches settle meanwhile")
	flags.IntVar(&o.nice, "nice", 0, "nice value of the probe and of the load, -20 to 19")
	flags.Lookup("nice").DefValue = ""
	flags.Var(&o.precision, "precision", "width of the interval at which a row has been sampled enough; given without\n"+
		"--samples, rounds go on until all rows have, or the budget is over")
	flags.Var(&o.margin, "margin", "a difference up to this is none")
	flags.StringVar(&o.svg, "svg", "", "draw the times into this `file`: over the sizes of the buffer, or by node")
	o.sampling.register(cmd)
	flags.Lookup("budget").Usage = "begin no round of all rows that would not end within this time; the first is always taken (0: no limit)"
	o.machine.register(cmd, e)
	o.output.register(cmd)
	o.metrics.register(flags)
	o.changed = flags.Changed
	_ = cmd.MarkFlagFilename("svg", "svg")
	completeWords(cmd, "preferred-node-by", catalog.Words(numa.PreferredWays[:]))
	completeWords(cmd, "numa-balancing", []string{"0", "1", "keep"})
	completeWords(cmd, "pages", numa.PageNames())
	completeWords(cmd, "access", numa.AccessNames())
	return cmd
}

// numaSpec is what was asked, by flag name.
type numaSpec struct {
	Load        float64 `json:"load"`
	Buffer      string  `json:"buffer"`
	Pages       string  `json:"pages"`
	Access      string  `json:"access"`
	Accesses    uint64  `json:"accesses"`
	Repetitions int     `json:"repetitions"`
	Settle      float64 `json:"settle_seconds"`
	PreferredBy string  `json:"preferred_node_by"`
	Full        bool    `json:"full"`
	Blocks      bool    `json:"blocks"`
	Nice        *int    `json:"nice"`
	CPUs        string  `json:"cpus"`
	Samples     int     `json:"samples"` // 0: as many as are needed
	Budget      float64 `json:"budget_seconds"`
}

func (o *numaOptions) validate() error {
	if err := o.output.validate(o.machine); err != nil {
		return err
	}
	switch {
	case !(o.load >= 0 && o.load <= 100): // nor NaN
		return usagef("--load %v: from 0 to 100 percent are possible", o.load)
	case o.loadOnly && o.load == 0:
		return usagef("--load-only with --load 0 has nothing to do")
	case o.duration < 0:
		return usagef("--duration %v: it cannot be negative", o.duration)
	case o.duration > 0 && !o.loadOnly:
		return usageError{hint.With(errors.New("--duration is how long --load-only lasts"),
			"give --budget or --samples for a measurement")}
	case o.accesses == 0:
		return usagef("--accesses 0: at least 1 is needed")
	case o.repetitions < 1:
		return usagef("--repetitions %d: at least 1 is needed", o.repetitions)
	case o.settle < 0:
		return usagef("--settle %v: it cannot be negative", o.settle)
	}
	if _, _, err := priority(o.changed, o.nice, ""); err != nil {
		return err
	}
	if o.changed("precision") && o.blocks {
		return usageError{hint.With(errors.New("--precision is of what is judged, and with --blocks nothing is"),
			"leave one of them out")}
	}
	return errors.Join(o.sampling.validate(), o.metrics.validate())
}

// rounds is how many all rows take in turns; 0: until all can be told.
func (o *numaOptions) rounds() int {
	if o.changed("precision") && !o.changed("samples") {
		return 0
	}
	return o.sampling.samples
}

// prepare makes the run: its rows, and those of them that can be measured as its cells.
func (o *numaOptions) prepare() (m machine, run *result.Run, err error) {
	if err = o.validate(); err != nil {
		return m, nil, err
	}
	if m, err = o.machine.read(o.env); err != nil {
		return m, nil, err
	}
	axes := numa.Axes{Full: o.full, PreferredBy: o.preferredBy}
	parse := func(flag, text string, parse func() error) {
		if parseErr := parse(); err == nil && parseErr != nil {
			err = usageError{hint.With(fmt.Errorf("--%s %s: %w", flag, text, parseErr), hint.Of(parseErr))}
		}
	}
	parse("mem", o.mem, func() (err error) { axes.Mem, err = numa.ParseMem(o.mem, m.Machine); return err })
	parse("cpu", o.cpu, func() (err error) { axes.CPU, err = numa.ParseCPU(o.cpu, m.Machine, m.cpus); return err })
	parse("numa-balancing", o.balancing, func() (err error) {
		axes.NUMABalancing,
			err = numa.ParseBalancing(o.balancing)
		return err
	})
	parse("preferred-node-by", o.preferredBy, func() (err error) {
		axes.PreferredBy,
			err = numa.ParsePreferredBy(o.preferredBy)
		return err
	})
	parse("preferred-node", o.preferred, func() (err error) {
		axes.PreferredNode, err = numa.ParsePreferred(o.preferred, o.preferredBy, m.Machine, m.cpus)
		return err
	})
	parse("buffer", o.buffer, func() (err error) { axes.Buffers, err = bytesize.ParseList(o.buffer); return err })
	parse("pages", o.pages, func() (err error) { axes.Pages, err = numa.ParsePages(o.pages); return err })
	parse("access", o.access, func() (err error) { axes.Access, err = numa.ParseAccess(o.access); return err })
	if err != nil {
		return m, nil, err
	}
	run, err = o.design(m, numa.Rows(axes))
	return m, run, err
}

// design is the run without samples.
func (o *numaOptions) design(m machine, rows []result.NumaRow) (*result.Run, error) {
	root, err := openRoot(o.env, o.machine.sysroot)
	if err != nil {
		return nil, err
	}
	caches, err := topology.ReadCaches(root, m.cpus.First())
	if err != nil {
		return nil, err
	}
	support, err := numa.ReadSupport(root, m.Machine)
	if err != nil {
		return nil, err
	}
	if o.machine.sysroot == "" {
		support.Probe(m.Machine, o.preferredBy)
	}
	if !o.changed("numa-balancing") && support.SetBalancing == nil {
		support.SetBalancing = errors.New("it is the whole machine's: give --numa-balancing 0,1 to have it changed for the run")
	}
	spec := numaSpec{
		Load: o.load, Buffer: o.buffer, Pages: o.pages, Access: o.access, Accesses: o.accesses, Repetitions: o.repetitions,
		Settle: o.settle.Seconds(), PreferredBy: o.preferredBy, Full: o.full, Blocks: o.blocks, CPUs: m.cpus.String(),
		Samples: o.rounds(), Budget: o.sampling.budget.Seconds(),
	}
	if o.changed("nice") {
		spec.Nice = &o.nice
	}
	run := &result.Run{
		Schema: result.Schema, Tool: tool(), Experiment: "numa", Spec: spec, Seed: o.sampling.seed,
		Command: commandLine(o.env.args),
		Started: o.env.now().UTC().Format(time.RFC3339Nano), NumaRows: rows,
		Matrix: &result.Matrix{
			Title: "NUMA placement", Alpha: matrixAlpha, Margin: float64(o.margin), Precision: float64(o.precision),
			Rounds: o.rounds(), Budget: o.sampling.budget.Seconds(),
		},
		Samples: []result.Sample{}, Findings: []result.Finding{}, Warnings: []result.Warning{},
	}
	for _, cache := range caches {
		run.Caches = append(run.Caches, result.Cache(cache))
	}
	if !o.loadOnly {
		run.Warnings = append(run.Warnings, numa.NeedNodes(m.Machine, m.cpus)...)
	}
	support.Mark(rows)
	cpus := matrix.DescribeCPUs(m.Machine, m.cpus.List())
	for _, row := range rows {
		if row.Unsupported == "" {
			run.Cells = append(run.Cells, o.cell(row, cpus))
		}
	}
	if len(run.Cells) == 1 {
		run.Matrix = nil // there is nothing to compare it with
	}
	if len(run.Cells) == 0 && !o.output.dryRun && !o.loadOnly {
		return nil, fmt.Errorf("no row can be measured: %s", rows[0].Unsupported)
	}
	return run, nil
}

// cell is a row as a cell of a matrix.
func (o *numaOptions) cell(row result.NumaRow, cpus result.CPUs) result.Cell {
	node := func(n int, none string) string {
		if n < 0 {
			return none
		}
		return strconv.Itoa(n)
	}
	flags := [][2]string{
		{"mem", node(row.Mem, "float")},
		{"cpu", node(row.CPU, "float")},
		{"numa-balancing", node(row.NUMABalancing, "keep")},
		{"preferred-node", node(row.PreferredNode, "none")},
		{"buffer", bytesize.Format(row.BufferBytes)},
		{"pages", row.Pages},
		{"access", row.Access},
	}
	cell := result.Cell{
		Name: fmt.Sprintf("[%02d]", row.Row), Flags: map[string]string{"row": strconv.Itoa(row.Row)},
		CPUs: map[string]result.CPUs{"cpus": cpus}, Command: []string{"numa"},
	}
	for _, f := range flags {
		cell.Flags[f[0]] = f[1]
		cell.Command = append(cell.Command, "--"+f[0], f[1])
	}
	cell.Command = append(cell.Command, "--load", strconv.FormatFloat(o.load, 'g', -1, 64),
		"--preferred-node-by", o.preferredBy, "--accesses", strconv.FormatUint(o.accesses, 10),
		"--repetitions", strconv.Itoa(o.repetitions), "--settle", o.settle.String(), "--cpus", cpus.List)
	return cell
}

// planNuma is what a command line with --dry-run would show.
func planNuma(e env, args []string) (plan *result.Plan, err error) {
	cmd := newNuma(e, func(_ context.Context, o *numaOptions) error {
		m, run, err := o.prepare()
		if err == nil {
			plan = o.dryRun(m, run)
		}
		return err
	})
	return plan, planBy(cmd, args)
}

func (o *numaOptions) dryRun(m machine, run *result.Run) *result.Plan {
	return &result.Plan{
		Schema: result.Schema, Tool: tool(), Experiment: "numa", Spec: run.Spec, CPUs: m.cpus.String(),
		Placement: "each row's own", Threads: 1, NumaRows: run.NumaRows,
	}
}

func runNuma(ctx context.Context, o *numaOptions) (err error) {
	m, run, err := o.prepare()
	if err != nil {
		return err
	}
	if o.output.dryRun {
		return render.Plan(o.env.stdout, o.dryRun(m, run), o.output.format)
	}
	s := &session{env: o.env, run: run}
	defer s.close(&err)
	if run.Host, err = measure.ReadHost(o.env.root, m.Machine, o.env.environ()); err != nil {
		return err
	}
	if run.Tool.SHA256, err = hashFile(o.env.self.Path); err != nil {
		return err
	}
	if s.watcher, err = measure.OpenOutside(o.env.root, m.cpus); err != nil {
		return err
	}
	p := &numaParent{o: o, m: m, s: s, rows: rowsOfCells(run)}
	if err := errors.Join(p.arrange(), p.hold()); err != nil {
		return err
	}
	draw, err := s.openSVG(o.svg, render.NumaSVG)
	if err != nil {
		return err
	}
	info := metrics.Info{Experiment: "numa", Version: version, Placement: "each row's own"}
	s.tally.cpus = m.cpus.Len()
	if err := s.start(o.output, o.metrics, s.tally.worked, info); err != nil {
		return err
	}
	s.tally.plan(p.course(), 0)
	if err := p.startLoad(ctx); err != nil {
		return err
	}
	if o.loadOnly {
		if err := p.watchLoad(ctx); err != nil {
			return err
		}
		return s.finish(ctx, o.output, o.metrics, o.sampling.strict)
	}
	if err := p.sample(ctx); err != nil {
		return err
	}
	p.explain()
	if err := draw(); err != nil {
		return err
	}
	return s.finish(ctx, o.output, o.metrics, o.sampling.strict)
}
