package matrix

import (
	"fmt"
	"math"

	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// disturbance is an external influence that may differ between a cell's samples and the baseline's.
type disturbance struct {
	of    func(sig result.Signals, cpus int) (float64, bool) // its size: a share of the CPU time, or a logarithm
	words string                                             // format for the means of the cell and of the baseline
	show  func(mean float64) float64
}

// disturbances lists those that can make a difference confounded. To add one, add its row.
var disturbances = [...]disturbance{
	{
		func(sig result.Signals, cpus int) (float64, bool) { return shareOf(sig.StealSeconds, sig, cpus) },
		"the hypervisor disturbed the two sides unequally (%.3g%% of the CPU time, and %.3g%% during the baseline)", hundredfold,
	},
	{
		func(sig result.Signals, cpus int) (float64, bool) { return shareOf(sig.OtherSeconds, sig, cpus) },
		"other programs disturbed the two sides unequally (%.3g%% of the CPU time, and %.3g%% during the baseline)", hundredfold,
	},
	{canary, "the CPUs' speed differed between the two sides (a fixed loop took %.1f µs, and %.1f µs before the baseline)", microseconds},
}

// shareOf is not limited to what is possible, unlike Signals.Share: a journal is judged by the figures it has, and the error
// of older ones is in both directions.
func shareOf(seconds *float64, sig result.Signals, cpus int) (float64, bool) {
	if seconds == nil || sig.WatchedSeconds <= 0 {
		return 0, seconds != nil
	}
	return *seconds / (sig.WatchedSeconds * float64(cpus)), true
}

func canary(sig result.Signals, _ int) (float64, bool) {
	if sig.CanarySeconds == nil || *sig.CanarySeconds <= 0 {
		return 0, false
	}
	return math.Log(*sig.CanarySeconds), true
}

func hundredfold(share float64) float64       { return 100 * max(0, min(1, share)) }
func microseconds(logSeconds float64) float64 { return 1e6 * math.Exp(logSeconds) }

const (
	// doubtAlpha is the probability that a cell is called confounded by chance.
	doubtAlpha = 0.01
	// explains is the share of an effect that a disturbance must reach to be its possible cause: pinned threads, for
	// example, make kernel threads work, which is part of the effect and does not confound it.
	explains = 1.0 / 3
	// throttledShare is the share of samples from which the quota decides the result.
	throttledShare = 0.05
)

// disturbed returns the verdict after a check of the disturbances of the samples.
func (b *Judging) disturbed(c comparison, v stats.Verdict) stats.Verdict {
	p := b.pairs[c]
	if p == nil {
		return v
	}
	if float64(p.throttled) > throttledShare*float64(p.rounds) {
		return v.Unjudged(fmt.Sprintf("the CPU quota stopped threads in %d of %d rounds", p.throttled, p.rounds))
	}
	effect, rounds := claimed(v), float64(p.rounds)
	for i, d := range disturbances {
		of := p.disturbed[i]
		if of.unknown || effect != 0 && (of.cell > of.base) != (effect > 0) { // less disturbance makes no cell slower
			continue
		}
		material := max(b.run.Matrix.Margin, explains*math.Abs(effect))
		if of.Differs(doubtAlpha/float64(len(disturbances)), material) {
			return v.Confound(fmt.Sprintf(d.words, d.show(of.cell/rounds), d.show(of.base/rounds)))
		}
	}
	return v
}

// claimed returns the difference that a verdict claims, as the logarithm of a ratio of times; of a step, from the one at which it scales no
// more. It is 0 if the verdict is "no
// difference", which a disturbance in either direction may cause.
func claimed(v stats.Verdict) float64 {
	switch v.Kind {
	case stats.Slower, stats.Faster, stats.Mixed:
		return math.Log(v.Claim().Ratio)
	case stats.Scales, stats.Stops:
		return math.Log(v.Typical.Ratio / v.Scale)
	}
	return 0
}
