package numa

import (
	"fmt"

	"gorun/internal/result"
	"gorun/internal/stats"
)

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

// acrossRows answers the RFC's two questions from the rows' medians: do more moves to another node mean longer times, and
// does the time on the memory's node explain that? There is no answer for rows that differ in their work.
func acrossRows(rows []measuredRow) (findings []result.Finding) {
	var moves, shares, percent []float64
	for _, row := range withSamples(rows) {
		first := rows[0]
		if row.Access != first.Access || row.Pages != first.Pages || row.BufferBytes != first.BufferBytes {
			return nil
		}
		var m, s, t []float64
		for n := range row.samples {
			v := &row.samples[n]
			share := memShare(v)
			if v.Migrations == nil || v.Migrations.Lost > 0 || share == nil {
				continue
			}
			m, s, t = append(m, float64(v.Migrations.CrossNode)), append(s, 100**share), append(t, row.seconds[n])
		}
		if len(t) == 0 {
			continue
		}
		moves, shares = append(moves, stats.Median(m)), append(shares, stats.Median(s))
		percent = append(percent, stats.Median(t))
	}
	if len(percent) == 0 {
		return nil
	}
	typical := stats.Median(percent)
	for i := range percent {
		percent[i] *= 100 / typical
	}
	add := func(code, what, of string, x, y []float64, times float64) {
		slope, lo, hi, ok := theilSen(x, y)
		if !ok {
			return
		}
		verdict := "which is consistent with no change"
		if lo > 0 || hi < 0 {
			verdict = "an interval without 0"
		}
		findings = append(findings, result.Finding{Code: code, Value: slope * times, Message: fmt.Sprintf(
			"Over %d rows, %s changes the time%s by %+.1f%% (%+.1f%% to %+.1f%%, 95%%), %s.",
			len(x), what, of, slope*times, lo*times, hi*times, verdict)})
	}
	const hundred, ten = 100, 10
	add("moves-and-time", "each 100 moves more to another node", "", moves, percent, hundred)
	add("share-and-time", "each 10% more of the time on the memory's node", "", shares, percent, ten)
	if slope, _, _, ok := theilSen(shares, percent); ok {
		rest := make([]float64, len(percent))
		for i := range rest {
			rest[i] = percent[i] - slope*shares[i]
		}
		add("moves-beyond-share", "each 100 moves more to another node",
			" beyond what the time on the memory's node explains", moves, rest, hundred)
	}
	return findings
}
