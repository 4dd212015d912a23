package numa

import (
	"math"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

// phases are the parts of the probe's life, in their order.
var phases = [...]func(*result.Numa) *result.NumaPhase{
	func(v *result.Numa) *result.NumaPhase { return v.Settling },
	func(v *result.Numa) *result.NumaPhase { return v.Settled },
}

// balancingFigures are the columns of NUMA balancing's work.
var balancingFigures = [...]struct {
	title string
	show  func(float64) string
	of    func(*result.NumaPhase) *float64
}{
	{
		"ns/access", func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) },
		func(p *result.NumaPhase) *float64 { return &p.NsPerAccess },
	},
	{"passes", meanKnown, func(p *result.NumaPhase) *float64 { return number(p.ScanSeq) }},
	{"buffer's faults", meanKnown, func(p *result.NumaPhase) *float64 { return number(p.BufferFaults) }},
	{"its pages moved", meanKnown, func(p *result.NumaPhase) *float64 { return number(p.BufferMoved) }},
	{"migrated in all", meanKnown, func(p *result.NumaPhase) *float64 { return number(p.PagesMigrated) }},
}

func number[N int | uint64](n *N) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

// balancingBlock shows NUMA balancing's work in each row for which it was on, while the probe settled and after that.
func balancingBlock(rows []measuredRow, opts term.Options) string {
	rows = having(rows, func(v *result.Numa) bool { return v.BalancingRead != nil && *v.BalancingRead > 0 && v.Settled != nil })
	var figures []shownFigure
	for _, figure := range balancingFigures {
		figures = append(figures, shownFigure{figure.title, func(p *measuredRow) string {
			var both []string
			for _, phase := range phases {
				x := p.mean(func(v *result.Numa) *float64 {
					if phase(v) == nil {
						return nil
					}
					return figure.of(phase(v))
				})
				text := units.None
				if !math.IsNaN(x) {
					text = figure.show(x)
				}
				both = append(both, text)
			}
			return strings.Join(both, " / ")
		}})
	}
	table := rowTable("NUMA balancing, mean of a sample: while it settles / after that", rows, figures, opts)
	if table == "" {
		return ""
	}
	return table +
		term.Paragraph("  ", "Passes and migrated in all count from the start of the probe.", opts.Columns()-2)
}

// scansNote returns a note if NUMA balancing scanned the process and no access to the buffer faulted; "" otherwise.
func scansNote(row *measuredRow) string {
	looked := false
	for i := range row.samples {
		v := &row.samples[i]
		if v.BalancingRead == nil || *v.BalancingRead == 0 || v.Settled == nil || v.Settled.ScanSeq == nil ||
			v.Settled.BufferFaults == nil {
			continue
		}
		for _, phase := range phases {
			if p := phase(v); p != nil && (p.FaultsLost > 0 || p.BufferFaults != nil && *p.BufferFaults > 0) {
				return ""
			}
		}
		looked = looked || *v.Settled.ScanSeq > 0
	}
	if !looked {
		return ""
	}
	if row.Mem != Float && row.MemPolicy == "" {
		return "NUMA balancing looked at the process, and skipped the buffer, as it does with memory that is bound"
	}
	return "NUMA balancing looked at the process, and no access to the buffer faulted"
}

// pagesBlock shows the nodes of the pages of floating buffers: after the first touch, after settling, and at the end.
// On one node it is empty.
func pagesBlock(rows []measuredRow, opts term.Options) string {
	rows = having(rows, func(v *result.Numa) bool { return v.Mem == Float && v.TouchedPages != nil })
	moments := [...]func(*result.Numa) map[string]int{
		func(v *result.Numa) map[string]int { return v.TouchedPages },
		func(v *result.Numa) map[string]int {
			if v.Settling == nil {
				return nil
			}
			return v.Settling.NodePages
		},
		func(v *result.Numa) map[string]int { return v.NodePages },
	}
	nodes := map[string]struct{}{}
	for _, row := range rows {
		for i := range row.samples {
			for _, of := range moments {
				addKeys(nodes, of(&row.samples[i]))
			}
		}
	}
	if len(nodes) < 2 {
		return ""
	}
	var figures []shownFigure
	for _, node := range sortedNodes(nodes) {
		figures = append(figures, shownFigure{"node " + term.Snip(node, 8), func(p *measuredRow) string {
			shares := make([]string, len(moments))
			for n, of := range moments {
				shares[n] = units.None
				if share := p.mean(func(v *result.Numa) *float64 { return part(of(v), node) }); !math.IsNaN(share) {
					shares[n] = units.Percent(share)
				}
			}
			return strings.Join(shares, " / ")
		}})
	}
	return rowTable("Where the buffer's pages lie: after the first touch / settled / at the end", rows, figures, opts)
}

// part returns a node's part of the pages; nil if unknown.
func part(pages map[string]int, node string) *float64 {
	all := 0
	for _, n := range pages {
		all += n
	}
	if all == 0 {
		return nil
	}
	share := float64(pages[node]) / float64(all)
	return &share
}
