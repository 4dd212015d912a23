package stats

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
)

const (
	// peersOfBet is the number of nodes with which a node is compared in a slot.
	peersOfBet = 8
	// spreadPairs is the number of pairs by which a slot counts for the spread of later ones.
	spreadPairs = 200
	// enoughPairs give the spread to a few percent.
	enoughPairs = 4000
	// EnoughPeers is the number of peers of a node in a slot from which on no single one of them decides a bet.
	EnoughPeers = 3
)

// Peers judges the nodes of a fleet that are alike, in one measure: which of them are slower than the others by more than a margin.
//
// Time is divided into slots. In each, a bettor against "the node's median is at most 1 + margin times that of its class" bets on the
// node being slower than its peers, times the margin: other nodes with a figure in the slot, chosen by a hash. The bet is on the pair
// of the node and the peer in the middle, or half on each of the two in the middle (pairPayoff): it pays at most 2, and at most 1 on
// average if the node is not slow, so that its wealth is an e-value. A node is as often above as below the middle of its equals,
// whatever its noise. A mean over all peers would be as fair, and lose more: some of them are disturbed in each slot. Slow peers
// only make a node look faster. The spread is that of earlier slots, so that a bet depends on the past alone.
//
// A node may report false figures. It has one figure in a slot, as each other node, and moves the middle of a few peers by one
// place. Without returns what the bets of a node come to without each of its peers.
type Peers struct {
	shift float64 // log of 1 + margin
	key   uint64
	bets  map[string]*nodeBets
	rings []ring // of the slots
	pairs Sorted // log ratios of pairs of nodes in earlier slots
}

// PeerFigure is the figure of a node in a slot.
type PeerFigure struct {
	Node string
	Log  float64 // of a time, or the negative log of a rate: less is better
	// Late: the slot was judged without it. It bets, but is nobody's peer, so that no bet changes afterwards.
	Late bool
}

// ring has the figures of a slot in the order of their hashes: the peers of a node are the next ones.
type ring []ringFigure

type ringFigure struct {
	hash uint64
	node string
	log  float64
}

type nodeBets struct {
	purse purse
	bets  []peerBet
	peers int // the most in a slot
}

// peerBet is a bet of a node.
type peerBet struct {
	ring   int32      // in which ring the peers are
	first  int32      // the place of the first of them there
	others int32      // the number of all other nodes there
	log    float64    // the node's
	middle [2]float64 // of its peers: those in the middle, which are one if the number of peers is odd
	spread float64    // of earlier slots; 0: not known
}

// NewPeers returns a judge of a class of nodes in one measure. key distinguishes it from others, whose peers differ.
func NewPeers(key string, margin float64) *Peers {
	return &Peers{shift: math.Log1p(margin), key: hashOf(key), bets: map[string]*nodeBets{}}
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text))
	return h.Sum64()
}

// mix spreads each bit of x over all bits (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Settle makes the bets of a slot, which has ended. Slots are settled in the order of time. A node has at most one figure in a slot.
func (p *Peers) Settle(slot int64, figures []PeerFigure) {
	at := mix(p.key ^ mix(uint64(slot)))
	spread := 0.0
	if p.pairs.Len() >= scaleRounds {
		spread = p.pairs.deviation()
	}
	var on ring
	for _, f := range figures {
		if !f.Late {
			on = append(on, ringFigure{mix(hashOf(f.Node) ^ at), f.Node, f.Log})
		}
	}
	slices.SortFunc(on, func(a, b ringFigure) int { return cmp.Compare(a.hash, b.hash) })
	p.rings = append(p.rings, on)
	room := make(ring, 0, peersOfBet)
	for _, f := range figures {
		n := p.bets[f.Node]
		if n == nil {
			n = &nodeBets{purse: evenly}
			p.bets[f.Node] = n
		}
		first, others := on.after(mix(hashOf(f.Node) ^ at))
		if others == 0 {
			continue
		}
		bet := peerBet{ring: int32(len(p.rings) - 1), first: int32(first), others: int32(others), log: f.Log, spread: spread}
		n.peers = max(n.peers, min(others, peersOfBet))
		bet.middle = middleOf(p.following(bet, peersOfBet, room))
		n.bets = append(n.bets, bet)
		n.purse.bet(bet.payoff(1, p.shift))
	}
	p.learn(on)
}

// after returns the place after the node with this hash, and the number of other nodes on the ring.
func (r ring) after(hash uint64) (first, others int) {
	first, itself := slices.BinarySearchFunc(r, hash, func(f ringFigure, hash uint64) int { return cmp.Compare(f.hash, hash) })
	if itself {
		return first + 1, len(r) - 1
	}
	return first, len(r)
}

// following returns the peers of a bet, up to a number of them, in room.
func (p *Peers) following(b peerBet, most int, room ring) ring {
	on := p.rings[b.ring]
	room = room[:0]
	for i := range min(int(b.others), most) {
		room = append(room, on[(int(b.first)+i)%len(on)])
	}
	return room
}

// middleOf returns the figures in the middle of peers.
func middleOf(peers ring) [2]float64 {
	var room [peersOfBet]float64
	logs := room[:0]
	for _, peer := range peers {
		logs = append(logs, peer.log)
	}
	slices.Sort(logs)
	return [2]float64{logs[(len(logs)-1)/2], logs[len(logs)/2]}
}

// learn adds pairs of a slot to those that give the spread. The order within a pair is that of the nodes: a lasting difference of two
// nodes moves the centre of their log ratios, not the spread. Of several pairs, the one that is farthest apart is left out: a node that
// reports wild figures is in one pair of a slot, and would make the spread so great that no bet is won.
func (p *Peers) learn(on ring) {
	if p.pairs.Len() >= enoughPairs {
		return
	}
	var pairs []float64
	farthest := 0
	for i := 0; i+1 < min(len(on), 2*spreadPairs); i += 2 {
		a, b := on[i], on[i+1]
		if hashOf(a.node) > hashOf(b.node) {
			a, b = b, a
		}
		pairs = append(pairs, a.log-b.log)
		if math.Abs(a.log-b.log) > math.Abs(pairs[farthest]) {
			farthest = len(pairs) - 1
		}
	}
	if len(pairs) > 1 {
		pairs = slices.Delete(pairs, farthest, farthest+1)
	}
	for _, pair := range pairs {
		p.pairs.Add(pair)
	}
}

// payoff returns what a bet pays that the node is slower (toward +1) or faster (−1) than its peers by more than a log ratio.
func (b peerBet) payoff(toward int, logRatio float64) (pay float64) {
	for _, peer := range b.middle {
		pay += pairPayoff(float64(toward)*(b.log-peer-logRatio), b.spread) / 2
	}
	return pay
}

// Bets returns the number of a node's bets: the slots in which it had peers.
func (p *Peers) Bets(node string) int {
	if n := p.bets[node]; n != nil {
		return len(n.bets)
	}
	return 0
}

// Most returns the number of peers that a node had in the slot in which it had the most.
func (p *Peers) Most(node string) int {
	if n := p.bets[node]; n != nil {
		return n.peers
	}
	return 0
}

// Without returns the node's e-value without each node that was its peer: the next node on the ring takes the place of that peer, or
// none does, and a bet without any peer is not made. The spread, on which no bet's fairness depends, is the same.
func (p *Peers) Without(node string) map[string]float64 {
	all, changes := stakeLogs{}, map[string]*stakeLogs{}
	room := make(ring, 0, peersOfBet+1)
	for _, bet := range p.bets[node].bets {
		pay := bet.payoff(1, p.shift)
		all.add(pay, 1)
		room = p.following(bet, peersOfBet+1, room)
		for i := range min(len(room), peersOfBet) {
			peer := room[i].node
			if changes[peer] == nil {
				changes[peer] = &stakeLogs{}
			}
			changes[peer].add(pay, -1)
			if len(room) == 1 {
				continue
			}
			var left [peersOfBet]ringFigure
			bet.middle = middleOf(append(append(left[:0], room[:i]...), room[i+1:]...))
			changes[peer].add(bet.payoff(1, p.shift), 1)
		}
	}
	es := map[string]float64{}
	for peer, change := range changes {
		for k := range change {
			change[k] += all[k]
		}
		es[peer] = change.wealth()
	}
	return es
}

// stakeLogs is the logarithm of a purse.
type stakeLogs [len(stakes)]float64

// add adds the bet with this payoff, or takes it away: times is 1 or −1.
func (l *stakeLogs) add(payoff, times float64) {
	for k, stake := range stakes {
		l[k] += times * math.Log1p(stake*(payoff-1))
	}
}

func (l *stakeLogs) wealth() float64 {
	var p purse
	for k := range l {
		p[k] = min(math.Exp(l[k]), 1e300)
	}
	return p.wealth()
}

// E returns the e-value for "the node is slower than its class by more than the margin"; 1 without bets.
func (p *Peers) E(node string) float64 {
	if n := p.bets[node]; n != nil {
		return n.purse.wealth()
	}
	return 1
}

// More returns the number of further bets after which the node's e-value reaches e, if they are like those so far: the same bets again,
// in their order. e is at most the square of the e-value that it has, so that it is reached.
func (p *Peers) More(node string, e float64) (bets int) {
	n := p.bets[node]
	for purse := n.purse; purse.wealth() < e; bets++ {
		purse.bet(n.bets[bets%len(n.bets)].payoff(1, p.shift))
	}
	return bets
}

// Ratio returns the node's typical ratio to its peers: the Hodges-Lehmann estimate of its log ratios to their medians. It is 1
// without bets.
func (p *Peers) Ratio(node string) float64 {
	n := p.bets[node]
	if n == nil || len(n.bets) == 0 {
		return 1
	}
	var logs []float64
	for _, bet := range n.bets {
		logs = append(logs, bet.log-(bet.middle[0]+bet.middle[1])/2)
	}
	slices.Sort(logs)
	return math.Exp(hodgesLehmann(logs))
}

// Interval returns the least and the greatest ratio to the class that the node's bets have not ruled out: for each end, a bettor
// against the ratios beyond it has at least this e-value. 0 and infinity: nothing is ruled out.
func (p *Peers) Interval(node string, e float64) (lo, hi float64) {
	n := p.bets[node]
	if n == nil {
		return 0, math.Inf(1)
	}
	out := func(toward int, logRatio float64) bool {
		wealth := evenly
		for _, bet := range n.bets {
			wealth.bet(bet.payoff(toward, logRatio))
		}
		return wealth.wealth() >= e
	}
	end := func(toward int) float64 {
		// Wealth falls along the way from what is surely ruled out to what is surely not.
		from, to := -float64(toward)*math.Log(farthest), float64(toward)*math.Log(farthest)
		if !out(toward, from) {
			return math.Inf(-toward)
		}
		for range 40 {
			if middle := (from + to) / 2; out(toward, middle) {
				from = middle
			} else {
				to = middle
			}
		}
		return from
	}
	return math.Exp(end(1)), math.Exp(end(-1))
}

// Discoveries returns the least e-value of those that are claimed, if the expected share of false claims is to be at most alpha: the
// k greatest are, for the greatest k for which the k-th is at least n/(alpha k). n is the number of hypotheses, also of those
// without any e-value. The e-values may depend on each other in any way (e-BH: Wang and Ramdas, "False discovery rate control with
// e-values", JRSS B 84, 2022). It is infinite if there is no claim.
func Discoveries(es []float64, n int, alpha float64) (least float64) {
	sorted := slices.SortedFunc(slices.Values(es), func(a, b float64) int { return cmp.Compare(b, a) })
	least = math.Inf(1)
	for i, e := range sorted {
		if e >= float64(n)/(alpha*float64(i+1)) {
			least = e
		}
	}
	return least
}

// BetsNeeded returns the least number of bets after which an e-value can reach e: all of them are won.
func BetsNeeded(e float64) (bets int) {
	for p := evenly; p.wealth() < e; bets++ {
		p.bet(pairPayoff(math.Inf(1), 1))
	}
	return bets
}
