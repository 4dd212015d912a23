package render

import (
	"cmp"
	"fmt"
	"slices"

	"gorun/internal/base/units"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// mostDevices is the number of lines that the table of devices has; JSON has them all.
const mostDevices = 48

// topoDevices is the table of devices: where each is, and where its interrupts go. The virtual functions of a card that are
// on one node share a line.
func topoDevices(m *topology.Machine, devices []topology.DeviceInterrupts) table.Table {
	type devs = []topology.DeviceInterrupts
	names := map[string]string{}
	var groups []devs
	for _, d := range devices {
		names[d.PCI] = d.Name()
		i := slices.IndexFunc(groups, func(group devs) bool {
			return d.PhysicalFunction != "" && group[0].PhysicalFunction == d.PhysicalFunction && group[0].CPUs.Equal(d.CPUs)
		})
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], d)
	}
	var notes []string
	if more := len(groups) - mostDevices; more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more: gorun topo --format json has all", more))
	}
	t := table.Of(groups[:min(len(groups), mostDevices)]).
		With("device", func(group devs) table.Value {
			if of := group[0].PhysicalFunction; of != "" {
				return table.Text(units.Things(len(group), "virtual function") + " of " + cmp.Or(names[of], of))
			}
			return table.Text(cmp.Or(view.Names(group[0].Names), group[0].PCI))
		}).
		With("kind", func(group devs) table.Value { return table.Text(group[0].Kind) }).
		With("node", func(group devs) table.Value { return table.Known(group[0].Node) }).
		With("CPUs", func(group devs) table.Value {
			if group[0].Node == nil {
				return nil
			}
			return table.Text(group[0].CPUs.String())
		}).
		With("interrupts", func(group devs) table.Value { return interrupts(m, group) }).
		With("PCI", func(group devs) table.Value {
			if len(group) > 1 {
				return table.Text(group[0].PCI + " …")
			}
			return table.Text(group[0].PCI)
		}).
		Table("devices", "devices", notes...)
	t.Whole = true
	return t
}

// interrupts says where the interrupts of some devices that are on one node go: "4 on CPUs 0-3", and how many of them
// go to other nodes. An interrupt goes where the kernel has it go or, where that is not recorded, where its mask allows.
func interrupts(m *topology.Machine, devices []topology.DeviceInterrupts) table.Value {
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
		return nil
	case unknown == all:
		return table.Text(fmt.Sprintf("%d, unknown where", all))
	case to.Empty():
		return table.Text(fmt.Sprintf("%d, none in use", all))
	}
	text := fmt.Sprintf("%d on CPUs %s", all, to)
	if away > 0 {
		text += fmt.Sprintf(", %d on other nodes", away)
	}
	if unknown > 0 {
		text += fmt.Sprintf(", %d unknown", unknown)
	}
	return table.Text(text)
}
