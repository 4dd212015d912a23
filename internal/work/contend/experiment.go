package contend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Experiment is `gorun contend`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "contend",
		Short:    "Measure operations on memory that several CPUs use at the same time",
		Question: "How long does an operation on memory take while several CPUs use it?",
		Long: "In each row of the load pattern, some CPUs repeat one operation at the same time, each with a thread pinned to it.\n" +
			"All threads start together. By default a row lasts for --time, and only those windows count in which all threads\n" +
			"ran. With --count each thread makes a fixed number of operations; towards the end the slower ones run alone, which\n" +
			"makes the average too good.",
		Example: "  gorun contend --op cmpxchg --load cpu-increase\n" +
			"  gorun contend --op xadd,cas-loop,faa-go\n" +
			"  gorun contend --op xadd --dist-bytes 0,8,64,128 --format csv",
	},
	Traits: experiment.Traits{
		Sampling: experiment.Sampling{Samples: 1},
		Place:    experiment.Here,
		RowHint:  "choose a row by --rows, or give --load one-iteration and several --cpus",
		Compared: perOperation.Name,
		Columns:  columns,
		Picture: &experiment.Picture{
			Usage: "draw time and throughput over the number of CPUs into this `file`",
			None:  hint.With(errors.New("cannot draw a curve: no operation ran on different numbers of CPUs"), "use --load cpu-increase"),
		},
		View: &shown,
	},
	New:  func() experiment.Flags[Cell] { return &flags{} },
	Open: open,
})

// Cell is a row of the plan and how to measure it.
type Cell struct {
	Row     result.ContendRow `json:"row"`
	Timing  Timing            `json:"timing"`
	Variant string            `json:"variant"`
	Nodes   map[int]int       `json:"nodes"` // of the CPUs of all rows
}

// Together returns the cell in which all CPUs repeat an operation at the same time, on one word on the first node with memory.
func Together(m experiment.Machine, op string, lasting time.Duration) (c Cell, err error) {
	of, err := lookupOp(op)
	if err != nil {
		return c, err
	}
	o := Sweep{Ops: []Op{of}, Load: Loads[0], DistBytes: []int{0}, Variant: bestVariant()}
	if o.Nodes, err = nodesOf(m.Machine, m.CPUs, ""); err != nil {
		return c, err
	}
	if o.MemNodes, err = parseMemNodes("", m.Machine, o.Nodes); err != nil {
		return c, err
	}
	rows := Rows(o)
	if len(rows) == 0 {
		return c, errors.New("no node has memory")
	}
	return cellsOf(m, rows, Timing{Time: lasting, Window: defaultWindow}, o.Variant)[0], nil
}

// cellsOf returns the cells of rows.
func cellsOf(m experiment.Machine, rows []result.ContendRow, timing Timing, variant string) []Cell {
	nodes := map[int]int{} // of the CPUs that run
	cells := make([]Cell, len(rows))
	for i, row := range rows {
		cpus, _ := cpuset.Parse(row.CPUList) // formatted by Rows
		for cpu := range cpus.All() {
			nodes[cpu] = m.NodeOf(cpu)
		}
		cells[i] = Cell{Row: row, Timing: timing, Variant: variant, Nodes: nodes}
	}
	return cells
}

// Resources returns what the rows of the cell's plan need.
func (c Cell) Resources() experiment.Resources { return experiment.Resources{Threads: len(c.Nodes)} }

// flags are the flags of `gorun contend`.
type flags struct {
	op              string
	load            string
	rows            string
	count           uint64
	time            time.Duration
	window          time.Duration
	dist, distBytes string
	memNode         string
	nodes           string
	variant         string

	ops               []Op
	dists, bytesApart []int

	given func(name string) bool
}

// A row lasts a hundred windows. Each is long compared with a timer interrupt.
const (
	defaultTime   = 100 * time.Millisecond
	defaultWindow = time.Millisecond
)

func (f *flags) Register(set *experiment.FlagSet) {
	experiment.Parsed(set, &f.op, &f.ops, "op", "cmpxchg", "`operations`, by commas, or all: "+catalog.List(Ops[:]), parseOps)
	set.Choice(&f.load, "load", Loads[0].Name, "load `pattern`: "+catalog.List(Loads[:]), catalog.Completions(Loads[:]))
	set.Uint64Var(&f.count, "count", 0, "operations of each thread (0: run for --time)")
	set.DurationVar(&f.time, "time", defaultTime,
		"how long a row lasts; windows in which not all threads ran do not count")
	set.DurationVar(&f.window, "window", defaultWindow, "length of a window")
	experiment.Parsed(set, &f.dist, &f.dists, "dist", "",
		"`distances` 0 to 8, by commas, as ccont counts them: the index of a CPU's word is CPU * distance, and of\n"+
			"test_bit and set_bit that of the word with bit CPU << distance (default: one word for all)", parseMultiples(1, maxDist))
	experiment.Parsed(set, &f.distBytes, &f.bytesApart, "dist-bytes", "",
		"`bytes` between the words of two threads, by commas, for false sharing", parseMultiples(wordBytes, maxDistBytes))
	set.StringVar(&f.memNode, "mem-node", "",
		"`node` of the memory: numbers, near:DEVICE, far:DEVICE, local (the row's first CPU's), or all\n"+
			"(default: the first node)")
	set.StringVar(&f.nodes, "nodes", "", "take the CPUs of these `nodes` only: numbers, near:DEVICE, far:DEVICE")
	set.On("mem-node", (*topology.Machine).CompleteNodes)
	set.On("nodes", (*topology.Machine).CompleteNodes)
	experiment.Parsed(set, &f.variant, &f.variant, "variant", "", "variant of the instruction, if there are several: "+
		strings.Join(Variants("arm64"), ", ")+" on arm64\n(default: the best for this CPU)", parseVariant)
	set.StringVar(&f.rows, "rows", "", "measure only these `rows` of the plan, numbered from 0")
	set.Group("Memory", "dist", "dist-bytes", "mem-node")
	set.Group("Work")
	set.Lists("op", catalog.Completions(Ops[:]))
	experiment.Bound(set, &f.count, "count", 1, math.MaxUint64)
	experiment.Bound(set, &f.window, "window", LeastWindow, math.MaxInt64)
	set.Complete("variant", Variants("arm64"))
	f.given = set.Changed
}

func (f *flags) Validate() error {
	switch {
	case f.count > 0 && f.given("time"):
		return hint.Usagef("--count and --time exclude each other")
	case f.time < LeastWindows*f.window || f.time > MostWindows*f.window:
		return hint.Usage(hint.With(fmt.Errorf("--time %v: with windows of %v it must be from %v to %v", f.time, f.window,
			LeastWindows*f.window, MostWindows*f.window), "give another --time or --window"))
	case f.dist != "" && f.distBytes != "":
		return hint.Usagef("--dist and --dist-bytes exclude each other: give one of them")
	}
	return nil
}

// plan returns the rows that the flags select on a machine. A captured machine is planned as if it had this architecture.
func (f *flags) plan(m experiment.Machine) (o Sweep, rows []result.ContendRow, err error) {
	o = Sweep{Ops: f.ops, Dist: f.dists, DistBytes: f.bytesApart, Variant: cmp.Or(f.variant, bestVariant())}
	if f.dist == "" && f.distBytes == "" {
		o.DistBytes = []int{0}
	}
	o.Load, _ = LookupLoad(f.load) // a choice
	if o.Nodes, err = nodesOf(m.Machine, m.CPUs, f.nodes); err != nil {
		return o, nil, hint.Flag("nodes", f.nodes, err)
	}
	if o.MemNodes, err = parseMemNodes(f.memNode, m.Machine, o.Nodes); err != nil {
		return o, nil, hint.Flag("mem-node", f.memNode, err)
	}
	if rows, err = chosen(Rows(o), f.rows); err != nil {
		return o, nil, hint.Flag("rows", f.rows, err)
	}
	differ := func(row result.ContendRow) bool { return row.CPUs != rows[0].CPUs }
	if m.Given("svg") && len(rows) > 0 && !slices.ContainsFunc(rows, differ) {
		return o, nil, hint.Usage(hint.With(
			errors.New("--svg draws a curve over the number of CPUs, and all rows have the same"),
			"give --load cpu-increase and several CPUs"))
	}
	return o, rows, nil
}

// chosen returns the rows named by --rows.
func chosen(rows []result.ContendRow, list string) ([]result.ContendRow, error) {
	if list == "" {
		return rows, nil
	}
	numbers, err := cpuset.Parse(list)
	if err != nil {
		return nil, err
	}
	if last := numbers.Last(); last >= len(rows) {
		return nil, hint.With(fmt.Errorf("there is no row %d", last),
			fmt.Sprintf("the plan has rows 0 to %d (--dry-run shows them)", len(rows)-1))
	}
	return slices.DeleteFunc(rows, func(row result.ContendRow) bool { return !numbers.Contains(row.Row) }), nil
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	o, rows, err := f.plan(m)
	if err != nil {
		return r, err
	}
	timing := Timing{Count: f.count, Time: f.time, Window: f.window}
	var ops, memNodes, distances []string
	note := func(list *[]string, value any) {
		if word := fmt.Sprint(value); !slices.Contains(*list, word) {
			*list = append(*list, word)
		}
	}
	for _, c := range cellsOf(m, rows, timing, o.Variant) {
		row := c.Row
		r.Resources = c.Resources()
		note(&ops, row.Op)
		note(&memNodes, row.MemNode)
		note(&distances, row.DistBytes)
		r.Cells = append(r.Cells, experiment.Cell[Cell]{
			Do: c,
			Row: experiment.Row{
				Name: fmt.Sprintf("--rows %d", row.Row), Flags: map[string]string{"rows": strconv.Itoa(row.Row)},
				Running: row.Op + " on CPUs " + row.CPUList,
			},
		})
	}
	s := &spec{
		Op: strings.Join(ops, ","), Load: f.load, Mode: timing.Mode(), Count: f.count, DistBytes: strings.Join(distances, ","),
		Dist: f.dist, MemNode: strings.Join(memNodes, ","), Nodes: nodeList(o.Nodes), Variant: o.Variant, Rows: f.rows,
		SamplingSpec: experiment.SamplingSpec{CPUs: m.CPUs.String()},
	}
	if f.count == 0 {
		s.Time, s.Window = f.time.Seconds(), f.window.Seconds()
	}
	r.Spec = s
	r.Placement = "a thread pinned to each CPU of the row"
	r.Plan = func(p *result.Plan) { p.ContendRows = rows }
	return r, nil
}

// spec holds the requested values by flag name.
type spec struct {
	Op        string  `json:"op"`
	Load      string  `json:"load"`
	Mode      string  `json:"mode"`
	Count     uint64  `json:"count"`
	Time      float64 `json:"time_seconds"`
	Window    float64 `json:"window_seconds"`
	DistBytes string  `json:"dist_bytes"`
	Dist      string  `json:"dist,omitempty"` // as written in the flag
	MemNode   string  `json:"mem_node"`
	Nodes     string  `json:"nodes"` // that have CPUs of the run, ascending
	Variant   string  `json:"variant"`
	Rows      string  `json:"rows"`
	experiment.SamplingSpec
}

// sampler takes samples with one runner.
type sampler struct{ *Runner }

func open(_ experiment.Environment, cells []Cell) (experiment.Sampler[Cell], error) {
	runner, err := Open(cells[0].Nodes, cells[0].Variant)
	return sampler{runner}, err
}

func (s sampler) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	return s.Measure(ctx, c.Row, c.Timing)
}
