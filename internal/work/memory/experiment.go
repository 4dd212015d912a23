// Package memory is `gorun memory`: it measures how fast threads read and write memory, how long a read takes while others read too,
// and how long an access takes by the size of the memory.
package memory

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/csrc"
	"gorun/internal/base/bytesize"
	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Experiment is `gorun memory`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "memory",
		Short:    "Measure the bandwidth of memory, and the latency under load",
		Question: "How fast is memory?",
		Long: "Threads, each pinned to its CPU, read and write arrays that no cache holds: read sums one up, write fills one,\n" +
			"copy is a = b, triad is a = b + q c. Ordinary stores first read the line that they write; non-temporal ones\n" +
			"do not. The bandwidth counts the bytes of the operation alone, in all threads. The rows are one CPU, all CPUs\n" +
			"of its node, all CPUs and, with several nodes, from each node to each.\n\n" +
			"--loaded measures the time of a dependent read on the first CPU, while the other CPUs of its node read more\n" +
			"and more. --latency measures the time of an access by one thread, by the size of the memory.",
		Example: "  gorun memory\n  gorun memory --op triad --stores nontemporal --on cpu,node\n  gorun memory --loaded --svg curve.svg\n" +
			"  gorun memory --latency --sizes 32KiB,1MiB,32MiB,1GiB --access random,chase",
		Matrix: "  gorun matrix memory --pages 4k,thp --op read --on node",
	},
	Traits: experiment.Traits{
		Sampling: experiment.Sampling{Samples: 3, Warmup: 1, Budget: 20},
		Place:    experiment.Here,
		Compared: perKiB.Name,
		RowHint:  "give --op, --stores, --on and --mem one value each",
		Columns:  columns,
		View:     &shown,
		Picture: &experiment.Picture{
			Usage: "draw into this `file`: with --loaded the latency over the bandwidth, with --latency over the size",
			None: hint.With(errors.New("cannot draw the latency over the bandwidth or the size: it was not measured"),
				"give --loaded, or --latency with several --sizes"),
			Draw: []experiment.Draw{curve, drawSizes},
		},
	},
	New:  func() experiment.Flags[Cell] { return &flags{} },
	Open: experiment.Alone(sample),
})

// Cell describes what is measured in one cell.
type Cell struct {
	Op          string        `json:"op"`
	Nontemporal bool          `json:"nontemporal"`
	On          string        `json:"on"`       // in words
	CPUs        []int         `json:"cpus"`     // one for each thread that makes bandwidth
	Chase       int           `json:"chase"`    // the CPU of the thread whose accesses are timed; NoCPU: none
	Access      string        `json:"access"`   // of that thread, with --latency; "": a chase next to the load
	MemNode     int           `json:"mem_node"` // Local: that of each thread
	Buffer      uint64        `json:"buffer"`   // bytes of each array
	Pages       string        `json:"pages"`
	Time        time.Duration `json:"time"`
	Pause       uint64        `json:"pause"`
	Accesses    uint64        `json:"accesses"`
	Seed        uint64        `json:"seed"`
}

// Values of a cell that are no numbers of CPUs and nodes.
const (
	NoCPU = -1
	Local = -1

	localMemory = "local" // in words
)

// Options are what all cells of a run share.
type Options struct {
	Buffer   uint64 // bytes of each array; 0: as many as the caches need
	Pages    string // of linux.PageKinds
	Time     time.Duration
	Accesses uint64 // timed reads of a sample, where reads are timed
}

// Defaults are the options of a run that asks for no others.
var Defaults = Options{Pages: linux.PagesTHP.String(), Time: 200 * time.Millisecond, Accesses: 1 << 20}

// Complete returns a cell with the options, which all cells share. The arrays do not fit into the caches of cpus. Local memory is that of the
// nearest node, unless the CPUs are on several nodes.
func (o Options) Complete(m experiment.Machine, c Cell, cpus cpuset.Set) Cell {
	if c.MemNode == Local && m.NodesWith(cpus).Len() < 2 {
		c.MemNode = nearest(m, m.NodeOf(cpus.First()))
	}
	if c.Buffer == 0 {
		c.Buffer = o.bufferFor(m, cpus)
	}
	c.Pages, c.Time, c.Accesses, c.Seed = o.Pages, o.Time, o.Accesses, m.Seed
	return c
}

// Timed returns a cell whose reads are timed, on the first of the CPUs, while the others do nothing.
func Timed(cpus cpuset.Set) Cell {
	return Cell{Op: "read", On: "no CPU", Chase: cpus.First(), MemNode: Local}
}

// Loaded returns a cell whose reads are timed, on the first of the CPUs, while the others read too, with a pause after each KiB.
func Loaded(cpus cpuset.Set, pause uint64) Cell {
	c := Timed(cpus)
	loading := cpus.Minus(cpuset.Of(c.Chase))
	c.On, c.CPUs, c.Pause = units.Things(loading.Len(), "CPU"), loading.List(), pause
	return c
}

// AllCPUs describes all CPUs of a run, as a cell's On.
const AllCPUs = "all CPUs"

// The values of --on.
const (
	onCPU  = "cpu"
	onNode = "node"
	onAll  = "all"
	onEach = "each"
)

// The values of --stores.
const (
	ordinary    = "ordinary"
	nontemporal = "nontemporal"
)

var (
	places = []string{onCPU + "\tthe first CPU", onNode + "\tall CPUs of its node", onAll + "\tall CPUs of the run", onEach + "\tfrom each node to each"}
	kinds  = []string{ordinary, nontemporal + "\tbypass the caches"}
)

func opNames() (names []string) {
	for _, op := range csrc.MemoryOps {
		names = append(names, op.Name)
	}
	return names
}

// defaultPauses are the turns of an empty loop after each KiB, from no load to all that there can be.
const defaultPauses = unloaded + ",2000,500,100,20,0"

// defaultSizes are one for each level of caches of present CPUs, and one that is larger.
const defaultSizes = "32KiB,1MiB,32MiB,256MiB"

// chase is the access in which each read depends on the one before.
const chase = "chase"

// leastBuffer is the default size of an array where no cache is known.
const leastBuffer = 64 << 20

// flags are the flags of `gorun memory`.
type flags struct {
	ops, stores, on, mem, pauses string
	loaded, latency              bool
	sizes, access                string
	Options

	opList, storeList, onList, accessList []string
	pauseList                             []int64
	sizeList                              []uint64
	set                                   *experiment.FlagSet
}

// words parses a list of known words.
func words(what string, known []string) func(string) ([]string, error) {
	var names []string
	for _, word := range known {
		name, _, _ := strings.Cut(word, "\t")
		names = append(names, name)
	}
	return func(text string) ([]string, error) {
		return catalog.ParseList(text, func(word string) (string, error) {
			number, isNode := strings.CutPrefix(word, onNode+":")
			if _, err := strconv.ParseUint(number, 10, 31); slices.Contains(names, word) || isNode && err == nil && slices.Contains(names, onNode) {
				return word, nil
			}
			return "", fmt.Errorf("no %s %q: there are %s", what, word, strings.Join(names, ", "))
		})
	}
}

// unloaded is the pause of a row without load.
const unloaded = "none"

// parsePause parses the turns of a pause; -1: there is no load.
func parsePause(word string) (int64, error) {
	if word == unloaded {
		return -1, nil
	}
	pause, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of turns: give whole numbers of at least 0, or %s", word, unloaded)
	}
	return int64(pause), nil
}

func (f *flags) Register(set *experiment.FlagSet) {
	f.set = set
	all := strings.Join(opNames(), ",")
	experiment.Parsed(set, &f.ops, &f.opList, "op", all, "`operations`, by commas", words("operation", opNames()))
	experiment.Parsed(set, &f.stores, &f.storeList, "stores", ordinary+","+nontemporal, "`kinds` of stores, by commas", words("kind of stores", kinds))
	experiment.Parsed(set, &f.on, &f.onList, "on", strings.Join([]string{onCPU, onNode, onAll, onEach}, ","),
		"`where` the threads run, by commas: the first cpu, all CPUs of its node or of node:N, all CPUs;\n"+
			"each: from each node to each",
		words("place", places))
	set.StringVar(&f.mem, "mem", "", "`nodes` of the memory, by commas: numbers, near:DEVICE, far:DEVICE\n(default: that of the threads)")
	set.Size(&f.Buffer, "buffer", "`size` of each array (default: four times the last-level caches of the threads' CPUs)")
	var pages []string
	for _, kind := range linux.PageKinds {
		pages = append(pages, kind.Name+"\t"+kind.Meaning)
	}
	set.Choice(&f.Pages, "pages", Defaults.Pages, "`kind` of pages: 4k, thp, 2m, 1g", pages)
	set.DurationVar(&f.Time, "time", Defaults.Time, "how long a sample lasts")
	set.BoolVar(&f.loaded, "loaded", false, "measure the latency of a read while other CPUs read")
	experiment.Parsed(set, &f.pauses, &f.pauseList, "pauses", defaultPauses,
		"`turns` of an empty loop after each KiB that a loading thread reads, by commas; none: no load",
		func(text string) ([]int64, error) { return catalog.ParseList(text, parsePause) })
	set.BoolVar(&f.latency, "latency", false, "measure the time of an access by the size of the memory, on the first CPU")
	experiment.Parsed(set, &f.sizes, &f.sizeList, "sizes", defaultSizes, "`sizes` of the memory, by commas, with --latency", bytesize.ParseList)
	experiment.Parsed(set, &f.access, &f.accessList, "access", chase, "`ways` to access it, by commas: "+strings.Join(csrc.MemoryAccesses(), ", "),
		words("way to access memory", csrc.MemoryAccesses()))
	set.Uint64Var(&f.Accesses, "accesses", Defaults.Accesses, "timed accesses of a sample with --loaded or --latency")
	set.Lists("op", opNames())
	set.Lists("stores", kinds)
	set.Lists("on", places)
	set.Lists("access", csrc.MemoryAccesses())
	set.On("mem", (*topology.Machine).CompleteNodes)
	experiment.Bound(set, &f.Time, "time", time.Millisecond, math.MaxInt64)
	experiment.Bound(set, &f.Accesses, "accesses", 1000, math.MaxInt32)
	set.Rare("pauses", "accesses")
}

// seats are the CPUs of one of the values of --on.
type seats struct {
	on, words string
	cpus      cpuset.Set
}

// seatsOf returns what --on selects; the same CPUs only once.
func (f *flags) seatsOf(m experiment.Machine) (all []seats, err error) {
	first := m.CPUs.First()
	home := m.NodeOf(first)
	for _, on := range f.onList {
		s := seats{on: on, words: "one CPU", cpus: cpuset.Of(first)}
		if on == onEach {
			continue
		}
		switch number, isNode := strings.CutPrefix(on, onNode+":"); {
		case isNode:
			node, _ := strconv.Atoi(number) // parsed
			if s = onTheNode(m, node); s.cpus.Empty() {
				return nil, hint.Flag("on", on, hint.With(fmt.Errorf("node %d has no CPU of the run", node), "they are on nodes "+m.NodesWith(m.CPUs).String()))
			}
		case on == onNode && home >= 0:
			s = onTheNode(m, home)
		case on != onCPU:
			s.words, s.cpus = AllCPUs, m.CPUs
		}
		if !slices.ContainsFunc(all, func(o seats) bool { return o.cpus.Equal(s.cpus) }) {
			all = append(all, s)
		}
	}
	return all, nil
}

// onTheNode returns the CPUs of the run that are on a node.
func onTheNode(m experiment.Machine, node int) seats {
	name := strconv.Itoa(node)
	return seats{onNode + ":" + name, "node " + name, m.CPUs.Intersect(m.NodeCPUs(node))}
}

// bufferFor returns the size of an array for the threads on CPUs: none of their caches holds it, as STREAM's rules ask for
// (www.cs.virginia.edu/stream/ref.html).
func (o Options) bufferFor(m experiment.Machine, cpus cpuset.Set) uint64 {
	if o.Buffer > 0 {
		return o.Buffer
	}
	caches := uint64(0)
	for _, cache := range m.LLCs {
		if cache.SizeBytes != nil && !cache.CPUs.Intersect(cpus).Empty() {
			caches += *cache.SizeBytes
		}
	}
	return max(4*caches, leastBuffer)
}

// Validate implements experiment.Flags.
func (f *flags) Validate() error {
	if f.loaded && f.latency {
		return hint.Usage(hint.With(errors.New("--loaded and --latency measure different things"), "leave one of them out"))
	}
	return nil
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	var nodes cpuset.Set
	var given []string
	if f.mem != "" {
		if nodes, err = m.SelectMemory(f.mem); err != nil {
			return r, hint.Flag("mem", f.mem, err)
		}
	}
	for _, flag := range [...]string{"accesses", "buffer", "pages", "time"} { // the same for all rows
		if m.Given(flag) {
			given = append(given, "--"+flag+"="+f.set.Lookup(flag).Value.String())
		}
	}
	kind, _ := linux.ParsePageKind(f.Pages) // a choice
	add := func(c Cell, on string, cpus cpuset.Set) {
		c = f.Complete(m, c, cpus)
		if slices.ContainsFunc(r.Cells, func(has experiment.Cell[Cell]) bool { return has.Name == c.name() }) {
			return // from a node to itself
		}
		cell := experiment.Cell[Cell]{Do: c, Row: experiment.Row{Name: c.name(), Running: c.name(), Flags: c.flags(on)}}
		cell.Command = append([]string{"memory", "--cpus=" + m.CPUs.String()}, given...)
		for _, flag := range slices.Sorted(maps.Keys(cell.Flags)) {
			cell.Command = append(cell.Command, "--"+flag+"="+cell.Flags[flag])
		}
		if c.MemNode == Local && linux.PageKinds[kind].HugeTLB {
			cell.Unavailable = "reserved pages are given on one node: give --mem"
		}
		r.Cells = append(r.Cells, cell)
		need := c.Resources()
		r.Resources.Bytes, r.Resources.Threads = max(r.Resources.Bytes, need.Bytes), max(r.Resources.Threads, need.Threads)
	}
	switch {
	case f.latency:
		f.addSizes(m, nodes.List(), add)
	case f.loaded:
		f.addLoaded(m, nodes.List(), add)
	default:
		if err = f.addRows(m, nodes.List(), add); err != nil {
			return r, err
		}
	}
	switch {
	case len(r.Cells) > 0:
	case f.loaded:
		return r, hint.Usage(hint.With(errors.New("no other CPU of the node can load the memory"), "give more --cpus, or --pauses none"))
	default:
		return r, hint.Usage(hint.With(errors.New("--on each needs two nodes with memory"), "give --on cpu, node or all"))
	}
	r.Resources.Less = "give a smaller --buffer"
	if r.Schedule = (matrix.Schedule{Title: "Memory", Compared: perKiB.Name}); f.loaded || f.latency {
		r.Compared = experiment.ComparedBy{Column: latency.Name, Better: result.Lower}
		r.Schedule.Compared = latency.Name
	}
	r.Spec = &spec{
		Op: f.ops, Stores: f.stores, On: f.on, Mem: f.mem, Buffer: f.Buffer, Pages: f.Pages, Time: f.Time.Seconds(), Loaded: f.loaded,
		Latency: f.latency,
		Kernel:  csrc.MemoryKernel(), SamplingSpec: experiment.SamplingSpec{CPUs: m.CPUs.String()},
	}
	if f.latency {
		caches, odd := topology.ReadCaches(m.Root, m.CPUs.First())
		r.Warnings = result.OddMachine(odd)
		r.Header = func(run *result.Run) {
			for _, level := range caches {
				run.Caches = append(run.Caches, result.Cache(level))
			}
		}
	}
	r.Placement = "a thread pinned to each CPU of the row"
	return r, nil
}

// addRows adds the rows of bandwidth: each operation and kind of stores at each place, and the first of them from each node to each.
func (f *flags) addRows(m experiment.Machine, nodes []int, add func(c Cell, on string, cpus cpuset.Set)) error {
	var moves []Cell
	for _, op := range f.opList {
		for _, stores := range f.storeList {
			if op != "read" || stores == ordinary {
				moves = append(moves, Cell{Op: op, Nontemporal: stores == nontemporal, Chase: NoCPU})
			}
		}
	}
	if len(moves) == 0 {
		return hint.Usage(hint.With(errors.New("read has no stores that could be non-temporal"), "give another --op, or --stores ordinary"))
	}
	at := func(s seats, node int, moves []Cell) {
		for _, c := range moves {
			c.On, c.CPUs, c.MemNode = s.words, s.cpus.List(), node
			add(c, s.on, s.cpus)
		}
	}
	all, err := f.seatsOf(m)
	if err != nil {
		return err
	}
	for _, s := range all {
		for _, node := range orLocal(nodes) {
			at(s, node, moves)
		}
	}
	with := m.MemoryNodes()
	if with.Len() < 2 || !slices.Contains(f.onList, onEach) {
		return nil
	}
	for from := range m.NodesWith(m.CPUs).All() {
		for to := range with.All() {
			at(onTheNode(m, from), to, moves[:1])
		}
	}
	return nil
}

// addLoaded adds the rows of the latency under load.
func (f *flags) addLoaded(m experiment.Machine, nodes []int, add func(c Cell, on string, cpus cpuset.Set)) {
	cpus := m.CPUs
	if home := m.NodeOf(cpus.First()); home >= 0 {
		cpus = cpus.Intersect(m.NodeCPUs(home))
	}
	for _, node := range orLocal(nodes) {
		for _, pause := range f.pauseList {
			c := Timed(cpus)
			if pause >= 0 {
				c = Loaded(cpus, uint64(pause))
			}
			c.MemNode = node
			if pause < 0 || cpus.Len() > 1 {
				add(c, "", cpus)
			}
		}
	}
}

// orLocal returns nodes that were given, or Local if there are none.
func orLocal(nodes []int) []int {
	if len(nodes) == 0 {
		return []int{Local}
	}
	return nodes
}

// addSizes adds the rows of the time of an access by the size of the memory.
func (f *flags) addSizes(m experiment.Machine, nodes []int, add func(c Cell, on string, cpus cpuset.Set)) {
	first := m.CPUs.First()
	if len(nodes) == 0 {
		nodes = []int{nearest(m, m.NodeOf(first))}
	}
	for _, node := range nodes {
		for _, access := range f.accessList {
			for _, size := range f.sizeList {
				add(Cell{Op: "read", On: "one CPU", Chase: first, MemNode: node, Access: access, Buffer: size}, "", cpuset.Of(first))
			}
		}
	}
}

// nearest returns the node with memory that is nearest to a node; Local if no node is known.
func nearest(m experiment.Machine, node int) int {
	with := m.MemoryNodes().List()
	if len(with) == 0 || node < 0 {
		return Local
	}
	return m.ByDistance(node, with)[0]
}

// flags returns the flags that select the row alone.
func (c Cell) flags(on string) map[string]string {
	flags := map[string]string{"op": c.Op, "on": on, "stores": c.stores()}
	switch {
	case c.Access != "":
		flags = map[string]string{"latency": "true", "access": c.Access, "sizes": bytesize.Format(c.Buffer)}
	case c.Chase != NoCPU:
		flags = map[string]string{"loaded": "true", "pauses": unloaded}
		if len(c.CPUs) > 0 {
			flags["pauses"] = strconv.FormatUint(c.Pause, 10)
		}
	}
	if c.MemNode != Local {
		flags["mem"] = strconv.Itoa(c.MemNode)
	}
	maps.DeleteFunc(flags, func(_, value string) bool { return value == "" })
	return flags
}

// Resources returns what the cell needs.
func (c Cell) Resources() experiment.Resources {
	arrays := 0
	if len(c.CPUs) > 0 {
		arrays = csrc.MemoryOps[c.op()].Arrays
	}
	if c.Chase != NoCPU {
		arrays++
	}
	return experiment.Resources{Bytes: c.Buffer * uint64(arrays), Threads: len(c.CPUs) + 1}
}

// op returns the operation's index in csrc.MemoryOps.
func (c Cell) op() int {
	return slices.Index(opNames(), c.Op)
}

// stores returns the kind of stores; "" for an operation without any.
func (c Cell) stores() string {
	switch {
	case c.Op == "read":
		return ""
	case c.Nontemporal:
		return nontemporal
	}
	return ordinary
}

// mem describes where the memory is.
func (c Cell) mem() string {
	if c.MemNode == Local {
		return localMemory
	}
	return "node " + strconv.Itoa(c.MemNode)
}

// name describes the cell: "triad nontemporal, one CPU, node 0".
func (c Cell) name() string {
	if c.Access != "" {
		return strings.Join([]string{c.Access, units.Bytes(c.Buffer), c.mem()}, ", ")
	}
	if c.Chase != NoCPU {
		text := "loaded by " + c.On
		if len(c.CPUs) > 0 {
			text += ", pause " + strconv.FormatUint(c.Pause, 10)
		}
		return text + ", " + c.mem()
	}
	return strings.Join([]string{strings.TrimSpace(c.Op + " " + c.stores()), c.On, c.mem()}, ", ")
}

// spec holds the requested values by flag name.
type spec struct {
	Op      string  `json:"op"`
	Stores  string  `json:"stores"`
	On      string  `json:"on"`
	Mem     string  `json:"mem,omitempty"`
	Buffer  uint64  `json:"buffer_bytes,omitempty"` // absent: four times the caches
	Pages   string  `json:"pages"`
	Time    float64 `json:"time_seconds"`
	Loaded  bool    `json:"loaded,omitempty"`
	Latency bool    `json:"latency,omitempty"`
	Kernel  string  `json:"kernel"` // the instructions of the loops
	experiment.SamplingSpec
}
