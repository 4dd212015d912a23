package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/work/c2c"
	"gorun/internal/work/contend"
	"gorun/internal/work/memory"
	"gorun/internal/work/primes"
)

// batteryRow is a row of the battery. It gives one measure or several, each of which looks at some parts of the machine.
type batteryRow struct {
	name       string // of its measures: their prefix, if there are several
	title      string // for people
	meaning    string
	unit       column.Unit
	rate       bool // more is better
	experiment experiment.Experiment
	column     string // the figure of a part; "": the time of the worker on its CPU, and a sample measures all parts
	// cell returns what the experiment does to measure a part, whose CPUs the machine's share is.
	cell func(m experiment.Machine, p part) (work, error)
	// split returns the parts of a machine, given the CPUs of the visit.
	split func(m *topology.Machine, cpus cpuset.Set) []part
}

// work is what a cell does.
type work interface{ Resources() experiment.Resources }

// part is a part of the machine that a measure looks at.
type part struct {
	suffix string // of the measure's name and title; "": there is one measure
	words  string // "node 0"; "": the machine
	cpus   cpuset.Set
	to     int    // the node of the memory, if it is another one
	lack   string // why this machine does not have the part
}

// battery has all measures: to add one, add a row. All figures of a measure are of the same work on machines of the same hardware.
var battery = [...]batteryRow{
	{
		name: "compute-one", title: "one CPU computes", meaning: "The time in which one CPU, while the others are idle, counts the primes up to 8,000.",
		unit:       column.Seconds,
		experiment: primes.Experiment, cell: compute(1, false), split: eachCPU,
	},
	{
		name: "compute-all", title: "all CPUs compute", meaning: "The time in which a CPU counts the primes up to 8,000 eight times, while all others do.",
		unit:       column.Seconds,
		experiment: primes.Experiment, cell: compute(8, true), split: eachCPU,
	},
	{
		name: "latency", title: "latency of memory", meaning: "The time of a read of a node's memory that depends on the one before, by a CPU of the node.",
		unit:       column.Nanoseconds,
		experiment: memory.Experiment, column: "latency_ns", split: firstOfEachNode,
		cell: func(m experiment.Machine, p part) (work, error) {
			return timedReads.Complete(m, memory.Timed(p.cpus), p.cpus), nil
		},
	},
	{
		name: "loaded-latency", title: "latency under load", meaning: "The same time while all other CPUs of the node read.",
		unit:       column.Nanoseconds,
		experiment: memory.Experiment, column: "latency_ns", split: eachNode(2),
		cell: func(m experiment.Machine, p part) (work, error) {
			return timedReads.Complete(m, memory.Loaded(p.cpus, 0), p.cpus), nil
		},
	},
	{
		name: "bandwidth", title: "bandwidth of memory", meaning: "The bytes that all CPUs together read and write in a second, by triad with non-temporal stores.",
		unit: column.BytesPerSecond, rate: true,
		experiment: memory.Experiment, column: "bytes_per_second", split: whole,
		cell: func(m experiment.Machine, p part) (work, error) {
			triad := memory.Cell{Op: "triad", Nontemporal: true, On: memory.AllCPUs, CPUs: p.cpus.List(), Chase: memory.NoCPU, MemNode: memory.Local}
			return memory.Defaults.Complete(m, triad, p.cpus), nil
		},
	},
	{
		name: "node-to-node", title: "bandwidth at distance", meaning: "The bytes that all CPUs of a node read from another node in a second.",
		unit: column.BytesPerSecond, rate: true,
		experiment: memory.Experiment, column: "bytes_per_second", split: eachPairOfNodes,
		cell: func(m experiment.Machine, p part) (work, error) {
			options := memory.Defaults
			options.Time = shortTime
			read := memory.Cell{Op: "read", On: memory.AllCPUs, CPUs: p.cpus.List(), Chase: memory.NoCPU, MemNode: p.to}
			return options.Complete(m, read, p.cpus), nil
		},
	},
	{
		name: "c2c", title: "cache line", meaning: "The time that a cache line takes from one CPU to another of this relation.",
		unit:       column.Nanoseconds,
		experiment: c2c.Experiment, column: "ns", split: eachRelation,
		cell: func(m experiment.Machine, p part) (work, error) {
			a, b := p.cpus.First(), p.cpus.Last()
			return c2c.CellOf(m.Machine, topology.CPUPair{A: a, B: b, Relation: m.Relation(a, b)}), nil
		},
	},
	{
		name: "fetch-and-add", title: "fetch-and-add on one word", meaning: "The time of an atomic addition while all CPUs add to the same word.",
		unit:       column.Nanoseconds,
		experiment: contend.Experiment, column: "ns_per_op", split: whole,
		cell: func(m experiment.Machine, _ part) (work, error) { return contend.Together(m, "xadd", shortTime) },
	},
}

// shortTime is how long a sample lasts of measures that need many, or whose figure needs no more.
const shortTime = 50 * time.Millisecond

// timedReads are the options of the measures of latency: a quarter of the reads of `gorun memory`.
var timedReads = memory.Options{Pages: memory.Defaults.Pages, Time: memory.Defaults.Time, Accesses: memory.Defaults.Accesses / 4}

// compute returns the cell in which each CPU counts primes this many times.
func compute(times int, together bool) func(experiment.Machine, part) (work, error) {
	return func(m experiment.Machine, _ part) (work, error) { return primes.EachCPU(m, times, together), nil }
}

func whole(_ *topology.Machine, cpus cpuset.Set) []part { return []part{{cpus: cpus}} }

func eachCPU(_ *topology.Machine, cpus cpuset.Set) (parts []part) {
	for cpu := range cpus.All() {
		parts = append(parts, part{words: fmt.Sprintf("CPU %d", cpu), cpus: cpuset.Of(cpu)})
	}
	return parts
}

// firstOfEachNode has the first CPU of each node: memory that its own caches do not hold is enough for it.
func firstOfEachNode(m *topology.Machine, cpus cpuset.Set) []part {
	parts := eachNode(1)(m, cpus)
	for i, p := range parts {
		if p.lack == "" {
			parts[i].cpus = cpuset.Of(p.cpus.First())
		}
	}
	return parts
}

// eachNode returns how the nodes with this number of CPUs are parts.
func eachNode(least int) func(*topology.Machine, cpuset.Set) []part {
	return func(m *topology.Machine, cpus cpuset.Set) (parts []part) {
		for node := range m.NodesWith(cpus).All() {
			if on := m.NodeCPUs(node).Intersect(cpus); on.Len() >= least {
				parts = append(parts, part{words: fmt.Sprintf("node %d", node), cpus: on})
			}
		}
		if len(parts) == 0 {
			parts = []part{{lack: fmt.Sprintf("no node has %d CPUs of the visit", least)}}
		}
		return parts
	}
}

// eachPairOfNodes has the measures of each distance.
func eachPairOfNodes(m *topology.Machine, cpus cpuset.Set) (parts []part) {
	for from := range m.NodesWith(cpus).All() {
		for to := range m.MemoryNodes().All() {
			if from == to {
				continue
			}
			p := part{words: fmt.Sprintf("node %d to %d", from, to), cpus: m.NodeCPUs(from).Intersect(cpus), to: to}
			if distance, known := m.Distance(from, to); known {
				p.suffix = strconv.Itoa(distance)
			}
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		parts = []part{{lack: "there is no other node with memory"}}
	}
	return parts
}

func eachRelation(m *topology.Machine, cpus cpuset.Set) (parts []part) {
	for _, pair := range m.PerRelation(cpus) {
		if pair.Relation == topology.SameCPU {
			continue
		}
		p := part{suffix: pair.Relation.String(), lack: pair.Unavailable()}
		if p.lack == "" {
			p.words, p.cpus = fmt.Sprintf("CPUs %d and %d", pair.A, pair.B), cpuset.Of(pair.A, pair.B)
		}
		parts = append(parts, p)
	}
	return parts
}

// Meanings returns the name of each row and what it measures.
func Meanings() (all [][2]string) {
	for _, row := range battery {
		all = append(all, [2]string{row.name, row.meaning})
	}
	return all
}

// rowOf returns the row of a measure and what follows the row's name in it; nil if this gorun does not know the measure.
func rowOf(name string) (row *batteryRow, suffix string) {
	for i := range battery {
		if suffix, is := strings.CutPrefix(name, battery[i].name); is && (suffix == "" || suffix[0] == '-') {
			return &battery[i], strings.TrimPrefix(suffix, "-")
		}
	}
	return nil, ""
}

// titleOf returns the title of a measure; its name if this gorun does not know it.
func titleOf(name string) string {
	row, suffix := rowOf(name)
	if row == nil {
		return name
	}
	return strings.TrimSpace(row.title + " " + suffix)
}

// better is the direction in which the row's measures are better.
func (r *batteryRow) better() string {
	if r.rate {
		return result.Higher
	}
	return result.Lower
}

// planned is a measure of a machine.
type planned struct {
	*batteryRow
	name  string
	parts []part
	lack  string // why this machine does not have it
}

// measuresOf returns the measures of a machine, in the order of the battery.
func measuresOf(m *topology.Machine, cpus cpuset.Set) (all []planned) {
	for i := range battery {
		row := &battery[i]
		first := len(all)
		for _, p := range row.split(m, cpus) {
			name := row.name
			if p.suffix != "" {
				name += "-" + p.suffix
			}
			n := slices.IndexFunc(all[first:], func(of planned) bool { return of.name == name })
			if n < 0 {
				n, all = len(all)-first, append(all, planned{batteryRow: row, name: name, lack: p.lack})
			}
			all[first+n].parts = append(all[first+n].parts, p)
		}
	}
	return all
}

// shuffle orders measures at random by a seed, after those that compute: these take a fraction of a second on most machines, and on
// one that is slow the others may leave no time for them. Two measures are in the same order on all machines that have both.
func shuffle(all []planned, seed uint64) {
	rank := func(m planned) uint64 {
		if m.atOnce() {
			return 0
		}
		hash := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), m.name...))
		return binary.LittleEndian.Uint64(hash[:])
	}
	slices.SortStableFunc(all, func(a, b planned) int { return cmp.Compare(rank(a), rank(b)) })
}

// workSeed is that of the work, such as the order of reads, which is the same in every visit.
const workSeed = 1

// atOnce reports whether a sample measures all parts, each by a worker; otherwise each part has a cell.
func (m planned) atOnce() bool { return m.column == "" }

// cpus returns the CPUs of a cell.
func (m planned) cpus(cell int) (cpus cpuset.Set) {
	if !m.atOnce() {
		return m.parts[cell].cpus
	}
	for _, p := range m.parts {
		cpus = cpus.Union(p.cpus)
	}
	return cpus
}

// cells returns the cells of a measure, and what the greatest needs.
func (m planned) cells(machine *topology.Machine) (cells []any, needs experiment.Resources, err error) {
	parts := m.parts
	if m.atOnce() {
		parts = parts[:1]
	}
	for i, p := range parts {
		cell, err := m.cell(experiment.Machine{Machine: machine, CPUs: m.cpus(i), Seed: workSeed}, p)
		if err != nil {
			return nil, needs, err
		}
		cells = append(cells, cell)
		need := cell.Resources()
		needs.Threads, needs.Bytes = max(needs.Threads, need.Threads), max(needs.Bytes, need.Bytes)
	}
	return cells, needs, nil
}

// figures returns the figures of a sample of a cell, by part. A part that computed wrongly has none.
func (m planned) figures(s *result.Sample, cell int) map[int]float64 {
	figures := map[int]float64{}
	if !m.atOnce() {
		if figure, known := m.experiment.Columns.Get(m.column).Number(s); known {
			figures[cell] = figure
		}
		return figures
	}
	for _, w := range s.WorkersDetail {
		figures[w.Worker] = w.Seconds
	}
	return figures
}
