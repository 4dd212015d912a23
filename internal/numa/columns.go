package numa

import (
	"gorun/internal/column"
	"gorun/internal/result"
)

var columns = column.Join(
	column.List{
		column.Figure(column.Column{Name: "row", Lead: 1, Meaning: "The number of the row."},
			func(n *result.Numa) int { return n.Row }),
		figure(column.Column{
			Name: "mem", Lead: 2, Key: "mem", Words: floats, Meaning: "The node that the memory is bound to; -1: it floats.",
		}, func(n *result.Numa) any { return n.Mem }),
		figure(column.Column{
			Name: "cpu", Lead: 3, Key: "cpu", Words: floats, Meaning: "The node that the probe is bound to; -1: it floats.",
		}, func(n *result.Numa) any { return n.CPU }),
		figure(column.Column{
			Name: "numa_balancing", Lead: 4, Key: "numa_balancing", Words: map[string]string{"-1": "keep"},
			Meaning: "NUMA balancing: 0 off, 1 on, -1 as it is.",
		}, func(n *result.Numa) any { return n.NUMABalancing }),
		figure(column.Column{
			Name: "preferred_node", Lead: 5, Key: "preferred_node", Words: map[string]string{"-1": "none"},
			Meaning: "The preferred node; -1: none.",
		}, func(n *result.Numa) any { return n.PreferredNode }),
		figure(column.Column{Name: "preferred_by", Lead: 14, Key: "preferred_by", Meaning: "How the node is preferred."},
			func(n *result.Numa) any { return n.PreferredBy }),
		figure(column.Column{
			Name: "buffer_bytes", Lead: 6, Key: "buffer_bytes", Unit: column.Bytes, Meaning: "The size of the probe's memory.",
		}, func(n *result.Numa) any { return n.BufferBytes }),
		figure(column.Column{Name: "pages", Lead: 7, Key: "pages", Meaning: "The kind of the memory's pages."},
			func(n *result.Numa) any { return n.Pages }),
		figure(column.Column{Name: "access", Lead: 8, Key: "access", Meaning: "The probe's access pattern."},
			func(n *result.Numa) any { return n.Access }),
		figure(column.Column{
			Name: "mem_policy", Key: "mem_policy", Meaning: "The way that the memory is bound, if it is not plain bind.",
		}, func(n *result.Numa) any { return column.Some(n.MemPolicy) }),
		figure(column.Column{
			Name: "first_touch", Key: "first_touch",
			Meaning: "The first touch of floating memory, if it is not by the probe on its own node.",
		}, func(n *result.Numa) any { return column.Some(n.FirstTouch) }),
		figure(column.Column{
			Name: "scan_delay_seconds", Key: "scan_delay", Unit: column.Seconds,
			Meaning: "The CPU time before NUMA balancing's first scan, and between scans, if the row sets it.",
		}, func(n *result.Numa) any { return column.Some(n.ScanDelay) }),
		figure(column.Column{
			Name: "migration_cost_seconds", Key: "migration_cost", Unit: column.Seconds,
			Meaning: "The time after which the scheduler assumes that a thread's caches are cold, if the row sets it.",
		}, func(n *result.Numa) any { return column.Some(n.MigrationCost) }),
		figure(column.Column{Name: "unsupported", Meaning: "Why the row cannot be measured here."},
			func(n *result.Numa) any { return n.Unsupported }),
		figure(column.Column{Name: "no_effect", Meaning: "Why the kernel ignores a part of the row's setting."},
			func(n *result.Numa) any { return column.Some(n.NoEffect) }),
		perAccess,
		figure(column.Column{
			Name: "index_ns", Lead: 10, Unit: column.Nanoseconds, Better: column.Lower,
			Meaning: "The part of an access that generating its index takes, measured without memory.",
		}, func(n *result.Numa) any { return n.IndexNs }),
		figure(column.Column{
			Name: "accesses", Lead: 11, Unit: column.Large, Repeats: true, Meaning: "The accesses in all repetitions.",
		}, func(n *result.Numa) any { return n.Accesses }),
		figure(column.Column{Name: "repetitions", Lead: 12, Unit: column.Count, Meaning: "The repetitions of the timed loop."},
			func(n *result.Numa) any { return n.Repetitions }),
		figure(column.Column{
			Name: "settled_seconds", Lead: 13, Unit: column.Seconds,
			Meaning: "The time of the accesses before the first repetition, which do not count.",
		}, func(n *result.Numa) any { return n.SettledSeconds }),
		figure(column.Column{Name: "numa_balancing_read", Meaning: "NUMA balancing, read back."},
			func(n *result.Numa) any { return n.BalancingRead }),
		figure(column.Column{Name: "preferred_node_read", Meaning: "The preferred node, read back; -1: none."},
			func(n *result.Numa) any { return n.PreferredRead }),
		each("page_bytes", column.Bytes, "Resident bytes, by the size of the page.",
			func(n *result.Numa) map[string]uint64 { return n.PageBytes }),
		each("node_pages", column.Count, "Pages by node, after the loop.",
			func(n *result.Numa) map[string]int { return n.NodePages }),
		each("cpu_share", column.Share, "The part of the time that the probe was on each CPU.",
			func(n *result.Numa) map[string]float64 { return n.CPUShare }),
		each("node_share", column.Share, "The part of the time that the probe was on each node.",
			func(n *result.Numa) map[string]float64 { return n.NodeShare }),
		figure(column.Column{
			Name: "mem_node_share", Unit: column.Share, Better: column.Higher,
			Meaning: "The part of the time that the probe was on its memory's node; memory on several nodes is weighted by its pages.",
		}, func(n *result.Numa) any { return memShare(n) }),
		column.Figure(column.Column{
			Name: "load_requested", Key: "load", Unit: column.Percent,
			Meaning: "The load requested on each CPU next to the probe.",
		}, func(n *result.Numa) *float64 {
			if n.Load == nil {
				return nil
			}
			return &n.Load.Requested
		}),
	},
	column.Distribution(column.Column{
		Name: "repetition_seconds", Unit: column.Seconds, Better: column.Lower, Meaning: "The time of a repetition",
	}, func(n *result.Numa) *result.Distribution {
		if !hadProbe(n) {
			return nil
		}
		return &n.Repeated
	}),
	column.Migrations(func(n *result.Numa) *result.Migrations { return n.Migrations }),
	phaseColumns("settling_", " while it settled", func(n *result.Numa) *result.NumaPhase { return n.Settling }),
	phaseColumns("", "", func(n *result.Numa) *result.NumaPhase { return n.Settled }),
)

// phaseColumns returns the columns of NUMA balancing's work in a phase of the probe, and its cost.
func phaseColumns(prefix, when string, of func(*result.Numa) *result.NumaPhase) column.List {
	in := func(name, meaning string, unit column.Unit, get func(*result.NumaPhase) any) column.Column {
		return figure(column.Column{Name: prefix + name, Unit: unit, Hidden: true, Meaning: meaning + when + "."},
			func(n *result.Numa) any {
				if of(n) == nil {
					return nil
				}
				return get(of(n))
			})
	}
	list := column.List{
		in("numa_scan_seq", "Passes of NUMA balancing over the process's memory, by then", column.Count,
			func(p *result.NumaPhase) any { return p.ScanSeq }),
		in("numa_pages_migrated", "Pages that NUMA balancing had moved after a fault of the probe, by then", column.Count,
			func(p *result.NumaPhase) any { return p.PagesMigrated }),
		in("numa_preferred_nid", "The node that NUMA balancing had chosen for the probe by then; -1: none", column.Count,
			func(p *result.NumaPhase) any { return p.PreferredNID }),
		in("buffer_faults", "Page faults in the buffer, which are those of NUMA balancing", column.Count,
			func(p *result.NumaPhase) any { return p.BufferFaults }),
		in("buffer_pages_moved", "Pages of the buffer that moved to another node", column.Count,
			func(p *result.NumaPhase) any { return p.BufferMoved }),
	}
	if prefix != "" {
		list = append(list, in("ns_per_access", "The mean time of an access", column.Nanoseconds,
			func(p *result.NumaPhase) any { return p.NsPerAccess }))
	}
	return list
}

// memShare returns the part of the time that the probe was on its memory's node; nil: unknown. If the memory is on
// several nodes, each is weighted by its part of the pages at the end.
func memShare(v *result.Numa) *float64 {
	if v.NodeShare == nil {
		return nil
	}
	sum, pages := 0.0, 0
	for node, n := range v.NodePages {
		sum, pages = sum+float64(n)*v.NodeShare[node], pages+n
	}
	if pages == 0 {
		return nil
	}
	sum /= float64(pages)
	return &sum
}

// perAccess is the column by which cells are compared.
var perAccess = figure(column.Column{
	Name: "ns_per_access", Label: "time of an access", Lead: 9, Unit: column.Nanoseconds, Better: column.Lower, Bench: "ns/op",
	Meaning: "The mean time of an access, including the generation of its index.",
}, func(n *result.Numa) any { return n.NsPerAccess })

var floats = map[string]string{"-1": "F"}

// hadProbe reports whether a probe ran: for a failed sample only the row is known.
func hadProbe(n *result.Numa) bool { return n.Access != "" }

func figure(c column.Column, get func(*result.Numa) any) column.Column {
	return column.Figure(c, func(n *result.Numa) any {
		if !hadProbe(n) {
			return nil
		}
		return get(n)
	})
}

func each[V any](name string, unit column.Unit, meaning string, get func(*result.Numa) map[string]V) column.Column {
	return column.Each(column.Column{Name: name, Unit: unit, Meaning: meaning}, get)
}

// loadColumns are the columns of --load-only.
var loadColumns = column.List{
	column.Figure(column.Column{
		Name: "load_requested", Lead: 1, Key: "load", Unit: column.Percent, Meaning: "The load requested on each CPU.",
	}, func(l *result.Load) *float64 {
		if l.Load == nil {
			return nil
		}
		return &l.Load.Requested
	}),
	column.Derived(column.Column{
		Name: "load_achieved", Unit: column.Percent, Bench: "achieved-percent",
		Meaning: "The achieved load, the mean of all CPUs.",
	}, func(s *result.Sample) *float64 {
		l, ok := result.Typed[result.Load](s)
		if !ok || l.Load == nil || len(l.Load.CPUs) == 0 {
			return nil
		}
		mean := 0.0
		for _, c := range l.Load.CPUs {
			mean += c.Achieved
		}
		mean /= float64(len(l.Load.CPUs))
		return &mean
	}),
}
