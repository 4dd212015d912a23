package matrix

import (
	"fmt"
	"math"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// disturbance is something from outside that may differ between a cell's samples and the baseline's.
type disturbance struct {
	of    func(sig result.Signals, cpus int) (float64, bool) // its size: as a share of the CPU time, or a logarithm
	words string                                             // takes the mean of the cell and that of the baseline
	show  func(mean float64) float64
}

// disturbances are what makes a difference confounded. To add one, add its row.
var disturbances = [...]disturbance{
	{stealShare, "the hypervisor stole %.1f%% of the CPU time there was, and %.1f%% beside the baseline", hundredfold},
	{otherShare, "other programs used %.1f%% of the CPU time there was, and %.1f%% beside the baseline", hundredfold},
	{canary, "a fixed loop just before took %.1f µs, and %.1f µs before the baseline", microseconds},
}

func stealShare(sig result.Signals, cpus int) (float64, bool) {
	return sig.Share(sig.StealSeconds, cpus), sig.StealSeconds != nil
}

func otherShare(sig result.Signals, cpus int) (float64, bool) {
	return sig.Share(sig.OtherSeconds, cpus), sig.OtherSeconds != nil
}

func canary(sig result.Signals, _ int) (float64, bool) {
	if sig.CanarySeconds == nil || *sig.CanarySeconds <= 0 {
		return 0, false
	}
	return math.Log(*sig.CanarySeconds), true
}

func hundredfold(share float64) float64       { return 100 * share }
func microseconds(logSeconds float64) float64 { return 1e6 * math.Exp(logSeconds) }

const (
	// doubtAlpha is the probability that a cell is called confounded by chance.
	doubtAlpha = 0.01
	// explains is the part of an effect from which on a disturbance could be its cause: pinned threads, for one, make
	// the kernel's own threads work, which is the effect and not what confounds it.
	explains = 1.0 / 3
	// throttledShare of the samples is too many to tell anything but the quota.
	throttledShare = 0.05
)

// disturbed is a verdict in the light of what happened beside the samples.
func (b *Board) disturbed(c comparison, v stats.Verdict) stats.Verdict {
	pairs := b.pairs[c]
	if len(pairs) == 0 {
		return v
	}
	throttled := 0
	for _, p := range pairs {
		for _, seconds := range []*float64{p.cell.ThrottledSeconds, p.base.ThrottledSeconds} {
			if seconds != nil && *seconds > 0 {
				throttled++
				break
			}
		}
	}
	if float64(throttled) > throttledShare*float64(len(pairs)) {
		return v.Unjudged(fmt.Sprintf("the CPU quota stopped threads in %d of %d rounds", throttled, len(pairs)))
	}
	cpus := b.run.Cells[c.cell].CPUs["cpus"].Count
	baseCPUs := b.run.Cells[c.against].CPUs["cpus"].Count
	effect := claimed(v)
	for _, d := range disturbances {
		differences, mean, base := d.compare(pairs, cpus, baseCPUs)
		if effect != 0 && (mean > base) != (effect > 0) { // less disturbance makes nothing slower
			continue
		}
		material := max(b.run.Matrix.Margin, explains*math.Abs(effect))
		if stats.Differs(differences, doubtAlpha/float64(len(disturbances)), material) {
			return v.Confound("the likely cause: " + fmt.Sprintf(d.words, d.show(mean), d.show(base)))
		}
	}
	return v
}

// claimed is the difference that a verdict claims, as the logarithm of a ratio of times: that of the total where the
// typical samples do not have it. It is 0 where none is claimed: that there is no difference may be the work of a
// disturbance in either direction.
func claimed(v stats.Verdict) float64 {
	switch v.Kind {
	case stats.Slower, stats.Faster:
		return math.Log(v.Typical.Ratio)
	case stats.Mixed:
		return math.Log(v.Total.Ratio)
	}
	return 0
}

// compare gives the disturbance's differences, round by round, and its means; none where a sample lacks it.
func (d disturbance) compare(pairs []pair, cpus, baseCPUs int) (differences []float64, mean, base float64) {
	for _, p := range pairs {
		x, known := d.of(p.cell, cpus)
		y, alsoKnown := d.of(p.base, baseCPUs)
		if !known || !alsoKnown {
			return nil, 0, 0
		}
		differences = append(differences, x-y)
		mean, base = mean+x, base+y
	}
	n := float64(len(pairs))
	return differences, mean / n, base / n
}
