package numa

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/perf"
	"gorun/internal/result"
)

// place is the position of a CPU in the terms of /sys: lists of CPUs that identify what they share.
type place struct{ core, llc, node string }

// readPlaces reads the place of each online CPU from the files of /sys, without the topology package. It returns false
// for a machine whose files lack data that topology infers.
func readPlaces(fsys fs.FS) (map[int]place, bool) {
	const dir = "sys/devices/system/"
	read := func(name string) string {
		text, err := fs.ReadFile(fsys, dir+name)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	nodes := map[int]string{}
	entries, _ := fs.ReadDir(fsys, dir+"node")
	for _, entry := range entries {
		number, isNode := strings.CutPrefix(entry.Name(), "node")
		if !isNode {
			continue
		}
		for part := range strings.SplitSeq(read(path.Join("node", entry.Name(), "cpulist")), ",") {
			first, last, isRange := strings.Cut(part, "-")
			if !isRange {
				last = first
			}
			lo, loErr := strconv.Atoi(first)
			hi, hiErr := strconv.Atoi(last)
			if loErr != nil || hiErr != nil {
				continue // a node without CPUs
			}
			for cpu := lo; cpu <= hi; cpu++ {
				if nodes[cpu] != "" {
					return nil, false // fake nodes share CPUs
				}
				nodes[cpu] = number
			}
		}
	}
	places := map[int]place{}
	for cpu, node := range nodes {
		own := fmt.Sprintf("cpu/cpu%d/", cpu)
		p := place{core: read(own + "topology/core_cpus_list"), node: node}
		if p.core == "" { // before Linux 5.3
			p.core = read(own + "topology/thread_siblings_list")
		}
		caches, _ := fs.ReadDir(fsys, dir+own+"cache")
		level := 0
		for _, entry := range caches {
			cache := own + "cache/" + entry.Name() + "/"
			at, err := strconv.Atoi(read(cache + "level"))
			if err == nil && read(cache+"type") != "Instruction" && at > level {
				level, p.llc = at, read(cache+"shared_cpu_list")
			}
		}
		if p.core == "" || p.llc == "" {
			return nil, false
		}
		places[cpu] = p
	}
	return places, len(places) > 0
}

// tally returns the expected result of perf.Classify, from the places.
func tally(places map[int]place, moves []perf.Move) result.Migrations {
	want := result.Migrations{Total: uint64(len(moves)), FromNode: map[string]uint64{}, ToNode: map[string]uint64{}}
	for _, move := range moves {
		from, to := places[move.From], places[move.To]
		switch {
		case from.node != to.node:
			want.CrossNode++
			want.FromNode[from.node]++
			want.ToNode[to.node]++
		case from.core == to.core:
			want.SameCore++
		case from.llc == to.llc:
			want.SameLLC++
		default:
			want.SameNode++
		}
	}
	return want
}

func TestTimeline(t *testing.T) {
	m := recorded(t, "qemu-epyc8") // nodes of 4 CPUs, each of 2 LLCs of 2 CPUs; no SMT
	moves := []perf.Move{
		{NS: 100, From: 0, To: 1}, {NS: 200, From: 1, To: 2}, {NS: 300, From: 2, To: 4}, {NS: 500, From: 4, To: 31},
	}
	assert.Equal(t, []result.NumaMove{
		{Seconds: 0, From: 0, To: 1, Relation: "same-llc"},
		{Seconds: 100e-9, From: 1, To: 2, Relation: "same-node"},
		{Seconds: 200e-9, From: 2, To: 4, Relation: "cross-node"},
		{Seconds: 400e-9, From: 4, To: 31, Relation: "cross-node"},
	}, timeline(m, moves, 100))
}

func TestWithin(t *testing.T) {
	spans := []span{{begun: 10, ended: 20}, {begun: 30, ended: 40}}
	var moves []perf.Move
	for _, ns := range []int64{9, 10, 19, 20, 25, 30, 39, 40} {
		moves = append(moves, perf.Move{NS: ns})
	}
	assert.Equal(t, []perf.Move{{NS: 10}, {NS: 19}, {NS: 30}, {NS: 39}}, within(spans, moves))
	assert.Len(t, moves, 8, "they are not changed")
	assert.EqualValues(t, 9, moves[0].NS)
	assert.Empty(t, within(nil, moves))
}

func TestShares(t *testing.T) {
	m := recorded(t, "qemu-numa2") // CPUs 0-3 and 4-7
	reads := func(pairs ...int64) (seen []perf.CPURead) {
		for i := 0; i < len(pairs); i += 2 {
			seen = append(seen, perf.CPURead{NS: pairs[i], CPU: int(pairs[i+1])})
		}
		return seen
	}
	cpus, nodes := shares(m, []span{{begun: 5, ended: 6, seen: reads(5, 0)}})
	assert.Equal(t, map[string]float64{"0": 1}, cpus)
	assert.Equal(t, map[string]float64{"0": 1}, nodes)
	cpus, nodes = shares(m, []span{
		{begun: 0, ended: 100, seen: reads(0, 0, 10, 4, 20, 1, 30, 3)},
		{begun: 1000, ended: 1100, seen: reads(1000, 3, 1060, 7)},
	})
	assert.InDeltaMapValues(t, map[string]float64{"0": 0.05, "4": 0.05, "1": 0.05, "3": 0.65, "7": 0.2}, cpus, 1e-9)
	assert.InDeltaMapValues(t, map[string]float64{"0": 0.75, "1": 0.25}, nodes, 1e-9)
	for _, blind := range [][]span{
		nil,
		{{begun: 5, ended: 6}}, // the CPU was not read
		{{begun: 5, ended: 6, seen: reads(5, -1)}}, // the CPU is unknown
	} {
		cpus, nodes = shares(m, blind)
		assert.Nil(t, cpus)
		assert.Nil(t, nodes)
	}
}
