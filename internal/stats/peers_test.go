package stats

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// simulated is a fleet whose nodes have the noise of recordings. Each visit contains all measures.
type simulated struct {
	nodes, measures, slots int
	slow                   map[int]float64 // by node: how much it is slow, in the measure node % measures
	noisy                  func(node int) bool
	rack                   func(node, slot int) float64 // a lasting or passing slowness in all measures
}

// least returns the least of five samples, one after another, for each place in each trace, as the log of its ratio to that of the
// median place.
func least(traces [][]float64) (figures [][]float64) {
	for _, trace := range traces {
		var logs []float64
		for at := range trace {
			five := []float64{}
			for i := range 5 {
				five = append(five, trace[(at+i)%len(trace)])
			}
			logs = append(logs, math.Log(slices.Min(five)))
		}
		centre := Median(logs)
		for i := range logs {
			logs[i] -= centre
		}
		figures = append(figures, logs)
	}
	return figures
}

// judge simulates the fleet, and returns each measure's judge.
func (f simulated) judge(seed uint64, margin float64, figures [][]float64) []*Peers {
	random := rand.New(rand.NewPCG(seed, 7))
	judges := make([]*Peers, f.measures)
	for m := range judges {
		judges[m] = NewPeers(fmt.Sprint("measure ", m), margin)
		lasting := make([]float64, f.nodes)
		for n := range lasting {
			lasting[n] = 0.02*random.Float64() - 0.01
			if n%f.measures == m {
				lasting[n] += math.Log1p(f.slow[n])
			}
		}
		for slot := range f.slots {
			visits := make([]PeerFigure, f.nodes)
			for n := range visits {
				trace := figures[n%len(figures)]
				noise := trace[random.IntN(len(trace))]
				if f.noisy != nil && f.noisy(n) {
					noise *= 5
				}
				if f.rack != nil {
					noise += math.Log1p(f.rack(n, slot))
				}
				visits[n] = PeerFigure{Node: nodeName(n), Log: lasting[n] + noise}
			}
			judges[m].Settle(int64(slot), visits)
		}
	}
	return judges
}

func nodeName(n int) string { return fmt.Sprintf("n%04d", n) }

// claims returns the nodes that are named, and the share of those that are not slow; found is the share of the slow ones that are.
func (f simulated) claims(judges []*Peers) (named map[int]bool, found, falsely float64) {
	var es []float64
	for _, j := range judges {
		for n := range f.nodes {
			es = append(es, j.E(nodeName(n)))
		}
	}
	least := Discoveries(es, f.nodes*f.measures, 0.05)
	named = map[int]bool{}
	all, wrong, right := 0, 0, 0
	for i, e := range es {
		if e < least {
			continue
		}
		m, n := i/f.nodes, i%f.nodes
		named[n] = true
		if all++; f.slow[n] == 0 || n%f.measures != m {
			wrong++
		} else {
			right++
		}
	}
	return named, float64(right) / float64(max(1, len(f.slow))), float64(wrong) / float64(max(1, all))
}

// planted returns 1% of nodes that are 5% slow and 0.2% that are 10% slow.
func planted(seed uint64, nodes int) map[int]float64 {
	slow := map[int]float64{}
	for i, n := range rand.New(rand.NewPCG(seed, 3)).Perm(nodes)[:nodes*12/1000] {
		slow[n] = 0.05
		if i < nodes*2/1000 {
			slow[n] = 0.10
		}
	}
	return slow
}

// Slow nodes are found within 20 visits, and few of those that are named are not slow.
func TestSlowNodes(t *testing.T) {
	figures := least(traces(t, "nat.seqp.*.csv"))
	withReplays(t, 2, 20, func(t *testing.T, replays int) {
		nodes, measures := 1000, 3
		if replays == 20 {
			nodes, measures = 5000, 12
		}
		allFound, allFalse := 0.0, 0.0
		for seed := range uint64(replays) {
			f := simulated{nodes: nodes, measures: measures, slots: 20, slow: planted(seed, nodes)}
			_, found, falsely := f.claims(f.judge(seed, 0.02, figures))
			t.Logf("fleet %d: found %.1f%%, false %.1f%%", seed, 100*found, 100*falsely)
			allFound += found / float64(replays)
			allFalse += falsely / float64(replays)
		}
		assert.GreaterOrEqual(t, allFound, 0.95)
		assert.LessOrEqual(t, allFalse, 0.05)
	})
}

// What is not a lasting slowness of a node names none: a rack that is slow for an hour, nodes with five times the noise, a fleet
// whose nodes differ by 1%.
func TestHealthyFleets(t *testing.T) {
	figures := least(append(traces(t, "nat.seq*.csv"), traces(t, "nat.mem.*.csv")...))
	rack := func(node, slot int) float64 {
		if slot == 9 && node/40 == 3 {
			return 0.2
		}
		return 0
	}
	withReplays(t, 2, 20, func(t *testing.T, replays int) {
		for name, f := range map[string]simulated{
			"rack":  {rack: rack},
			"noisy": {noisy: func(node int) bool { return node%100 == 0 }},
			"equal": {},
		} {
			f.nodes, f.measures, f.slots = 1000, 3, 20
			wrong := 0
			for seed := range uint64(replays) {
				if named, _, _ := f.claims(f.judge(seed, 0.02, figures)); len(named) > 0 {
					wrong++
				}
			}
			assert.LessOrEqual(t, wrong, replays/10, name)
		}
	})
}

// fewNodes returns the e-value of the first of some nodes of which it is slower by this ratio, after each of some slots.
func fewNodes(nodes, slots int, ratio float64) (es []float64) {
	p := NewPeers("m", 0.02)
	random := rand.New(rand.NewPCG(1, 1))
	for slot := range slots {
		var visits []PeerFigure
		for n := range nodes {
			x := 0.002 * random.NormFloat64()
			if n == 0 {
				x += math.Log(ratio)
			}
			visits = append(visits, PeerFigure{Node: nodeName(n), Log: x})
		}
		p.Settle(int64(slot), visits)
		es = append(es, p.E(nodeName(0)))
	}
	return es
}

// Few visits name no node, however slow it is, and enough of them do: a visit at most doubles the wealth.
func TestVisitsNeeded(t *testing.T) {
	for _, c := range []struct{ nodes, visits int }{{2, 7}, {20, 11}, {5000, 19}} {
		most := min(c.nodes, 50)
		es := fewNodes(most, 30, 1.1)
		limit := float64(c.nodes) / 0.05
		first := slices.IndexFunc(es, func(e float64) bool { return e >= limit })
		assert.Equal(t, c.visits, BetsNeeded(limit), c.nodes)
		assert.GreaterOrEqual(t, first+1, c.visits, c.nodes)
		assert.LessOrEqual(t, first+1, c.visits+2, c.nodes)
		for i := 1; i < len(es); i++ {
			assert.LessOrEqual(t, es[i], 2*es[i-1])
		}
	}
}

// A figure that arrives late bets, and changes no bet of another node.
func TestLateFigure(t *testing.T) {
	judge := func(late bool) *Peers {
		p := NewPeers("m", 0)
		for slot := range int64(12) {
			var visits []PeerFigure
			for n := range 30 {
				visits = append(visits, PeerFigure{Node: nodeName(n), Log: 0.01 * math.Sin(float64(int64(n)*31+slot))})
			}
			if late && slot%2 == 0 {
				visits = append(visits, PeerFigure{Node: "late", Log: 0.1, Late: true})
			}
			p.Settle(slot, visits)
		}
		return p
	}
	with, without := judge(true), judge(false)
	for n := range 30 {
		assert.Equal(t, without.E(nodeName(n)), with.E(nodeName(n)))
	}
	assert.Equal(t, 6, with.Bets("late"))
	assert.Greater(t, with.E("late"), 20.0)
	assert.InDelta(t, math.Exp(0.1), with.Ratio("late"), 0.02)
}

// What the bets come to without a peer is what they would be if it had not been visited.
func TestWithoutPeer(t *testing.T) {
	judge := func(nodes int, absent string) *Peers {
		p := NewPeers("m", 0)
		for slot := range int64(12) {
			var visits []PeerFigure
			for n := range nodes {
				if name := nodeName(n); name != absent && (n+int(slot))%7 != 0 {
					visits = append(visits, PeerFigure{Node: name, Log: 0.01 * math.Sin(float64(int64(n)*31+slot*slot)), Late: n == 3})
				}
			}
			p.Settle(slot, visits)
			p.pairs = Sorted{} // the spread of earlier slots
		}
		return p
	}
	for _, nodes := range []int{2, 3, 4, 9, 10, 12, 30} {
		all := judge(nodes, "")
		for n := range nodes {
			without := all.Without(nodeName(n))
			for m := range nodes {
				if m == n {
					continue
				}
				e, is := without[nodeName(m)]
				if !is {
					e = all.E(nodeName(n))
				}
				assert.InEpsilon(t, judge(nodes, nodeName(m)).E(nodeName(n)), e, 1e-9, "%d nodes: %d without %d", nodes, n, m)
			}
			assert.NotContains(t, without, nodeName(3), "a late figure is nobody's peer")
		}
	}
}

// The wild figures of one node hide no slow one. Without each peer, this holds from three healthy ones on, as many as a node needs
// without the wild one.
func TestWildNode(t *testing.T) {
	for _, nodes := range []int{4, 5, 8} {
		for what, wild := range map[string]func(slot int64) float64{
			"slow": func(int64) float64 { return 200 },
			"fast": func(int64) float64 { return -200 },
			"both": func(slot int64) float64 { return 400*float64(slot%2) - 200 },
			"more": func(slot int64) float64 { return 9 * float64(slot) },
		} {
			p := NewPeers("m", 0.02)
			random := rand.New(rand.NewPCG(1, 1))
			for slot := range int64(24) {
				visits := []PeerFigure{{Node: "slow", Log: math.Log(1.2)}, {Node: "wild", Log: wild(slot)}}
				for n := range nodes - 2 {
					visits = append(visits, PeerFigure{Node: nodeName(n), Log: 0.005 * random.NormFloat64()})
				}
				p.Settle(slot, visits)
			}
			assert.Greater(t, p.E("slow"), 1e4, "%d nodes, wild: %s", nodes, what)
			for peer, e := range p.Without("slow") {
				assert.True(t, nodes == 4 || e > 1e4, "%d nodes, wild: %s, without %s", nodes, what, peer)
			}
		}
	}
}

// One node that reports itself fast frames none: of the healthy nodes of small classes, few reach 20 without any one peer, at a margin
// that none exceeds, although some do with it.
func TestFramingNode(t *testing.T) {
	for _, pattern := range []string{"nat.seqp.*.csv", "nat.mem.*.csv"} {
		figures := least(traces(t, pattern))
		random := rand.New(rand.NewPCG(5, 5))
		framed, high, of := 0, 0, 0
		for class := range 200 {
			p := NewPeers(fmt.Sprint(class), 0.01)
			for slot := range int64(20) {
				visits := []PeerFigure{{Node: "fast", Log: -1}}
				for n := range 3 {
					trace := figures[(class+n)%len(figures)]
					visits = append(visits, PeerFigure{Node: nodeName(n), Log: trace[random.IntN(len(trace))]})
				}
				p.Settle(slot, visits)
			}
			for n := range 3 {
				of++
				if p.E(nodeName(n)) >= 20 {
					framed++
				}
				if slices.Min(slices.Collect(maps.Values(p.Without(nodeName(n))))) >= 20 {
					high++
				}
			}
		}
		t.Logf("%s: %d of %d reach 20, %d without any one peer", pattern, framed, of, high)
		assert.LessOrEqual(t, high, most(of), pattern)
	}
}

// A node without peers has no bet, and no interval.
func TestNoPeers(t *testing.T) {
	p := NewPeers("m", 0.02)
	for slot := range int64(9) {
		p.Settle(slot, []PeerFigure{{Node: "alone", Log: float64(slot)}})
	}
	assert.Zero(t, p.Bets("alone"))
	assert.Equal(t, 1.0, p.E("alone"))
	assert.Equal(t, 1.0, p.Ratio("alone"))
	lo, hi := p.Interval("alone", 20)
	assert.Zero(t, lo)
	assert.True(t, math.IsInf(hi, 1))
	assert.Equal(t, 1.0, p.E("unknown"))
}

// The interval of a slow node holds its ratio, and its lower end is at least that of the claim.
func TestPeerInterval(t *testing.T) {
	p := NewPeers("m", 0.02)
	random := rand.New(rand.NewPCG(2, 2))
	for slot := range int64(40) {
		var visits []PeerFigure
		for n := range 20 {
			x := 0.01 * random.NormFloat64()
			if n == 0 {
				x += math.Log(1.08)
			}
			visits = append(visits, PeerFigure{Node: nodeName(n), Log: x})
		}
		p.Settle(slot, visits)
	}
	e := p.E(nodeName(0))
	require.Greater(t, e, 400.0)
	lo, hi := p.Interval(nodeName(0), e)
	assert.InDelta(t, 1.02, lo, 1e-6, "the e-value is that of the margin")
	assert.Greater(t, hi, 1.08)
	lo, hi = p.Interval(nodeName(0), 20)
	assert.True(t, 1.02 < lo && lo < 1.08 && 1.08 < hi && hi < 1.12, "%v %v", lo, hi)
	assert.InDelta(t, 1.08, p.Ratio(nodeName(0)), 0.01)
}

// The claimed e-values are those of e-BH.
func TestDiscoveries(t *testing.T) {
	assert.True(t, math.IsInf(Discoveries(nil, 10, 0.05), 1))
	assert.True(t, math.IsInf(Discoveries([]float64{199}, 10, 0.05), 1))
	assert.Equal(t, 200.0, Discoveries([]float64{1, 200}, 10, 0.05))
	assert.Equal(t, 100.0, Discoveries([]float64{100, 1, 100}, 10, 0.05), "neither is enough alone")
	assert.Equal(t, 67.0, Discoveries([]float64{67, 99, 67}, 10, 0.05))
}

// At a margin of 1%, which no node exceeds, few e-values reach 20: at most 1 in 20 may, whatever the noise.
func TestHealthyNodes(t *testing.T) {
	for _, pattern := range []string{"nat.seqp.*.csv", "nat.sequ.*.csv", "nat.mem.*.csv", "hog.*.csv"} {
		figures := least(traces(t, pattern))
		for _, noisy := range []bool{false, true} {
			f := simulated{nodes: 1000, measures: 1, slots: 20, noisy: func(node int) bool { return noisy && node%20 == 0 }}
			p, of, high := f.judge(1, 0.01, figures)[0], 0, 0
			for n := range f.nodes {
				if f.noisy(n) != noisy {
					continue
				}
				of++
				if p.E(nodeName(n)) >= 20 {
					high++
				}
			}
			assert.LessOrEqual(t, high, most(of), "%s %v", pattern, noisy)
		}
	}
}
