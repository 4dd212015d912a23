// Package numa is `gorun numa`: it measures the distance between a process and its memory. A probe accesses memory, in a new process for each
// sample, while a load keeps all CPUs busy. A row says where the probe and its memory are, and what NUMA balancing may do.
package numa

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Experiment is `gorun numa`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:       "numa",
		Outlasting: true,
		Short:      "Measure the cost of the distance between a process and its memory",
		Question:   "What does the distance between a process and its memory cost?",
		Long: "A probe only accesses memory, in a new process for each sample, while a load on every CPU keeps\n" +
			"the kernel's load balancer at work. Rows bind the probe and its memory to nodes, or let them float, with\n" +
			"NUMA balancing off and on, and with a preferred node if the kernel supports it. Samples of all rows take turns,\n" +
			"and each row is judged against row [00].",
		Example: "  gorun numa\n" +
			"  gorun numa --mem 0,1,float --cpu 0,1,float --load 0\n" +
			"  gorun numa --preset rfc-intel",
	},
	Traits: experiment.Traits{
		Sampling: experiment.Sampling{
			Samples: 64, Warmup: 1, Budget: 60, Compares: true,
			Usage: map[string]string{
				"budget": "start only rounds of all rows that can end within this time; if given, it also cuts the\n" +
					"current round (0: no limit)",
				"precision": "width of the interval at which a row is sampled enough; given without\n" +
					"--samples, rounds continue until all rows are, or the budget is used up",
			},
		},
		Place:       experiment.Started,
		SharedFlags: []string{"blocks", "full", "rows", "preset", "preferred-node-by"},
		RowHint:     "give --mem, --cpu, --numa-balancing and --preferred-node one value each",
		Compared:    perAccess.Name,
		Columns:     columns,
		Count:       count,
		Picture: &experiment.Picture{
			Usage: "draw the times by node into this `file`",
			None:  hint.With(errors.New("cannot draw the run: no row has a good sample"), "--format table says why"),
			Draw:  []experiment.Draw{drawMaps},
		},
		View: &shown,
	},
	New:     func() experiment.Flags[Cell] { return &flags{} },
	Open:    open,
	Explain: explain,
})

// Cell describes what is measured in one cell.
type Cell struct {
	Request
	CPUs         cpuset.Set `json:"cpus"`          // of the run
	Load         float64    `json:"load"`          // on each of them, in percent
	SetBalancing bool       `json:"set_balancing"` // NUMA balancing, which applies to the whole machine, may be changed
}

// flags are the flags of `gorun numa`.
type flags struct {
	text        map[string]*string // of the axes
	preferredBy string
	preset      string
	table       matrix.Spec // of the preset
	which       string      // of the nodes are in the default rows
	full        bool
	blocks      bool
	load        float64
	accesses    uint64
	repetitions int
	settle      time.Duration
	nice        *int

	given func(name string) bool
	set   *experiment.FlagSet
}

// presets are the presets of gorun matrix that are tables of numa.
var presets = matrix.PresetsOf("numa")

// The defaults make a sample of about a third of a second: 10 repetitions of some 20 ns an access, when it has settled.
const (
	defaultLoad        = 60
	defaultAccesses    = 1 << 20
	defaultRepetitions = 10
	defaultSettle      = 100 * time.Millisecond
)

func (f *flags) Register(set *experiment.FlagSet) {
	f.text = map[string]*string{}
	for _, a := range axes {
		f.text[a.flag] = set.String(a.flag, a.unset, a.usage)
		if a.words != nil {
			set.Lists(a.flag, a.words)
		}
	}
	set.On("mem", (*topology.Machine).CompleteNodes)
	set.On("cpu", (*topology.Machine).CompleteNodes)
	set.Choice(&f.preferredBy, "preferred-node-by", ByPrctl, "`how` a node is preferred: "+catalog.List(preferredWays[:]),
		catalog.Completions(preferredWays[:]))
	experiment.Parsed(set, &f.preset, &f.table, "preset", "", "a `table` of the RFC, which sets NUMA balancing: "+catalog.List(presets), parsePreset)
	set.Complete("preset", catalog.Completions(presets))
	set.Choice(&f.which, "rows", rowsSome,
		"`which` nodes --mem, --cpu and --preferred-node have by default on a machine with more than two:\n"+
			"some (one for each distance from the memory's node) or all", []string{rowsSome, rowsAll})
	set.BoolVar(&f.full, "full", false, "all combinations; otherwise nodes are preferred only with the highest balancing value")
	set.BoolVar(&f.blocks, "blocks", false, "take all samples of a row, then all of the next; rows cannot be judged then")
	set.Float64Var(&f.load, "load", defaultLoad, "load on each CPU next to the probe, in percent (0: none)")
	set.Uint64Var(&f.accesses, "accesses", defaultAccesses, "accesses of a repetition")
	set.IntVar(&f.repetitions, "repetitions", defaultRepetitions, "repetitions of a sample")
	set.DurationVar(&f.settle, "settle", defaultSettle,
		"CPU time of uncounted accesses before the first repetition, in which caches settle; by default,\n"+
			"rows with NUMA balancing or a preferred node settle for several of the kernel's scans (4s)")
	set.Nice(&f.nice, " of the probe and of the load")
	set.Group("Probe", "buffer", "pages", "mem-policy", "first-touch", "access", "accesses", "repetitions", "settle")
	set.Group("Load", "load", "nice")
	set.Group("Rows")
	set.Rare("mem-policy", "scan-delay", "migration-cost", "preferred-node-by", "rows", "full", "blocks", "first-touch", "accesses", "repetitions",
		"settle")
	experiment.Bound(set, &f.load, "load", 0, 100)
	experiment.Bound(set, &f.accesses, "accesses", 1, math.MaxUint64)
	experiment.Bound(set, &f.repetitions, "repetitions", 1, math.MaxInt)
	experiment.Bound(set, &f.settle, "settle", 0, math.MaxInt64)
	f.given, f.set = set.Changed, set
}

func (f *flags) Validate() error {
	if f.blocks && f.given("precision") {
		return hint.Usage(hint.With(errors.New("--precision needs judged rows, and --blocks judges none"),
			"leave one of them out"))
	}
	return nil
}

// supported returns the rows on a machine, with the reason for those that it cannot measure, and the machine's support.
func (f *flags) supported(m experiment.Machine) (
	rows []result.NumaRow, given []map[string]string, support Support, warnings []result.Warning, err error,
) {
	support = ReadSupport(m.Root, m.Machine)
	if m.Live {
		support.Try(m.Machine, f.preferredBy)
	} else if errors.Is(support.Unread, fs.ErrNotExist) {
		support.Unread = nil // a capture does not have it
	}
	if !f.setsBalancing() && support.Unread != nil {
		*f.text["numa-balancing"] = keep
		warnings = append(warnings, result.WarningOf("numa-balancing", "rows keep NUMA balancing as it is", support.Unread))
	}
	if !f.setsBalancing() && support.SetBalancing == nil {
		support.SetBalancing = errors.New("it applies to the whole machine: give --numa-balancing 0,1 to change it for the run")
	}
	if rows, given, err = f.rows(m); err != nil {
		return nil, nil, support, nil, err
	}
	if m.Live {
		for _, k := range knobs {
			for _, row := range rows {
				if err := k.may(row); err != nil {
					return nil, nil, support, nil, hint.Flag(k.flag, duration(k.asks(row)), err)
				}
			}
		}
	}
	support.Mark(rows)
	return rows, given, support, warnings, nil
}

// scans is the number of NUMA balancing's scans for which a row with balancing settles, in addition to the delay before the
// first. The first passes mark the memory, faults follow, and the memory moves: with the kernel's defaults of 1 s each,
// all of this has started after 2.3 s of CPU time.
const scans = 3

// settles returns the CPU time in seconds that a row's probe spends on accesses before the ones that count.
func (f *flags) settles(row result.NumaRow, root fs.FS, support Support) float64 {
	balanced := row.NUMABalancing > 0 || row.NUMABalancing == KeepSetting && support.Balancing > 0
	if f.given("settle") || !balanced && row.PreferredNode == None {
		return f.settle.Seconds()
	}
	delay, period := linux.ReadNUMAScan(root)
	if row.ScanDelay > 0 {
		delay, period = row.ScanDelay, row.ScanDelay
	}
	return max(f.settle.Seconds(), delay+scans*period)
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	samples := f.fill()
	rows, given, support, warnings, err := f.supported(m)
	if err != nil {
		return r, err
	}
	r.Placement = "each row's own"
	r.Resources = f.resources(m, rows)
	c := Cell{
		Request: Request{
			Accesses: f.accesses, Repetitions: f.repetitions, Settle: f.settle.Seconds(), Seed: m.Seed,
			Nice: f.nice,
		},
		CPUs: m.CPUs, Load: f.load, SetBalancing: f.setsBalancing(),
	}
	list, measurable, settling, long := experiment.DescribeCPUs(m.Machine, m.CPUs.List()), 0, 0.0, false
	for i, row := range rows {
		c.Row, c.Settle = row, f.settles(row, m.Root, support)
		c.On = nodeCPUs(m.Machine, row.CPU, m.CPUs)
		r.Cells = append(r.Cells, f.cell(c, given[i], list))
		if row.Unsupported == "" {
			measurable++
			settling += c.Settle
			long = long || c.Settle > f.settle.Seconds()
		}
	}
	round, spec := f.round(rows, settling), f.spec(m)
	r.Schedule = matrix.Schedule{Order: matrix.RandomBlocks, Title: "NUMA placement", Samples: samples}
	if long && m.Sampling.Budget > 0 {
		r.Schedule.Budget = math.Ceil(max(m.Sampling.Budget, matrix.LeastRounds*round)) // with less no row could be judged
	}
	r.Spec = spec
	r.Plan = func(p *result.Plan) {
		samples, _ := spec["samples"].(int)
		budget, _ := spec["budget_seconds"].(float64)
		rounds := cmp.Or(samples, matrix.LeastRounds)
		p.Threads, p.NumaRows = 1, rows
		p.Estimate = &result.Estimate{
			RoundSeconds: round, Rounds: rounds, Asked: samples > 0, Seconds: round * float64(rounds),
			BudgetSeconds: budget,
		}
	}
	switch {
	case measurable == 1:
		r.Schedule.Order = matrix.Turns // no row to compare with
	case f.blocks:
		r.Schedule.Order = matrix.Rows
	}
	r.Warnings = append(r.Warnings, warnings...)
	r.Warnings = append(r.Warnings, needNodes(m.Machine, m.CPUs)...)
	r.Header = func(run *result.Run) { run.NumaRows = rows }
	return r, nil
}

// round estimates the total time of one sample of each row, in seconds: an access takes some 20 ns on a present
// machine, allocating the buffer takes 1 s per GiB, and starting and ending a process and its traces takes 0.1 s.
func (f *flags) round(rows []result.NumaRow, settling float64) (seconds float64) {
	for _, row := range rows {
		if row.Unsupported == "" {
			seconds += 0.1 + float64(row.BufferBytes)/(1<<30) + 20e-9*float64(f.accesses)*float64(f.repetitions)
		}
	}
	return seconds + settling
}

// resources returns the resources of a probe with the largest buffer, a burner on each CPU, and the guardian of
// what they change. Memory limits do not count reserved pages.
func (f *flags) resources(m experiment.Machine, rows []result.NumaRow) experiment.Resources {
	r := experiment.Resources{Less: "give a smaller --buffer, or --load 0"}
	if f.load > 0 {
		r.Processes = m.CPUs.Len()
	}
	r.Processes++
	if f.setsBalancing() || slices.ContainsFunc(rows, func(row result.NumaRow) bool {
		return row.ScanDelay > 0 || row.MigrationCost > 0
	}) {
		r.Processes++
	}
	for _, row := range rows {
		kind, _ := linux.ParsePageKind(row.Pages)
		if !linux.PageKinds[kind].HugeTLB && row.Unsupported == "" {
			r.Bytes = max(r.Bytes, row.BufferBytes)
		}
	}
	return r
}

// cell returns the cell of a row, which has these values of the axes.
func (f *flags) cell(do Cell, given map[string]string, cpus result.CPUs) experiment.Cell[Cell] {
	command := []string{"numa"}
	for _, a := range axes {
		if value, has := given[a.flag]; has {
			command = append(command, "--"+a.flag, value)
		}
	}
	given["row"] = strconv.Itoa(do.Row.Row)
	return experiment.Cell[Cell]{
		Do: do,
		Row: experiment.Row{
			Name: rowName(do.Row.Row), Running: rowName(do.Row.Row), Unavailable: do.Row.Unsupported,
			Flags: given, CPUs: map[string]result.CPUs{"cpus": cpus},
			Command: append(command, "--load", strconv.FormatFloat(f.load, 'g', -1, 64),
				"--preferred-node-by", f.preferredBy, "--accesses", strconv.FormatUint(f.accesses, 10),
				"--repetitions", strconv.Itoa(f.repetitions),
				"--settle", time.Duration(do.Settle*float64(time.Second)).Round(time.Millisecond).String(), "--cpus", cpus.List),
		},
	}
}

// duration formats seconds as a flag value; "" for 0.
func duration(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return time.Duration(math.Round(seconds * float64(time.Second))).String()
}

// spec holds the requested values by flag name.
type spec map[string]any

// SetSampling implements experiment.Sampled.
func (s spec) SetSampling(to experiment.Sampling) {
	s["samples"], s["budget_seconds"] = to.Samples, to.Budget // 0 samples: as many as are needed
}

// spec returns the requested values, without what is asked of the samples.
func (f *flags) spec(m experiment.Machine) spec {
	values := spec{
		"load": f.load, "accesses": f.accesses, "repetitions": f.repetitions, "preferred_node_by": f.preferredBy, "rows": f.which,
		"full": f.full, "blocks": f.blocks, "nice": f.nice, "cpus": m.CPUs.String(),
		"settle_seconds": f.settle.Seconds(), // for rows that do not wait for scans
	}
	for _, flag := range []string{"buffer", "pages", "access", "mem-policy", "first-touch", scanDelay.flag, migrationCost.flag} {
		values[strings.ReplaceAll(flag, "-", "_")] = *f.text[flag]
	}
	if f.preset != "" {
		values["preset"] = f.preset
	}
	return values
}

// explain adds the warnings of the samples: why migrations are not counted in the best way, and what is not known of NUMA
// balancing.
func explain(run *result.Run, _ []Cell) {
	add := func(w *result.Warning) {
		if w != nil && !slices.Contains(run.Warnings, *w) {
			run.Warnings = append(run.Warnings, *w)
		}
	}
	for _, s := range run.Samples.All() {
		if v, ok := result.Typed[Figures](s); ok {
			if v.Migrations != nil {
				add(v.Migrations.Worse)
			}
			add(v.Unread)
		}
	}
}
