package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/render/term"
	"gorun/internal/table"
	"gorun/internal/topology"
	"gorun/internal/units"
)

// mostDevices is the number of lines that the table of devices has; JSON has them all.
const mostDevices = 48

// topoCores is the CPU's model, the threads of a core, and the caches below the last level.
func topoCores(m *topology.Machine, d topology.Details, opts term.Options) string {
	var block string
	line := func(name, text string) {
		if text != "" {
			block += term.Paragraph(fmt.Sprintf("  %-9s  ", name), text, opts.Columns())
		}
	}
	line("model", d.CPUModel)
	switch {
	case d.ThreadsPerCore > 0 && fewestThreads(m) < d.ThreadsPerCore:
		line("threads", fmt.Sprintf("%d to %d per core", fewestThreads(m), d.ThreadsPerCore))
	case d.ThreadsPerCore > 0:
		line("threads", strconv.Itoa(d.ThreadsPerCore)+" per core")
	}
	line("caches", strings.Join(cacheParts(m, d.Caches), "; "))
	return block
}

// fewestThreads returns the least number of online threads that a core has.
func fewestThreads(m *topology.Machine) int {
	fewest := 0
	for _, core := range grouped(m.CPUs, func(c topology.CPU) int { return c.Core }) {
		if fewest == 0 || len(core) < fewest {
			fewest = len(core)
		}
	}
	return fewest
}

// cacheParts says what caches there are below the last level, those that are alike together: "L1d 32 KiB, L2 1 MiB of
// each core", "L2 2 MiB of CPUs 4-7, 8-11".
func cacheParts(m *topology.Machine, caches []topology.SharedCache) []string {
	type kind struct{ what, of string }
	var order []kind
	members := map[kind][]topology.SharedCache{}
	kinds := len(m.Kinds())
	for _, c := range caches {
		first, _ := m.CPU(c.CPUs.First())
		if first.LLC >= 0 && first.LLC < len(m.LLCs) && m.LLCs[first.LLC].Level <= c.Level {
			continue // it is shown with the cores under it
		}
		k := kind{what: "L" + strconv.Itoa(c.Level)}
		if c.Level == 1 {
			k.what += "d"
		}
		if c.SizeBytes != nil {
			k.what += " " + units.Bytes(*c.SizeBytes)
		}
		if core := m.Where(func(c topology.CPU) bool { return c.Online && c.Core == first.Core }); core.Equal(c.CPUs) {
			k.of = strings.Join(strings.Fields("each "+first.Class+" core"), " ")
			if kinds > 2 {
				k.of = fmt.Sprintf("each core of kind %d", first.Kind)
			}
		}
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], c)
	}
	var parts []string
	var ofEach []string // in the order in which they come
	text := map[string][]string{}
	for _, k := range order {
		if k.of == "" {
			parts = append(parts, k.what+" of CPUs "+sharersText(members[k]))
			continue
		}
		if text[k.of] == nil {
			ofEach = append(ofEach, k.of)
		}
		text[k.of] = append(text[k.of], k.what)
	}
	for i, of := range ofEach {
		parts = slices.Insert(parts, i, strings.Join(text[of], ", ")+" of "+of)
	}
	return parts
}

// sharersText lists the CPUs of some caches; of more than a few, the first and the last ones.
func sharersText(caches []topology.SharedCache) string {
	const most = 8
	words := make([]string, len(caches))
	for i, c := range caches {
		words[i] = "(" + c.CPUs.String() + ")"
	}
	if len(words) > most {
		return strings.Join(words[:2], " ") + " … " + words[len(words)-1]
	}
	return strings.Join(words, " ")
}

// topoDevices is the table of devices: where each is, and where its interrupts go. The virtual functions of a card that are
// on one node share a line.
func topoDevices(m *topology.Machine, devices []topology.DeviceInterrupts, opts term.Options) string {
	if len(devices) == 0 {
		return ""
	}
	byAddress := map[string]topology.DeviceInterrupts{}
	for _, d := range devices {
		byAddress[d.PCI] = d
	}
	var groups [][]topology.DeviceInterrupts
	at := map[string]int{}
	for _, d := range devices {
		key := d.PhysicalFunction + " " + nodeText(d) + " " + d.CPUs.String()
		if i, known := at[key]; known && d.PhysicalFunction != "" {
			groups[i] = append(groups[i], d)
			continue
		}
		at[key] = len(groups)
		groups = append(groups, []topology.DeviceInterrupts{d})
	}
	type devs = []topology.DeviceInterrupts
	var notes []string
	if more := len(groups) - mostDevices; more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more: gorun topo --format json has all", more))
	}
	text := func(of func(group devs) string) func(group devs) table.Value {
		return func(group devs) table.Value { return table.Text(of(group)) }
	}
	t := table.Of(groups[:min(len(groups), mostDevices)]).
		With("device", text(func(group devs) string {
			of := group[0].PhysicalFunction
			if of == "" {
				return namesText(group[0])
			}
			if card, there := byAddress[of]; there {
				of = card.Name()
			}
			return fmt.Sprintf("%s of %s", units.Things(len(group), "virtual function"), of)
		})).
		With("kind", text(func(group devs) string { return group[0].Kind })).
		With("node", func(group devs) table.Value {
			if group[0].Node == nil {
				return table.Given("unknown")
			}
			return table.Count(*group[0].Node)
		}).
		With("CPUs", text(func(group devs) string {
			if group[0].Node == nil {
				return "unknown"
			}
			return group[0].CPUs.String()
		})).
		With("interrupts", text(func(group devs) string { return interruptsText(m, group) })).
		With("PCI", text(func(group devs) string {
			if len(group) > 1 {
				return group[0].PCI + " …"
			}
			return group[0].PCI
		})).
		Table("devices", "devices", notes...)
	t.Whole = true
	return term.Table(t, opts)
}

func nodeText(d topology.DeviceInterrupts) string {
	if d.Node == nil {
		return "unknown"
	}
	return strconv.Itoa(*d.Node)
}

// namesText shows the names of a device, the first ones of many; without any, its address.
func namesText(d topology.DeviceInterrupts) string {
	const most = 4
	if n := len(d.Names); n > most {
		return strings.Join(d.Names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return cmp.Or(strings.Join(d.Names, ", "), d.PCI)
}

// interruptsText says where the interrupts of some devices that are on one node go: "4 on CPUs 0-3", and how many of them
// go to other nodes. An interrupt goes where the kernel has it go or, where that is not recorded, where its mask allows.
func interruptsText(m *topology.Machine, devices []topology.DeviceInterrupts) string {
	var to cpuset.Set
	all, unknown, away := 0, 0, 0
	for _, d := range devices {
		for _, i := range d.Interrupts {
			all++
			cpus := i.Effective
			if cpus == nil {
				cpus = i.CPUs
			}
			if cpus == nil {
				unknown++
				continue
			}
			to = to.Union(*cpus)
			if d.Node != nil && !cpus.Minus(d.CPUs).Intersect(m.Online()).Empty() {
				away++
			}
		}
	}
	switch {
	case all == 0:
		return "-"
	case unknown == all:
		return fmt.Sprintf("%d, unknown where", all)
	case to.Empty():
		return fmt.Sprintf("%d, none in use", all)
	}
	text := fmt.Sprintf("%d on CPUs %s", all, to)
	if away > 0 {
		text += fmt.Sprintf(", %d on other nodes", away)
	}
	if unknown > 0 {
		text += fmt.Sprintf(", %d unknown", unknown)
	}
	return text
}
