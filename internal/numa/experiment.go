package numa

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/bytesize"
	"gorun/internal/catalog"
	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// Experiment is `gorun numa`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "numa",
		Short:    "Measure the cost of the distance between a process and its memory",
		Question: "What does the distance between a process and its memory cost?",
		Long: "A probe only accesses memory, in a new process for each sample, while a load on every CPU keeps\n" +
			"the kernel's load balancer at work. Rows bind the probe and its memory to nodes, or let them float, with\n" +
			"NUMA balancing off and on, and with a preferred node if the kernel supports it. Samples of all rows take turns,\n" +
			"and each row is judged against row [00]. On a machine with one node, where no memory is far, the time of an\n" +
			"access is measured by the size of the memory.",
		Example: "  gorun numa\n" +
			"  gorun numa --mem 0,1,float --cpu 0,1,float --load 0\n" +
			"  gorun numa --preset latency --buffer 32KiB,1MiB,32MiB,1GiB\n" +
			"  gorun numa --load-only --load 60 --duration 10s",
	},
	Sampling: experiment.Sampling{
		Samples: 64, Warmup: 1, Budget: 60, Compares: true,
		Usage: map[string]string{
			"budget": "start only rounds of all rows that can end within this time; if given, it also cuts the\n" +
				"current round (0: no limit)",
			"precision": "width of the interval at which a row is sampled enough; given without\n" +
				"--samples, rounds continue until all rows are, or the budget is used up",
		},
	},
	Place:   experiment.Started,
	Single:  []string{"load-only", "duration", "blocks", "full", "rows", "preset", "preferred-node-by"},
	OneRow:  "give --mem, --cpu, --numa-balancing and --preferred-node one value each",
	Datum:   perAccess.Name,
	Columns: columns,
	New:     func() experiment.Flags[Cell] { return &flags{} },
	Open:    open,
	Explain: explain,
	Picture: &experiment.Picture{
		Usage: "draw the times into this `file`: over the sizes of the buffer, or by node", Draw: writeSVG,
	},
	View:   &shown,
	Others: map[string]experiment.Other{"load": {View: shownLoad, Columns: loadColumns}},

	Reference: published,
})

// Cell holds the settings of one cell.
type Cell struct {
	Request
	Load         float64 `json:"load"`          // on each CPU, in percent
	SetBalancing bool    `json:"set_balancing"` // NUMA balancing, a setting of the whole machine, may be changed
	LoadOnly     bool    `json:"load_only"`     // without a probe
}

// flags are the flags of `gorun numa`.
type flags struct {
	mem         string
	cpu         string
	balancing   string
	scanDelay   string
	cost        string
	preferred   string
	preferredBy string
	preset      string
	rows        string
	full        bool
	blocks      bool
	load        float64
	loadOnly    bool
	duration    time.Duration
	buffer      string
	pages       string
	memPolicy   string
	firstTouch  string
	access      string
	accesses    uint64
	repetitions int
	settle      time.Duration
	nice        experiment.Nice

	given func(name string) bool
	set   *experiment.FlagSet
}

// The defaults make a sample of about a third of a second: 10 repetitions of some 20 ns an access, when it has settled.
const (
	defaultLoad        = 60
	defaultBuffer      = "256MiB"
	defaultAccesses    = 1 << 20
	defaultRepetitions = 10
	defaultSettle      = 100 * time.Millisecond
)

func (f *flags) Register(set *experiment.FlagSet) {
	set.StringVar(&f.mem, "mem", "", "`nodes` that the memory is bound to, near:DEVICE and far:DEVICE, by commas, and float\n(default: each, and float)")
	set.StringVar(&f.cpu, "cpu", "",
		"`nodes` whose CPUs the probe is bound to, by commas, and float (default: each, and float)")
	set.StringVar(&f.balancing, "numa-balancing", "",
		"`values` of kernel.numa_balancing: 0, 1, keep (as before the run), by commas; a setting of the whole\n"+
			"machine, changed only if this flag is given (default: rows for 0 and 1; those for the current value run)")
	set.StringVar(&f.scanDelay, "scan-delay", keep,
		"CPU `times` before NUMA balancing's first scan, and between scans, by commas: 50ms, keep (as before the run)")
	set.StringVar(&f.cost, "migration-cost", keep,
		"`times` after a thread's last run from which the scheduler assumes cold caches, by commas: 500us, keep")
	set.StringVar(&f.preferred, "preferred-node", "", "preferred `nodes`, by commas, and none (default: none, and each)")
	set.StringVar(&f.preferredBy, "preferred-node-by", PreferredWays[0].Name,
		"`how` a node is preferred: "+catalog.List(PreferredWays[:]))
	set.StringVar(&f.preset, "preset", "", "a `table`: "+catalog.List(presets[:])+"; those of the RFC set NUMA balancing")
	set.StringVar(&f.rows, "rows", RowsSome,
		"`which` nodes --mem, --cpu and --preferred-node have by default on a machine with more than two:\n"+
			"some (one for each distance from the memory's node) or all")
	set.BoolVar(&f.full, "full", false, "all combinations; otherwise nodes are preferred only with the highest balancing value")
	set.BoolVar(&f.blocks, "blocks", false, "take all samples of a row, then all of the next; rows cannot be judged then")
	set.Float64Var(&f.load, "load", defaultLoad, "load on each CPU next to the probe, in percent (0: none)")
	set.BoolVar(&f.loadOnly, "load-only", false, "run only the load, and report the achieved load")
	set.DurationVar(&f.duration, "duration", 0, "how long the load runs, with --load-only (0: until it is interrupted)")
	set.StringVar(&f.buffer, "buffer", defaultBuffer, "`sizes` of the probe's memory, by commas")
	set.StringVar(&f.pages, "pages", linux.PageKinds[0].Name,
		"`kinds` of its pages, by commas: "+strings.Join(PageNames(), ", "))
	set.StringVar(&f.memPolicy, "mem-policy", MemPolicies[0],
		"`how` --mem binds, by commas: "+strings.Join(MemPolicies, ", ")+" (NUMA balancing scans it too, Linux 5.12)")
	set.StringVar(&f.firstTouch, "first-touch", TouchNear,
		"`who` first touches floating memory, by commas: "+catalog.List(FirstTouches[:]))
	set.StringVar(&f.access, "access", AccessNames()[0],
		"`ways` to access it, by commas: "+strings.Join(AccessNames(), ", "))
	set.Uint64Var(&f.accesses, "accesses", defaultAccesses, "accesses of a repetition")
	set.IntVar(&f.repetitions, "repetitions", defaultRepetitions, "repetitions of a sample")
	set.DurationVar(&f.settle, "settle", defaultSettle,
		"CPU time of uncounted accesses before the first repetition, in which caches settle; by default,\n"+
			"rows with NUMA balancing or a preferred node settle for several of the kernel's scans (4s)")
	f.nice.Register(set, "the probe and of the load")
	set.Group("Probe", "buffer", "pages", "mem-policy", "first-touch", "access", "accesses", "repetitions", "settle")
	set.Group("Load", "load", "load-only", "duration", "nice")
	set.Group("Rows")
	set.Words("preferred-node-by", catalog.Words(PreferredWays[:]))
	set.Words("preset", catalog.Words(presets[:]))
	set.Words("rows", []string{RowsSome, RowsAll})
	set.Lists("numa-balancing", []string{"0", "1", "keep"})
	set.Lists("pages", PageNames())
	set.On("mem", (*topology.Machine).CompleteNodes)
	set.On("cpu", (*topology.Machine).CompleteNodes)
	set.Lists("mem-policy", MemPolicies)
	set.Lists("first-touch", catalog.Words(FirstTouches[:]))
	set.Lists("access", AccessNames())
	f.given, f.set = set.Changed, set
}

func (f *flags) Validate() error {
	switch {
	case !(f.load >= 0 && f.load <= 100): // nor NaN
		return hint.Usagef("--load %v: give a percentage from 0 to 100", f.load)
	case f.loadOnly && f.load == 0:
		return hint.Usagef("--load-only needs a --load above 0")
	case f.loadOnly && f.given("svg"):
		return hint.Usagef("--load-only has nothing to draw for --svg")
	case f.duration < 0:
		return hint.Usagef("--duration %v: it cannot be negative", f.duration)
	case f.duration > 0 && !f.loadOnly:
		return hint.Usage(hint.With(errors.New("--duration needs --load-only"),
			"give --budget or --samples for a measurement"))
	case f.given("preset") && !slices.Contains(catalog.Names(presets[:]), f.preset):
		return hint.Usage(hint.With(fmt.Errorf("--preset %q is not a table", f.preset),
			"there are "+strings.Join(catalog.Names(presets[:]), ", ")))
	case f.rows != RowsSome && f.rows != RowsAll:
		return hint.Usage(hint.With(fmt.Errorf("--rows %q is neither %s nor %s", f.rows, RowsSome, RowsAll),
			"gorun numa --dry-run lists the rows"))
	case f.accesses == 0:
		return hint.Usagef("--accesses 0: give at least 1")
	case f.repetitions < 1:
		return hint.Usagef("--repetitions %d: give at least 1", f.repetitions)
	case f.settle < 0:
		return hint.Usagef("--settle %v: it cannot be negative", f.settle)
	case f.blocks && f.given("precision"):
		return hint.Usage(hint.With(errors.New("--precision needs judged rows, and --blocks judges none"),
			"leave one of them out"))
	}
	return f.nice.Validate()
}

// axes returns the axes that the flags give on a machine.
func (f *flags) axes(m experiment.Machine) (a Axes, err error) {
	a.Full = f.full
	parse := func(flag, text string, parse func() error) {
		if err == nil {
			if err = parse(); err != nil {
				err = hint.Flag(flag, text, err)
			}
		}
	}
	parse("mem", f.mem, func() (err error) { a.Mem, err = ParseMem(f.mem, m.Machine); return err })
	parse("cpu", f.cpu, func() (err error) { a.CPU, err = ParseCPU(f.cpu, m.Machine, m.CPUs); return err })
	parse("numa-balancing", f.balancing, func() (err error) { a.NUMABalancing, err = ParseBalancing(f.balancing); return err })
	parse("scan-delay", f.scanDelay, func() (err error) {
		a.ScanDelay, err = ParseTimes(f.scanDelay, scanDelay.of...)
		return err
	})
	parse("migration-cost", f.cost, func() (err error) {
		a.MigrationCost, err = ParseTimes(f.cost, migrationCost.of...)
		return err
	})
	parse("preferred-node-by", f.preferredBy, func() (err error) {
		a.PreferredBy, err = ParsePreferredBy(f.preferredBy)
		return err
	})
	parse("preferred-node", f.preferred, func() (err error) {
		a.PreferredNode, err = ParsePreferred(f.preferred, f.preferredBy, m.Machine, m.CPUs)
		return err
	})
	parse("buffer", f.buffer, func() (err error) { a.Buffers, err = bytesize.ParseList(f.buffer); return err })
	parse("pages", f.pages, func() (err error) { a.Pages, err = ParsePages(f.pages); return err })
	parse("mem-policy", f.memPolicy, func() (err error) {
		a.MemPolicy, err = ParseMemPolicies(f.memPolicy)
		return err
	})
	parse("first-touch", f.firstTouch, func() (err error) {
		a.FirstTouch, err = ParseFirstTouch(f.firstTouch)
		return err
	})
	parse("access", f.access, func() (err error) { a.Access, err = ParseAccess(f.access); return err })
	if err == nil && f.rows == RowsSome && f.preset == "" && len(m.Nodes) > fewNodes {
		a.choose(f.given, m.Machine)
	}
	return a, err
}

// table returns the rows on a machine, with the reason for those that it cannot measure, and the machine's support.
func (f *flags) table(m experiment.Machine) (
	rows []result.NumaRow, support Support, warnings []result.Warning, err error,
) {
	axes, err := f.axes(m)
	if err != nil {
		return nil, support, nil, err
	}
	support, odd := ReadSupport(m.Root, m.Machine)
	warnings = append(warnings, result.OddMachine(odd)...)
	if m.Live {
		support.Probe(m.Machine, f.preferredBy)
	} else if errors.Is(support.Unread, fs.ErrNotExist) {
		support.Unread = nil // a capture does not have it
	}
	if !f.asks("numa-balancing") && support.Unread != nil {
		axes.NUMABalancing = []int{KeepSetting}
		warnings = append(warnings, result.WarningOf("numa-balancing", "rows keep NUMA balancing as it is", support.Unread))
	}
	if !f.asks("numa-balancing") && support.SetBalancing == nil {
		support.SetBalancing = errors.New("it is a setting of the whole machine: give --numa-balancing 0,1 to change it for the run")
	}
	rows = Rows(axes)
	if m.Live {
		for _, k := range knobs {
			for _, row := range rows {
				if err := k.may(row); err != nil {
					return nil, support, nil, hint.Flag(k.flag, duration(k.asks(row)), err)
				}
			}
		}
	}
	support.Mark(rows)
	return rows, support, warnings, nil
}

// scans is the number of NUMA balancing's scans for which a row with balancing settles, in addition to the delay before the
// first. The first passes mark the memory, faults follow, and the memory moves: with the kernel's defaults of 1 s each,
// all of this has started after 2.3 s of CPU time.
const scans = 3

// settles returns the CPU time in seconds that a row's probe spends on accesses before those that count.
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
	source := f.fill(m)
	rows, support, warnings, err := f.table(m)
	if err != nil {
		return r, err
	}
	levels, odd := topology.ReadCaches(m.Root, m.CPUs.First())
	r.Warnings = result.OddMachine(odd)
	var caches []result.Cache
	for _, level := range levels {
		caches = append(caches, result.Cache(level))
	}
	r.Placement = "each row's own"
	r.Resources = f.resources(m, rows)
	c := Cell{
		Request: Request{
			CPUs: m.CPUs.String(), Accesses: f.accesses, Repetitions: f.repetitions, Settle: f.settle.Seconds(), Seed: m.Seed,
			Nice: f.nice.Nice,
		},
		Load: f.load, SetBalancing: f.asks("numa-balancing"), LoadOnly: f.loadOnly,
	}
	r.Resources.Least = float64(f.repetitions) * float64(f.accesses) / mostAccesses
	r.Resources.LeastBy = []string{"--settle", "--repetitions", "--accesses"}
	if f.loadOnly {
		r.Resources.Least, r.Resources.LeastBy = 0, nil
		r.Spec, r.Plan = f.spec(m, m.Sampling), func(p *result.Plan) { p.Threads, p.NumaRows = 1, rows }
		r.Cells = []experiment.Cell[Cell]{{Do: c}}
		r.Schedule = experiment.Schedule{Order: experiment.Watch, Duration: f.duration.Seconds()}
		r.Header = func(run *result.Run) { run.Experiment, run.Caches = "load", caches }
		return r, nil
	}
	list, measurable, settling, long := experiment.DescribeCPUs(m.Machine, m.CPUs.List()), 0, 0.0, false
	for _, row := range rows {
		c.Row, c.Settle = row, f.settles(row, m.Root, support)
		c.Request = c.Resolved(m.Machine, m.CPUs)
		r.Cells = append(r.Cells, f.cell(c, list))
		if row.Unsupported == "" {
			measurable++
			settling += c.Settle
			long = long || c.Settle > f.settle.Seconds()
		}
	}
	r.Resources.Least += settling / float64(max(1, len(rows))) // the mean per row
	sampling, round := m.Sampling, f.round(rows, settling)
	if m.Given("precision") && !m.Given("samples") {
		sampling.Samples = 0
	}
	r.Schedule = experiment.Schedule{Order: experiment.Blocks, Title: "NUMA placement"}
	if source.samples > 0 && sampling.Samples > 0 && !m.Given("samples") {
		sampling.Samples, r.Schedule.Samples = source.samples, source.samples
		if !m.Given("budget") {
			sampling.Budget = 0
		}
	}
	if long && sampling.Budget > 0 && !m.Given("budget") {
		sampling.Budget = math.Ceil(max(sampling.Budget, judged*round)) // with less no row could be judged
		r.Schedule.Budget = sampling.Budget
	}
	r.Spec = f.spec(m, sampling)
	r.Plan = func(p *result.Plan) {
		p.Threads, p.NumaRows = 1, rows
		p.Estimate = &result.Estimate{
			RoundSeconds: round, Rounds: cmp.Or(sampling.Samples, judged), Asked: sampling.Samples > 0,
			Seconds: round * float64(cmp.Or(sampling.Samples, judged)), BudgetSeconds: sampling.Budget,
		}
	}
	switch {
	case measurable == 1:
		r.Schedule.Order = experiment.InOrder // no row to compare with
	case f.blocks:
		r.Schedule.Order = experiment.Rows
	}
	r.Warnings = append(r.Warnings, warnings...)
	if f.preset != latency {
		r.Warnings = append(r.Warnings, NeedNodes(m.Machine, m.CPUs)...)
	}
	r.Header = func(run *result.Run) { run.NumaRows, run.Caches = rows, caches }
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

// judged is the least number of rounds for a verdict on a row (matrix.LeastRounds).
const judged = 25

// mostAccesses is an upper bound of a CPU's accesses per second: 5 GHz times two vectors of 8 words would be 8e10.
const mostAccesses = 1e12

// resources returns the resources of a probe with the largest buffer, a burner on each CPU, and the guardian of the
// settings. Memory limits do not count reserved pages.
func (f *flags) resources(m experiment.Machine, rows []result.NumaRow) experiment.Resources {
	r := experiment.Resources{Less: "give a smaller --buffer, or --load 0"}
	if f.load > 0 {
		r.Processes = m.CPUs.Len()
	}
	if f.loadOnly {
		r.Less = "give fewer --cpus"
		return r
	}
	r.Processes++
	if f.asks("numa-balancing") || slices.ContainsFunc(rows, func(row result.NumaRow) bool {
		return row.ScanDelay > 0 || row.MigrationCost > 0
	}) {
		r.Processes++
	}
	for _, row := range rows {
		kind, err := linux.ParsePageKind(row.Pages)
		if err == nil && !linux.PageKinds[kind].HugeTLB && row.Unsupported == "" {
			r.Bytes = max(r.Bytes, row.BufferBytes)
		}
	}
	return r
}

// cell returns the cell of a row.
func (f *flags) cell(do Cell, cpus result.CPUs) experiment.Cell[Cell] {
	node := func(n int, none string) string {
		if n < 0 {
			return none
		}
		return strconv.Itoa(n)
	}
	row := do.Row
	c := experiment.Cell[Cell]{
		Do: do, Name: name(row), Running: name(row), Lacking: row.Unsupported,
		Flags: map[string]string{"row": strconv.Itoa(row.Row)}, CPUs: map[string]result.CPUs{"cpus": cpus},
		Command: []string{"numa"},
	}
	for _, flag := range [][2]string{
		{"mem", node(row.Mem, "float")},
		{"cpu", node(row.CPU, "float")},
		{"numa-balancing", node(row.NUMABalancing, "keep")},
		{"preferred-node", node(row.PreferredNode, "none")},
		{"buffer", bytesize.Format(row.BufferBytes)},
		{"pages", row.Pages},
		{"access", row.Access},
		{"mem-policy", row.MemPolicy},
		{"first-touch", row.FirstTouch},
		{scanDelay.flag, duration(row.ScanDelay)},
		{migrationCost.flag, duration(row.MigrationCost)},
	} {
		if flag[1] == "" {
			continue
		}
		c.Flags[flag[0]] = flag[1]
		c.Command = append(c.Command, "--"+flag[0], flag[1])
	}
	c.Command = append(c.Command, "--load", strconv.FormatFloat(f.load, 'g', -1, 64),
		"--preferred-node-by", f.preferredBy, "--accesses", strconv.FormatUint(f.accesses, 10),
		"--repetitions", strconv.Itoa(f.repetitions),
		"--settle", time.Duration(do.Settle*float64(time.Second)).Round(time.Millisecond).String(), "--cpus", cpus.List)
	return c
}

// duration formats seconds as a flag value; "" for 0.
func duration(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return time.Duration(math.Round(seconds * float64(time.Second))).String()
}

// name returns a row's displayed number.
func name(row result.NumaRow) string { return view.RowName(row.Row) }

func (f *flags) spec(m experiment.Machine, sampling experiment.Sampling) spec {
	return spec{
		Load: f.load, Buffer: f.buffer, Pages: f.pages, Access: f.access, Accesses: f.accesses, Repetitions: f.repetitions,
		Settle: f.settle.Seconds(), PreferredBy: f.preferredBy, MemPolicy: f.memPolicy, FirstTouch: f.firstTouch,
		Preset: f.preset, Rows: f.rows, Full: f.full, Blocks: f.blocks, Nice: f.nice.Nice, CPUs: m.CPUs.String(),
		Samples: sampling.Samples, Budget: sampling.Budget, ScanDelay: f.scanDelay, MigrationCost: f.cost,
	}
}

// spec holds the requested values by flag name.
type spec struct {
	Load          float64 `json:"load"`
	Buffer        string  `json:"buffer"`
	Pages         string  `json:"pages"`
	Access        string  `json:"access"`
	Accesses      uint64  `json:"accesses"`
	Repetitions   int     `json:"repetitions"`
	Settle        float64 `json:"settle_seconds"` // for rows that do not wait for scans
	ScanDelay     string  `json:"scan_delay"`
	MigrationCost string  `json:"migration_cost"`
	PreferredBy   string  `json:"preferred_node_by"`
	MemPolicy     string  `json:"mem_policy"`
	FirstTouch    string  `json:"first_touch"`
	Preset        string  `json:"preset,omitempty"`
	Rows          string  `json:"rows"`
	Full          bool    `json:"full"`
	Blocks        bool    `json:"blocks"`
	Nice          *int    `json:"nice"`
	CPUs          string  `json:"cpus"`
	Samples       int     `json:"samples"` // 0: as many as are needed
	Budget        float64 `json:"budget_seconds"`
}

// explain adds the warnings of the samples: why migrations are not counted in the best way, and what is not known of NUMA
// balancing.
func explain(run *result.Run, _ []Cell) {
	for _, of := range []func(*result.Numa) *result.Warning{
		func(v *result.Numa) *result.Warning {
			if v.Migrations == nil || isCurve(measuredRows(run)) { // which shows no moves
				return nil
			}
			return v.Migrations.Worse
		},
		func(v *result.Numa) *result.Warning { return v.Unread },
	} {
		for _, sample := range run.Samples { // all samples use the same method
			v, ok := result.Typed[result.Numa](&sample)
			if !ok || of(v) == nil {
				continue
			}
			if !slices.Contains(run.Warnings, *of(v)) {
				run.Warnings = append(run.Warnings, *of(v))
			}
			break
		}
	}
}
