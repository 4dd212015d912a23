package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// Topology is a machine as a document. As JSON it is itself.
type Topology struct {
	Tool result.Tool `json:"tool"`
	topology.Document
	topology.Details
	Machine *topology.Machine `json:"-"`
}

// TopologyOf returns a machine as a document.
func TopologyOf(m *topology.Machine, details topology.Details, tool result.Tool) Topology {
	t := Topology{tool, m.Document(result.Schema), details, m}
	t.Document.Warnings = append(t.Document.Warnings, details.Warnings...)
	return t
}

// Page implements document.Document: what there is, which CPUs are ours and why the others are not, the packages, nodes, last-level caches
// and cores as a tree, how far the nodes are from each other, and the devices.
func (t Topology) Page(bool) view.Page {
	m := t.Machine
	return view.Page{
		Above: []view.Text{
			func(opts term.Options) string { return topoCounts(m, opts) + topoShare(m, t.Details, opts) },
			func(opts term.Options) string { return topoTree(m, opts) },
		},
		Tables:   []table.Table{topoDistances(m), topoDevices(m, t.Devices)},
		Warnings: result.OneEach(view.Warnings(t.Document.Warnings)),
	}
}

// topoCounts is the first line.
func topoCounts(m *topology.Machine, opts term.Options) string {
	n := m.Counts()
	cpus := units.Things(n.CPUs, "CPU")
	if n.Online < n.CPUs {
		cpus += fmt.Sprintf(" (%d online)", n.Online)
	}
	return term.Title(strings.Join([]string{
		cpus, units.Things(n.Cores, "core"), units.Things(n.LLCs, "LLC"), units.Things(n.Nodes, "node"),
		units.Things(n.Packages, "package"),
	}, ", "), opts)
}

// topoShare shows the CPU's model, the threads of a core, the caches below the last level, which CPUs are ours, which are not and why,
// the kinds of a hybrid machine, the fastest first, and which CPUs the kernel treats in a special way.
func topoShare(m *topology.Machine, d topology.Details, opts term.Options) (block string) {
	line := func(name, text string) {
		if text != "" {
			block += term.Paragraph(fmt.Sprintf("  %-9s  ", name), text, opts.Columns())
		}
	}
	list := func(cpus cpuset.Set) string { return strings.ReplaceAll(cpus.String(), ",", ", ") }
	line("model", d.CPUModel)
	line("threads", threadsPerCore(m))
	line("caches", cachesText(m, d.Caches))
	line("ours", cmp.Or(list(m.Allowed()), "none"))
	others := map[string]cpuset.Set{} // by the reason
	for _, c := range m.CPUs {
		if why := m.WhyNot(c.CPU); why != "" {
			others[why] = others[why].With(c.CPU)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(others)) {
		line("not ours", list(others[why])+": "+why)
	}
	if kinds := m.Kinds(); len(kinds) > 1 {
		for i, cpus := range kinds {
			line(fmt.Sprintf("kind %d", i), list(cpus))
		}
	}
	line("isolated", list(m.Isolated))
	line("nohz_full", list(m.NohzFull))
	return block
}

// threadsPerCore is the number of online threads that the cores have.
func threadsPerCore(m *topology.Machine) string {
	var threads []int
	for _, core := range grouped(m.CPUs, func(c topology.CPU) int { return c.Core }) {
		threads = append(threads, len(core))
	}
	if len(threads) == 0 {
		return ""
	}
	text := strconv.Itoa(slices.Max(threads)) + " per core"
	if least := slices.Min(threads); least < slices.Max(threads) {
		text = fmt.Sprintf("%d to %s", least, text)
	}
	return text
}

// cachesText says what caches there are below the last level, those that are alike together: "L1d 32 KiB and L2 1 MiB of each core,
// L2 2 MiB of CPUs 4-7".
func cachesText(m *topology.Machine, caches []topology.SharedCache) string {
	var owners []string // in the order in which they come
	of := map[string][]string{}
	cores := map[int]cpuset.Set{}
	for _, cpus := range grouped(m.CPUs, func(c topology.CPU) int { return c.Core }) {
		cores[cpus[0].Core] = numbered(cpus)
	}
	kinds := len(m.Kinds())
	for _, c := range caches {
		first, _ := m.CPU(c.CPUs.First())
		if m.LLCs[first.LLC].Level <= c.Level {
			continue // it is shown with the cores under it
		}
		what := cacheName(c.Level, c.SizeBytes)
		if c.Level == 1 {
			what = strings.Replace(what, "L1", "L1d", 1)
		}
		owner := "CPUs " + c.CPUs.String()
		if cores[first.Core].Equal(c.CPUs) {
			owner = "each " + strings.TrimSpace(first.Class+" core")
			if kinds > 2 {
				owner = fmt.Sprintf("each core of kind %d", first.Kind)
			}
		}
		if of[owner] == nil {
			owners = append(owners, owner)
		}
		if !slices.Contains(of[owner], what) {
			of[owner] = append(of[owner], what)
		}
	}
	for i, owner := range owners {
		owners[i] = strings.Join(of[owner], " and ") + " of " + owner
	}
	return view.Names(owners)
}

// topoTree is the packages, in each its nodes, in each its caches and their cores; then the nodes without CPUs.
func topoTree(m *topology.Machine, opts term.Options) (block string) {
	for _, pkg := range grouped(m.CPUs, func(c topology.CPU) int { return c.Package }) {
		block += opts.Paint(term.Bold, fmt.Sprintf("package %d", pkg[0].Package)) + "\n"
		for _, cpus := range grouped(pkg, func(c topology.CPU) int { return c.Node }) {
			i := slices.IndexFunc(m.Nodes, func(n topology.Node) bool { return n.Node == cpus[0].Node })
			if i >= 0 {
				block += nodeLine(m, m.Nodes[i], numbered(cpus), opts)
			} else {
				block += term.Flow([]string{"  no known node", "CPUs " + numbered(cpus).String()}, " · ", "    ", opts.Columns())
			}
			block += llcLines(m, cpus, opts)
		}
	}
	title := opts.Paint(term.Bold, "no package") + "\n"
	for _, node := range m.Nodes {
		if m.NodeCPUs(node.Node).Empty() {
			block += title + nodeLine(m, node, cpuset.Set{}, opts)
			title = ""
		}
	}
	return block
}

// grouped splits online CPUs by a number, in ascending order of it.
func grouped(cpus []topology.CPU, by func(topology.CPU) int) (sorted [][]topology.CPU) {
	groups := map[int][]topology.CPU{}
	for _, c := range cpus {
		if c.Online {
			groups[by(c)] = append(groups[by(c)], c)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(groups)) {
		sorted = append(sorted, groups[n])
	}
	return sorted
}

// numbersOf returns a number of each CPU, none above the highest a Set holds.
func numbersOf(cpus []topology.CPU, of func(topology.CPU) int) cpuset.Set {
	numbers := make([]int, len(cpus))
	for i, c := range cpus {
		numbers[i] = of(c)
	}
	return cpuset.Of(numbers...)
}

func numbered(cpus []topology.CPU) cpuset.Set {
	return numbersOf(cpus, func(c topology.CPU) int { return c.CPU })
}

// nodeLine shows a node under a package that has some of its CPUs, or all.
func nodeLine(m *topology.Machine, node topology.Node, here cpuset.Set, opts term.Options) string {
	parts := []string{fmt.Sprintf("  node %d", node.Node)}
	if node.Kind != topology.CPUsAndMemory {
		parts = append(parts, node.Kind)
	}
	switch {
	case !node.HasMemory():
	case node.MemoryBytes == nil:
		parts = append(parts, "memory not recorded")
	default:
		parts = append(parts, units.Bytes(*node.MemoryBytes))
	}
	if node.NormalMemory != nil && !*node.NormalMemory {
		parts = append(parts, "movable memory (hot-plugged, of a GPU, or CXL)")
	}
	switch {
	case !here.Empty():
		parts = append(parts, "CPUs "+here.String())
	case !node.CPUs.Empty(): // a fake node: its CPUs are shown under the one they count for
		parts = append(parts, "CPUs "+node.CPUs.String()+" of another node")
	}
	if !here.Empty() && !m.OnNode(node).Minus(here).Empty() {
		parts = append(parts, "also in other packages")
	}
	return term.Flow(parts, " · ", "    ", opts.Columns())
}

// llcLines shows the caches of some CPUs, and the cores in each. Caches of one core each, next to each other and alike,
// share a line: a machine without a common cache has as many as cores.
func llcLines(m *topology.Machine, cpus []topology.CPU, opts term.Options) string {
	var block strings.Builder
	llcs := grouped(cpus, func(c topology.CPU) int { return c.LLC })
	for i := 0; i < len(llcs); {
		j := i + 1
		for j < len(llcs) && alike(m, llcs[i], llcs[j]) {
			j++
		}
		here := slices.Concat(llcs[i:j]...)
		first := m.LLCs[here[0].LLC]
		parts := []string{fmt.Sprintf("    LLC %d", first.LLC), cacheName(first.Level, first.SizeBytes)}
		switch {
		case j-i > 1:
			parts[0] = "    LLCs " + numbersOf(here, func(c topology.CPU) int { return c.LLC }).String()
			parts[1] += " each"
		case !first.CPUs.Minus(numbered(here)).Empty():
			parts[1] += ", shared beyond this node"
		}
		parts = append(parts, coreParts(here)...)
		switch ours := m.Allowed().Intersect(numbered(here)); {
		case ours.Empty():
			parts = append(parts, "none ours")
		case ours.Len() < len(here):
			parts = append(parts, "ours "+ours.String())
		}
		block.WriteString(term.Flow(parts, " · ", "      ", opts.Columns()))
		i = j
	}
	return block.String()
}

// alike tells whether two caches are of one core each and the same but for their numbers.
func alike(m *topology.Machine, a, b []topology.CPU) bool {
	oneCore := func(cpus []topology.CPU) bool {
		return len(grouped(cpus, func(c topology.CPU) int { return c.Core })) == 1
	}
	x, y := m.LLCs[a[0].LLC], m.LLCs[b[0].LLC]
	return oneCore(a) && oneCore(b) && a[0].Kind == b[0].Kind && cacheName(x.Level, x.SizeBytes) == cacheName(y.Level, y.SizeBytes)
}

func cacheName(level int, bytes *uint64) string {
	if level == 0 {
		return "no cache recorded"
	}
	name := "L" + strconv.Itoa(level)
	if bytes != nil {
		name += " " + units.Bytes(*bytes)
	}
	return name
}

// coreParts shows the cores of each kind: "cores 0-7: 0-7", or with several threads "cores 0-7: (0,8)…(7,15)".
func coreParts(cpus []topology.CPU) []string {
	var parts []string
	for _, of := range grouped(cpus, func(c topology.CPU) int { return c.Kind }) {
		cores := grouped(of, func(c topology.CPU) int { return c.Core })
		word := strings.TrimSpace(of[0].Class + " core")
		if len(cores) > 1 {
			word += "s"
		}
		numbers := numbersOf(of, func(c topology.CPU) int { return c.Core })
		parts = append(parts, fmt.Sprintf("%s %s: %s", word, numbers, threadsText(cores)))
	}
	return parts
}

// threadsText shows the threads of each core; a run of cores whose threads go up in equal steps is cut to its ends.
func threadsText(cores [][]topology.CPU) string {
	if !slices.ContainsFunc(cores, func(threads []topology.CPU) bool { return len(threads) > 1 }) {
		return numbered(slices.Concat(cores...)).String()
	}
	var words []string
	for i := 0; i < len(cores); {
		j := i + 1
		for j < len(cores) && step(cores[j-1], cores[j]) != 0 && step(cores[j-1], cores[j]) == step(cores[i], cores[i+1]) {
			j++
		}
		if j-i < 3 {
			j = i + 1
			words = append(words, pair(cores[i]))
		} else {
			words = append(words, pair(cores[i])+"…"+pair(cores[j-1]))
		}
		i = j
	}
	return strings.Join(words, " ")
}

// pair shows every thread of a core: they are few and seldom a run.
func pair(threads []topology.CPU) string {
	words := make([]string, len(threads))
	for i, c := range threads {
		words[i] = strconv.Itoa(c.CPU)
	}
	return "(" + strings.Join(words, ",") + ")"
}

// step is how much higher each thread of b is than the same one of a; 0 when they differ.
func step(a, b []topology.CPU) int {
	if len(a) != len(b) {
		return 0
	}
	for i := range a {
		if b[i].CPU-a[i].CPU != b[0].CPU-a[0].CPU {
			return 0
		}
	}
	return b[0].CPU - a[0].CPU
}

// topoDistances is the matrix of the firmware's distances (ACPI SLIT): 10 is local, 20 twice as far.
func topoDistances(m *topology.Machine) table.Table {
	t := table.Of(m.Nodes).With("node", func(n topology.Node) table.Value { return table.Count(n.Node) })
	for i, node := range m.Nodes {
		t.With(strconv.Itoa(node.Node), func(n topology.Node) table.Value {
			if i >= len(n.Distances) {
				return nil
			}
			return table.Count(n.Distances[i])
		})
	}
	distances := t.Table("distances", "distances")
	if len(distances.Columns) < 3 { // there is one node, or no distance is recorded
		return table.Table{}
	}
	return distances
}
