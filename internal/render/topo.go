package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/render/term"
	"gorun/internal/table"
	"gorun/internal/topology"
	"gorun/internal/units"
)

// Topo shows a machine to a person, in opts.Width columns: what there is, which CPUs are ours and why the others are
// not, the packages, nodes, last-level caches and cores as a tree, how far the nodes are from each other, and the devices.
func Topo(w io.Writer, m *topology.Machine, d topology.Details, opts term.Options) error {
	m, d = term.Clean(m), term.Clean(d)
	blocks := []string{
		topoCounts(m, opts) + topoCores(m, d, opts) + topoShare(m, opts),
		topoTree(m, opts),
		topoDistances(m, opts),
		topoDevices(m, d.Devices, opts),
		topoWarnings(slices.Concat(m.Warnings, d.Warnings), opts),
	}
	_, err := io.WriteString(w, term.Page(blocks))
	return err
}

// topoCounts is the first line.
func topoCounts(m *topology.Machine, opts term.Options) string {
	n := m.Counts()
	cpus := units.Things(n.CPUs, "CPU")
	if n.Online < n.CPUs {
		cpus += fmt.Sprintf(" (%d online)", n.Online)
	}
	parts := []string{
		cpus, units.Things(n.Cores, "core"), units.Things(n.LLCs, "LLC"), units.Things(n.Nodes, "node"),
		units.Things(n.Packages, "package"),
	}
	return opts.Paint(term.Bold, strings.TrimSuffix(term.Flow(parts, ", ", "  ", opts.Columns()), "\n")) + "\n"
}

// topoShare shows which CPUs are ours, which are not and why, the kinds of a hybrid machine, the fastest first, and which
// CPUs the kernel treats in a special way.
func topoShare(m *topology.Machine, opts term.Options) string {
	block := topoSet("ours", m.Allowed(), "", opts)
	var whys []string
	for _, c := range m.CPUs {
		if why := m.WhyNot(c.CPU); why != "" && !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
	}
	for _, why := range whys {
		cpus := m.Where(func(c topology.CPU) bool { return m.WhyNot(c.CPU) == why })
		block += topoSet("not ours", cpus, why, opts)
	}
	if kinds := m.Kinds(); len(kinds) > 1 {
		for i, cpus := range kinds {
			block += topoSet(fmt.Sprintf("kind %d", i), cpus, "", opts)
		}
	}
	if !m.Isolated.Empty() {
		block += topoSet("isolated", m.Isolated, "", opts)
	}
	if !m.NohzFull.Empty() {
		block += topoSet("nohz_full", m.NohzFull, "", opts)
	}
	return block
}

func topoSet(name string, cpus cpuset.Set, why string, opts term.Options) string {
	text := "none"
	if !cpus.Empty() {
		text = strings.ReplaceAll(cpus.String(), ",", ", ")
	}
	if why != "" {
		text += ": " + why
	}
	return term.Paragraph(fmt.Sprintf("  %-9s  ", name), text, opts.Columns())
}

// topoTree is the packages, in each its nodes, in each its caches and their cores; then the nodes without CPUs.
func topoTree(m *topology.Machine, opts term.Options) string {
	var block strings.Builder
	byNumber := map[int]topology.Node{}
	for _, node := range m.Nodes {
		byNumber[node.Node] = node
	}
	shown := map[int]bool{}
	for _, pkg := range grouped(m.CPUs, func(c topology.CPU) int { return c.Package }) {
		fmt.Fprintf(&block, "%s\n", opts.Paint(term.Bold, fmt.Sprintf("package %d", pkg[0].Package)))
		for _, cpus := range grouped(pkg, func(c topology.CPU) int { return c.Node }) {
			if node, ok := byNumber[cpus[0].Node]; ok {
				shown[node.Node] = true
				block.WriteString(nodeLine(m, node, numbered(cpus), opts))
			} else {
				block.WriteString(term.Flow([]string{"  no known node", "CPUs " + numbered(cpus).String()}, " · ", "    ",
					opts.Columns()))
			}
			block.WriteString(llcLines(m, cpus, opts))
		}
	}
	title := opts.Paint(term.Bold, "no package") + "\n"
	for _, node := range m.Nodes {
		if !shown[node.Node] {
			block.WriteString(title + nodeLine(m, node, cpuset.Set{}, opts))
			title = ""
		}
	}
	return block.String()
}

// grouped splits online CPUs by a number, in ascending order of it.
func grouped(cpus []topology.CPU, by func(topology.CPU) int) [][]topology.CPU {
	groups := map[int][]topology.CPU{}
	var numbers []int
	for _, c := range cpus {
		if !c.Online {
			continue
		}
		if groups[by(c)] == nil {
			numbers = append(numbers, by(c))
		}
		groups[by(c)] = append(groups[by(c)], c)
	}
	slices.Sort(numbers)
	sorted := make([][]topology.CPU, len(numbers))
	for i, n := range numbers {
		sorted[i] = groups[n]
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
		parts := []string{fmt.Sprintf("    LLC %d", first.LLC), cacheName(first)}
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
		return !slices.ContainsFunc(cpus, func(c topology.CPU) bool { return c.Core != cpus[0].Core })
	}
	x, y := m.LLCs[a[0].LLC], m.LLCs[b[0].LLC]
	return oneCore(a) && oneCore(b) && a[0].Kind == b[0].Kind && cacheName(x) == cacheName(y)
}

func cacheName(llc topology.LLC) string {
	if llc.Level == 0 {
		return "no cache recorded"
	}
	name := "L" + strconv.Itoa(llc.Level)
	if llc.SizeBytes != nil {
		name += " " + units.Bytes(*llc.SizeBytes)
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
	single := !slices.ContainsFunc(cores, func(threads []topology.CPU) bool { return len(threads) > 1 })
	if single {
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

func pair(threads []topology.CPU) string { return "(" + listed(threads) + ")" }

// listed shows every CPU: threads of a core are few and seldom a run.
func listed(threads []topology.CPU) string {
	words := make([]string, len(threads))
	for i, c := range threads {
		words[i] = strconv.Itoa(c.CPU)
	}
	return strings.Join(words, ",")
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
func topoDistances(m *topology.Machine, opts term.Options) string {
	known := slices.ContainsFunc(m.Nodes, func(n topology.Node) bool { return len(n.Distances) > 0 })
	if len(m.Nodes) < 2 || !known {
		return ""
	}
	t := table.Of(m.Nodes).With("node", func(n topology.Node) table.Value { return table.Count(n.Node) })
	for i, node := range m.Nodes {
		t.With(strconv.Itoa(node.Node), func(n topology.Node) table.Value {
			if i >= len(n.Distances) {
				return nil
			}
			return table.Count(n.Distances[i])
		})
	}
	return term.Table(t.Table("distances", "distances"), opts)
}

func topoWarnings(warnings []string, opts term.Options) string {
	if len(warnings) == 0 {
		return ""
	}
	block := opts.Paint(term.Bold, "Warnings:") + "\n"
	for _, warning := range warnings {
		block += term.Paragraph("  ! ", warning, opts.Columns())
	}
	return block
}
