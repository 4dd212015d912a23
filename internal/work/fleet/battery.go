package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// batteryRow is a row of the battery. It gives one measure or several, each of which looks at some parts of the machine.
type batteryRow struct {
	name    string // of its measures: their prefix, if there are several
	title   string // for people
	meaning string
	unit    column.Unit
	rate    bool         // more is better
	compute *computation // nil: an experiment measures it
	// The experiment, its flags, and the column that is read.
	experiment string
	flags      []string
	column     string
	// split returns the parts of a machine, given the CPUs of the visit.
	split func(m *topology.Machine, cpus cpuset.Set) []part
}

// part is a part of the machine that a measure looks at.
type part struct {
	suffix string // of the measure's name and title; "": there is one measure
	words  string // "node 0"; "": the machine
	cpus   cpuset.Set
	flags  []string // in addition to those of the row
	lack   string   // why this machine does not have the part
}

// battery has all measures: to add one, add a row. All figures of a measure are of the same work on machines of the same hardware.
var battery = [...]batteryRow{
	{
		name: "compute-one", title: "one CPU computes", meaning: "The time in which one CPU, while the others are idle, counts the primes up to 8,000.",
		unit:    column.Seconds,
		compute: &computation{repeats: 1}, split: eachCPU,
	},
	{
		name: "compute-all", title: "all CPUs compute", meaning: "The time in which a CPU counts the primes up to 8,000 eight times, while all others do.",
		unit:    column.Seconds,
		compute: &computation{repeats: 8, together: true}, split: eachCPU,
	},
	{
		name: "latency", title: "latency of memory", meaning: "The time of a read of a node's memory that depends on the one before, by a CPU of the node.",
		unit:       column.Nanoseconds,
		experiment: "memory", flags: []string{"--loaded", "--pauses", "none", "--accesses", "262144"}, column: "latency_ns", split: firstOfEachNode,
	},
	{
		name: "loaded-latency", title: "latency under load", meaning: "The same time while all other CPUs of the node read.",
		unit:       column.Nanoseconds,
		experiment: "memory", flags: []string{"--loaded", "--pauses", "0", "--accesses", "262144"}, column: "latency_ns", split: eachNode(2),
	},
	{
		name: "bandwidth", title: "bandwidth of memory", meaning: "The bytes that all CPUs together read and write in a second, by triad with non-temporal stores.",
		unit: column.BytesPerSecond, rate: true,
		experiment: "memory", flags: []string{"--op", "triad", "--stores", "nontemporal", "--on", "all"}, column: "bytes_per_second", split: whole,
	},
	{
		name: "node-to-node", title: "bandwidth at distance", meaning: "The bytes that all CPUs of a node read from another node in a second.",
		unit: column.BytesPerSecond, rate: true,
		experiment: "memory", flags: []string{"--op", "read", "--on", "all", "--time", "50ms"}, column: "bytes_per_second", split: eachPairOfNodes,
	},
	{
		name: "c2c", title: "cache line", meaning: "The time that a cache line takes from one CPU to another of this relation.",
		unit:       column.Nanoseconds,
		experiment: "c2c", flags: []string{"--pairs", "all"}, column: "ns", split: eachRelation,
	},
	{
		name: "fetch-and-add", title: "fetch-and-add on one word", meaning: "The time of an atomic addition while all CPUs add to the same word.",
		unit:       column.Nanoseconds,
		experiment: "contend", flags: []string{"--op", "xadd", "--time", "50ms"}, column: "ns_per_op", split: whole,
	},
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
			p := part{words: fmt.Sprintf("node %d to %d", from, to), cpus: m.NodeCPUs(from).Intersect(cpus), flags: []string{"--mem", strconv.Itoa(to)}}
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
		if m.compute != nil {
			return 0
		}
		hash := sha256.Sum256(append(binary.LittleEndian.AppendUint64(nil, seed), m.name...))
		return binary.LittleEndian.Uint64(hash[:])
	}
	slices.SortStableFunc(all, func(a, b planned) int { return cmp.Compare(rank(a), rank(b)) })
}

// workSeed is that of the work, such as the order of reads, which is the same in every visit.
const workSeed = 1

// resolve returns the cells of a measure, one for each part, and what the greatest needs.
func (m planned) resolve(x experiment.Experiment, machine experiment.Machine) (cells []any, needs experiment.Resources, err error) {
	for _, p := range m.parts {
		flags, set := x.New(), experiment.NewFlagSet(x.Name)
		flags.Register(set)
		if err := set.Parse(slices.Concat(m.flags, p.flags)); err != nil {
			return nil, needs, err
		}
		if err := experiment.Validate(flags); err != nil {
			return nil, needs, err
		}
		machine.CPUs, machine.Given, machine.Seed = p.cpus, set.Changed, workSeed
		r, err := flags.Resolve(machine)
		switch {
		case err != nil:
			return nil, needs, err
		case len(r.Cells) != 1:
			return nil, needs, fmt.Errorf("%s has %d cells for %s instead of one", x.Name, len(r.Cells), cmp.Or(p.words, "the machine"))
		case r.Cells[0].Unavailable != "":
			return nil, needs, errors.New(r.Cells[0].Unavailable)
		}
		cells = append(cells, r.Cells[0].Do)
		needs.Threads, needs.Bytes = max(needs.Threads, r.Resources.Threads), max(needs.Bytes, r.Resources.Bytes)
	}
	return cells, needs, nil
}
