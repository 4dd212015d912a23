package numa

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/csrc"
	"gorun/internal/base/bytesize"
	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// The values of an axis that are not numbers of nodes or times, as numbers and as words.
const (
	Float       = -1 // memory or CPUs: not bound
	KeepSetting = -1 // NUMA balancing: as it is
	None        = -1 // no preferred node

	float = "float"
	keep  = "keep" // the value before the run
	none  = "none"
	all   = "all" // every possible node, and the word for no node after them
)

// axis is a flag whose values, joined by commas, multiply the rows.
type axis struct {
	flag, usage, unset string
	words              []string // for completion; nil: nodes, or numbers
	// values returns the values in a text, without duplicates, each in the one spelling that row reads.
	values func(f *flags, m experiment.Machine, text string) ([]string, error)
}

// axes are in the order of the help.
var axes = [...]axis{
	{
		"mem", "`nodes` that the memory is bound to, near:DEVICE and far:DEVICE, by commas, and float\n(default: each, and float)",
		"", nil, func(_ *flags, m experiment.Machine, text string) ([]string, error) {
			return parseNodes(m, text, float, m.Machine.MemoryNodes(), "no memory")
		},
	},
	{
		"cpu", "`nodes` whose CPUs the probe is bound to, by commas, and float (default: each, and float)",
		"", nil, func(_ *flags, m experiment.Machine, text string) ([]string, error) {
			return parseRunning(m, text, float)
		},
	},
	{
		"numa-balancing",
		"`values` of kernel.numa_balancing: 0, 1, keep (as before the run), by commas; it applies to the whole\n" +
			"machine, and changes only if this flag is given (default: rows for 0 and 1; those for the current value run)",
		"",
		[]string{"0", "1", keep},
		func(_ *flags, _ experiment.Machine, text string) ([]string, error) {
			values, err := parseWords(cmp.Or(text, "0,1"), "a value of NUMA balancing", []string{"0", "1", keep})
			slices.Sort(values) // digits sort before letters
			return values, err
		},
	},
	{
		scanDelay.flag, "CPU `times` before NUMA balancing's first scan, and between scans, by commas: 50ms, keep (as before the run)",
		keep, nil, times(scanDelay),
	},
	{
		migrationCost.flag,
		"`times` after a thread's last run from which the scheduler assumes cold caches, by commas: 500us, keep",
		keep, nil, times(migrationCost),
	},
	{
		"preferred-node", "preferred `nodes`, by commas, and none (default: none, and each)",
		"", nil, func(f *flags, m experiment.Machine, text string) ([]string, error) {
			if f.preferredBy == ByMempolicy {
				return parseNodes(m, text, none, m.Machine.MemoryNodes(), "no memory")
			}
			return parseRunning(m, text, none)
		},
	},
	{
		"buffer", "`sizes` of the probe's memory, by commas",
		"256MiB", nil, func(_ *flags, _ experiment.Machine, text string) (values []string, err error) {
			sizes, err := bytesize.ParseList(text)
			for _, bytes := range sizes {
				values = append(values, bytesize.Format(bytes))
			}
			return values, err
		},
	},
	among("pages", "`kinds` of its pages, by commas: %s", "a kind of pages", pageNames(), pageNames()),
	among("mem-policy", "`how` --mem binds, by commas: %s (NUMA balancing scans it too, Linux 5.12)", "a way to bind memory",
		memPolicies, memPolicies),
	among("first-touch", "`who` first touches floating memory, by commas: %s", "a first touch",
		catalog.Names(firstTouches[:]), catalog.Completions(firstTouches[:])),
	among("access", "`ways` to access it, by commas: %s", "an access pattern", csrc.MemoryAccesses(), csrc.MemoryAccesses()),
}

// slowest are the axes from the one that varies slowest in the rows to the fastest.
var slowest = strings.Fields("access pages buffer migration-cost preferred-node numa-balancing scan-delay mem cpu mem-policy first-touch")

// among returns an axis of known values, the default first.
func among(flag, usage, what string, known, words []string) axis {
	return axis{
		flag, fmt.Sprintf(usage, strings.Join(known, ", ")), known[0], words,
		func(_ *flags, _ experiment.Machine, text string) ([]string, error) {
			return parseWords(text, what, known)
		},
	}
}

// times returns how the values of a knob are read: times, and keep.
func times(k knob) func(*flags, experiment.Machine, string) ([]string, error) {
	parse := func(word string) (string, error) {
		if word == keep {
			return word, nil
		}
		d, err := time.ParseDuration(word)
		if err != nil {
			return "", hint.With(fmt.Errorf("%q is not a time", word), "write times such as 50ms, and keep, joined by commas")
		}
		for _, of := range k.of {
			if _, err := of.Number(d.Seconds()); err != nil {
				return "", err
			}
		}
		return d.String(), nil
	}
	return func(_ *flags, _ experiment.Machine, text string) ([]string, error) {
		return catalog.ParseList(text, parse)
	}
}

// rows returns the rows on a machine, numbered from 0, and the flags of each.
func (f *flags) rows(m experiment.Machine) (rows []result.NumaRow, given []map[string]string, err error) {
	values, cells := map[string][]string{}, 1
	for _, a := range axes {
		text := *f.text[a.flag]
		if values[a.flag], err = a.values(f, m, text); err != nil {
			return nil, nil, hint.Flag(a.flag, text, err)
		}
	}
	if f.which == rowsSome && f.preset == "" && len(m.Nodes) > fewNodes {
		f.choose(m.Machine, values)
	}
	var group matrix.Group
	for _, flag := range slowest {
		group.Axes = append(group.Axes, matrix.Axis{Flag: flag, Values: values[flag]})
		if cells *= len(values[flag]); cells > matrix.MaxCells {
			return nil, nil, hint.Usage(hint.With(fmt.Errorf("the flags give more than %d rows", matrix.MaxCells), "give fewer values"))
		}
	}
	highest := values["numa-balancing"][0] // keep is the last, but not the highest
	for _, value := range values["numa-balancing"] {
		if value != keep {
			highest = value
		}
	}
	seen := map[result.NumaRow]bool{}
	for _, cell := range group.Product() {
		v := cell.Flags
		if v["preferred-node"] != none && v["numa-balancing"] != highest && !f.full {
			continue
		}
		for flag, idle := range map[string]bool{
			"mem-policy":     v["mem"] == float || v["mem-policy"] == memPolicies[0],
			"first-touch":    v["mem"] != float || v["first-touch"] == TouchNear,
			"scan-delay":     v["numa-balancing"] == "0" || v["scan-delay"] == keep, // without balancing there are no scans
			"migration-cost": v["migration-cost"] == keep,
		} {
			if idle {
				delete(v, flag)
			}
		}
		if row := f.row(v); !seen[row] {
			seen[row] = true
			row.Row = len(rows)
			rows, given = append(rows, row), append(given, v)
		}
	}
	return rows, given, nil
}

// row returns the row of a value of each axis; an axis without one has its default.
func (f *flags) row(v map[string]string) result.NumaRow {
	node := func(text string) int {
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
		return -1
	}
	seconds := func(text string) float64 {
		d, _ := time.ParseDuration(text)
		return d.Seconds()
	}
	sizes, _ := bytesize.ParseList(v["buffer"])
	row := result.NumaRow{
		Mem: node(v["mem"]), CPU: node(v["cpu"]), NUMABalancing: node(v["numa-balancing"]),
		ScanDelay: seconds(v[scanDelay.flag]), MigrationCost: seconds(v[migrationCost.flag]),
		PreferredNode: node(v["preferred-node"]), BufferBytes: sizes[0], Pages: v["pages"], Access: v["access"],
		MemPolicy: v["mem-policy"], FirstTouch: v["first-touch"],
	}
	if row.PreferredNode != None {
		row.PreferredBy = f.preferredBy
	}
	return row
}

// nodeCPUs returns the run's CPUs of a node, or all if it is Float.
func nodeCPUs(m *topology.Machine, node int, cpus cpuset.Set) cpuset.Set {
	if node == Float {
		return cpus
	}
	return m.NodeCPUs(node).Intersect(cpus)
}

// parseNodes returns the nodes in a list of nodes and a word for no node ("0-1,float"), ascending. "all" and "" are all
// possible nodes and the word. The word float comes last, and none first. lacks is what other nodes have, after "node 1 has".
func parseNodes(m experiment.Machine, text, word string, possible cpuset.Set, lacks string) ([]string, error) {
	asked, rest := cpuset.Set{}, false
	for term := range strings.SplitSeq(cmp.Or(text, all), ",") {
		switch term = strings.TrimSpace(term); term {
		case word:
			rest = true
		case all:
			rest, asked = true, asked.Union(possible)
		default:
			nodes, err := m.SelectNodes(term, possible, lacks)
			if err != nil {
				return nil, hint.With(err, hint.Of(err)+"; or give "+word+" or "+all)
			}
			asked = asked.Union(nodes)
		}
	}
	list := texts(asked.List())
	switch {
	case rest && word == none:
		list = append([]string{none}, list...)
	case rest:
		list = append(list, word)
	}
	return list, nil
}

// parseRunning is parseNodes for nodes with CPUs of the run.
func parseRunning(m experiment.Machine, text, word string) ([]string, error) {
	return parseNodes(m, text, word, m.NodesWith(m.CPUs), fmt.Sprintf("none of the run's CPUs %s", m.CPUs))
}

// texts returns nodes as the values of an axis.
func texts(nodes []int) []string {
	list := make([]string, len(nodes))
	for i, node := range nodes {
		list[i] = strconv.Itoa(node)
	}
	return list
}

// The values of --rows.
const (
	rowsSome = "some"
	rowsAll  = "all"
)

// fewNodes is the greatest number of nodes for which all rows are the default, as in the RFC's first table. The number
// of rows grows with the cube of the nodes: 16 nodes have 5,202.
const fewNodes = 2

// choose reduces each axis without a flag to a few nodes: the memory is on one node, and the probe on one node for each
// distance from it, the nearest first. If the probe has only one node, the memory is on one node for each distance from
// that one. The preferred nodes are the memory's, and one of the furthest from it.
func (f *flags) choose(m *topology.Machine, values map[string][]string) {
	nodes := func(flag string) (nodes []int) {
		for _, value := range values[flag] {
			if node, err := strconv.Atoi(value); err == nil {
				nodes = append(nodes, node)
			}
		}
		return nodes
	}
	memory, running := nodes("mem"), nodes("cpu")
	if len(memory) == 0 || len(running) == 0 {
		return // no node is left to choose from
	}
	home := memory[max(0, slices.IndexFunc(memory, func(node int) bool { return slices.Contains(running, node) }))]
	if !f.given("mem") {
		near := []int{home}
		if len(running) == 1 {
			near = m.ByDistance(running[0], memory)
		}
		values["mem"] = append(texts(near), float)
	}
	if !f.given("cpu") {
		values["cpu"] = append(texts(m.ByDistance(home, running)), float)
	}
	if !f.given("preferred-node") {
		preferred := m.ByDistance(home, nodes("preferred-node"))
		if last := len(preferred) - 1; last > 1 {
			preferred = []int{preferred[0], preferred[last]}
		}
		values["preferred-node"] = append([]string{none}, texts(preferred)...)
	}
}

// way is a value of a flag, and its meaning.
type way struct{ name, usage string }

// Entry implements catalog.Entry.
func (w way) Entry() (name, usage string) { return w.name, w.usage }

// The ways to make a node preferred, the default first.
const (
	ByPrctl     = "prctl"
	ByMempolicy = "mempolicy"
)

var preferredWays = [...]way{
	{ByPrctl, "set it in the scheduler (prctl 101, a patch that was never merged)"},
	{ByMempolicy, "allocate floating memory there while there is some (MPOL_PREFERRED_MANY, home node)"},
}

// pageNames lists the kinds of pages.
func pageNames() []string {
	names := make([]string, len(linux.PageKinds))
	for i, kind := range linux.PageKinds {
		names[i] = kind.Name
	}
	return names
}

// BindBalancing is the way to bind memory that NUMA balancing scans; it skips memory that is bound by bind.
const BindBalancing = "bind+balancing"

// memPolicies lists the ways to bind memory, the default first.
var memPolicies = []string{"bind", BindBalancing}

// The first touches of floating memory, which determine its node; the default first.
const (
	TouchNear        = "near"
	TouchFar         = "far"
	TouchInterleaved = "interleaved"
	TouchBefore      = "before"
)

var firstTouches = [...]way{
	{TouchNear, "the probe, on the CPUs that it is bound to"},
	{TouchFar, "the probe, on the node furthest from there"},
	{TouchInterleaved, "the probe, on all nodes in turns"},
	{TouchBefore, "the probe before it is bound, on any CPU that the scheduler chose, as in the RFC's tables"},
}

// Accesses of csrc.ProbeAccesses: random, and index, which generates the same indices without accessing memory.
const (
	randomAccess = "random"
	indexAccess  = "index"
)

// parseWords parses words joined by commas, and drops duplicates.
func parseWords(text, what string, known []string) ([]string, error) {
	return catalog.ParseList(text, func(word string) (string, error) {
		if !slices.Contains(known, word) {
			return "", hint.With(fmt.Errorf("%q is not %s", word, what), "there are "+strings.Join(known, ", "))
		}
		return word, nil
	})
}

// needNodes returns a warning if this machine, or the run, has too few nodes for rows of the RFC.
func needNodes(m *topology.Machine, cpus cpuset.Set) []result.Warning {
	memory, running := m.MemoryNodes(), m.NodesWith(cpus)
	w := result.Warning{Code: "few-nodes"}
	switch {
	case len(m.Nodes) < 2:
		w.Message = "this machine has one node: the RFC's rows with the memory on one node and the CPUs of another need " +
			"more, and floating threads and memory cannot move between nodes"
		w.Hint = "gorun topo shows the nodes; gorun memory --latency measures the time of an access by the size of the memory"
	case memory.Len() < 2:
		w.Message = fmt.Sprintf("only node %s has memory: the RFC's rows with the memory on another node need more", memory)
	case running.Len() < 2:
		w.Message = fmt.Sprintf("the run has CPUs on node %s only: the RFC's rows with the CPUs of another node need more, "+
			"and a probe that floats cannot move between nodes", running)
		if more := m.NodesWith(m.Allowed()); more.Len() > 1 {
			w.Hint = fmt.Sprintf("give it CPUs of nodes %s by --cpus", more)
		}
	default:
		return nil
	}
	return []result.Warning{w}
}
