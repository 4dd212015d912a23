package perf

import (
	"cmp"
	"slices"
	"strconv"

	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// Move is one migration of a thread.
type Move struct {
	// NS is the time when the thread ran, or was seen, on its new CPU: the host's CLOCK_MONOTONIC in nanoseconds, from which
	// clock_gettime(2) differs in a time namespace.
	NS       int64
	From, To int // CPUs
}

// CPURead is a thread's reading of its own CPU.
type CPURead struct {
	NS  int64 // CLOCK_MONOTONIC in nanoseconds
	CPU int   // -1: unknown
}

// MovesOf returns the moves shown by a thread's reads, given in the order of time: the method TraceReads. A move has
// the time of the first read after it.
func MovesOf(reads []CPURead) []Move {
	var moves []Move
	f := follower{cpu: -1}
	for _, r := range reads {
		if r.CPU < 0 {
			continue
		}
		if m, moved := f.at(r.NS, r.CPU); moved {
			moves = append(moves, m)
		}
	}
	return moves
}

// follower finds a thread's moves from its successive CPUs.
type follower struct {
	cpu int // last seen; -1: not yet seen
}

// at records the thread's CPU, and returns the move to it if there was one.
func (f *follower) at(ns int64, cpu int) (m Move, moved bool) {
	m = Move{ns, f.cpu, cpu}
	moved = f.cpu != cpu && f.cpu >= 0
	f.cpu = cpu
	return m, moved
}

// MoveCount is the number of moves from one CPU to another.
type MoveCount struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Count uint64 `json:"count"`
}

// CountMoves adds moves to nil or to the counts that it returned before, and returns them in ascending order of From,
// then To.
func CountMoves(counts []MoveCount, moves []Move) []MoveCount {
	for _, move := range moves {
		i, found := slices.BinarySearchFunc(counts, move, func(c MoveCount, m Move) int {
			return cmp.Or(cmp.Compare(c.From, m.From), cmp.Compare(c.To, m.To))
		})
		if !found {
			counts = slices.Insert(counts, i, MoveCount{From: move.From, To: move.To})
		}
		counts[i].Count++
	}
	return counts
}

// Classify sums moves by the relation of the two CPUs.
func Classify(m *topology.Machine, counts []MoveCount) result.Migrations {
	n := result.Migrations{FromNode: map[string]uint64{}, ToNode: map[string]uint64{}}
	for _, c := range counts {
		n.Total += c.Count
		switch m.Relation(c.From, c.To) {
		case topology.SameCore:
			n.SameCore += c.Count
		case topology.SameLLC:
			n.SameLLC += c.Count
		case topology.SameNode:
			n.SameNode += c.Count
		case topology.CrossNode:
			n.CrossNode += c.Count
			n.FromNode[strconv.Itoa(m.NodeOf(c.From))] += c.Count
			n.ToNode[strconv.Itoa(m.NodeOf(c.To))] += c.Count
		}
	}
	return n
}
