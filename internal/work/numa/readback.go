package numa

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// readNodePages returns the number of the buffer's pages on each node; nil if unknown.
func (p *probe) readNodePages() map[int]int {
	nodes, err := p.area.Nodes()
	switch {
	case errors.Is(err, errors.ErrUnsupported): // a kernel without nodes
		return nil
	case err != nil:
		if p.Row.Mem != Float {
			p.sample.Doubt(result.Suspect, "the nodes of the buffer's pages are unknown: %v", err)
		}
		return nil
	}
	return nodes
}

// readBack reads back the buffer's pages, and what the row sets in the kernel.
func (p *probe) readBack() {
	p.readPages()
	p.readNodes()
	p.readPolicy()
	p.checkBalancing()
	p.checkKnobs()
	p.checkScans()
	p.readPreferred()
}

// readPages reads the page sizes of the buffer.
func (p *probe) readPages() {
	sizes, err := p.area.PageSizes(p.root)
	if err != nil {
		p.sample.Doubt(result.Suspect, "the sizes of the buffer's pages are unknown: %v", err)
		return
	}
	p.v.PageBytes = sizes
	var all, other uint64
	for size, bytes := range sizes {
		all += bytes
		if huge := size > uint64(os.Getpagesize()); huge != (p.pages != linux.Pages4K) {
			other += bytes
		}
	}
	if other > 0 {
		p.sample.Doubt(result.Suspect, "%.0f%% of the buffer is not in pages of the kind %s", 100*float64(other)/float64(all), p.pages)
	}
}

// readNodes reads back the nodes of the buffer's pages and its policy.
func (p *probe) readNodes() {
	nodes := p.readNodePages()
	if nodes == nil {
		return
	}
	p.v.NodePages = nodes
	if absent := nodes[-1]; absent > 0 { // swapped out, or the rest of a huge page that the kernel did not give
		p.sample.Doubt(result.Suspect, "%d pages of the buffer are not in memory", absent)
	}
	elsewhere := 0
	for node, pages := range nodes {
		if node != p.Row.Mem && node != -1 {
			elsewhere += pages
		}
	}
	if p.Row.Mem != Float {
		p.sample.Placement.Check(elsewhere == 0, "%d pages of the buffer are not on node %d", elsewhere, p.Row.Mem)
	}
}

// readPolicy reads back the memory's policy, if it is more than the nodes of the pages show.
func (p *probe) readPolicy() {
	var asked string
	switch {
	case p.Row.Mem != Float && p.Row.MemPolicy == BindBalancing:
		asked = linux.FormatMempolicy(linux.MempolicyBind|linux.MempolicyNUMABalancing, cpuset.Of(p.Row.Mem))
	case p.Row.PreferredBy == ByMempolicy:
		asked = linux.FormatMempolicy(linux.MempolicyPreferredMany, cpuset.Of(p.Row.PreferredNode))
	default:
		return
	}
	policy, nodes, err := p.area.Policy()
	if err != nil {
		p.sample.Doubt(result.Suspect, "the buffer's memory policy is unknown: %v", err)
		return
	}
	p.checkSame("the buffer's memory policy", asked, linux.FormatMempolicy(policy, nodes))
}

// checkScans makes a sample suspect if NUMA balancing was on but never scanned its process: such a sample does not show
// balancing.
func (p *probe) checkScans() {
	on, phase := p.v.BalancingRead, p.v.Settled
	if on == nil || *on == 0 || phase == nil || phase.ScanSeq == nil || *phase.ScanSeq > 0 {
		return
	}
	delay, _ := linux.ReadNUMAScan(p.root)
	p.sample.Doubt(result.Suspect, "NUMA balancing never scanned this process (%.3g s of CPU time; the kernel starts at %.3g s)",
		float64(linux.ThreadCPUTime())/1e9, delay)
}

// checkBalancing reads NUMA balancing, before the loop and after it.
func (p *probe) checkBalancing() {
	is, err := linux.ReadNUMABalancing(p.root)
	switch {
	case errors.Is(err, linux.ErrNoNUMABalancing): // counts as 0: such a kernel does not balance
	case err != nil:
		p.sample.Doubt(result.Suspect, "%v", err)
		return
	default:
		if first := p.v.BalancingRead; first != nil && *first != is {
			p.sample.Doubt(result.Suspect, "NUMA balancing was %d at the start and %d at the end", *first, is)
		}
		p.v.BalancingRead = &is
	}
	if asked := p.Row.NUMABalancing; asked != KeepSetting {
		p.checkSame("NUMA balancing", strconv.Itoa(asked), strconv.Itoa(is))
	}
}

// checkKnobs reads back the times of the scheduler that the row sets, before the loop and after it.
func (p *probe) checkKnobs() {
	for _, k := range knobs {
		asked := k.asks(p.Row)
		for _, of := range k.of {
			if asked == 0 {
				continue
			}
			is, err := of.Read(p.root)
			if err != nil {
				p.sample.Doubt(result.Suspect, "--%s cannot be read back: %v", k.flag, err)
				continue
			}
			p.checkSame(of.String(), duration(asked), duration(is))
		}
	}
}

// readPreferred reads back the preferred node, and checks that none was inherited if the row has none.
func (p *probe) readPreferred() {
	asked := None // by prctl
	if p.Row.PreferredBy == ByPrctl {
		asked = p.Row.PreferredNode
	}
	switch is, err := linux.PreferredNode(0); {
	case err == nil:
		p.v.PreferredRead = &is
		p.checkSame("preferred node", strconv.Itoa(asked), strconv.Itoa(is))
	case asked != None:
		p.sample.Doubt(result.Suspect, "the preferred node is unknown: %v", err)
	}
	if on := p.v.BalancingRead; on != nil {
		if p.v.NoEffect = noEffect(p.Row, *on); p.v.NoEffect != "" {
			p.sample.Placement.NoEffect = p.v.NoEffect
			p.sample.Doubt(result.Suspect, "%s", p.v.NoEffect)
		}
	}
}

// figures computes the sample's figures from the repetitions.
func (p *probe) figures() {
	if p.v.Accesses > 0 {
		p.v.NsPerAccess = p.sample.Seconds * 1e9 / float64(p.v.Accesses)
	}
	seconds := make([]float64, len(p.spans))
	var own []perf.Move
	seen := cpuset.Set{}
	for i, s := range p.spans {
		seconds[i] = s.seconds
		own = append(own, perf.MovesOf(s.seen)...)
		for _, read := range s.seen {
			if read.CPU >= 0 {
				seen = seen.With(read.CPU)
			}
		}
	}
	p.v.Repetitions, p.v.Repeated = len(p.spans), result.Distribute(seconds)
	if len(p.spans) == 0 {
		return
	}
	p.v.CPUShare, p.v.NodeShare = shares(p.m, p.spans)
	for cpu, share := range p.v.CPUShare {
		p.sample.CPUs = append(p.sample.CPUs, result.CPU{CPU: cpu, BusySeconds: share * p.sample.Seconds})
	}
	slices.SortFunc(p.sample.CPUs, func(a, b result.CPU) int { return cmp.Compare(a.CPU, b.CPU) })

	moves, by := own, perf.TraceReads
	if p.by != "" {
		moves, by = within(p.spans, p.moves), p.by
		if len(own) > len(moves) { // the moves that the probe saw did happen
			p.sample.Doubt(result.Suspect, "the trace shows %d migrations, but the probe itself saw %d", len(moves), len(own))
		}
	}
	for _, move := range moves {
		seen = seen.With(move.To)
	}
	outside := seen.Minus(p.On)
	p.sample.Placement.Check(outside.Empty(), "the probe was on CPUs %s instead of the requested %s", outside, p.On)
	migrations := p.classified(moves, by, p.lost-p.lostBefore)
	if p.by != "" {
		p.v.LifeMigrations = p.classified(p.moves, p.by, p.lost)
	}
	if p.worse != nil {
		w := result.WarningOf("trace", fmt.Sprintf("migrations are counted by %q only", by), p.worse)
		migrations.Worse = &w
	}
	if migrations.Lost > 0 {
		p.sample.Doubt(result.Suspect, "%d records of migrations were lost", migrations.Lost)
	}
	p.v.Migrations = migrations
}

// classified counts moves by the relation of the CPUs.
func (p *probe) classified(moves []perf.Move, by perf.Method, lost uint64) *result.Migrations {
	m := perf.Classify(p.m, perf.CountMoves(nil, moves))
	m.By, m.Lost = string(by), lost
	return &m
}

// checkSame counts a read-back, with a Mismatch if the values differ.
func (p *probe) checkSame(what, asked, got string) {
	p.sample.Placement.Check(asked == got, "%v", placement.Mismatch{What: what, Asked: asked, Got: got})
}
