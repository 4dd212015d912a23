package run

import (
	"fmt"

	"gorun/internal/base/units"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

const (
	// mostOverhead is the share of the time of a run from which the work of gorun itself may show in the samples.
	mostOverhead = 0.05
	// shortSample is how long samples are, in seconds, beside which the work of gorun is always seen: it takes about a millisecond for each.
	shortSample = 0.02
	// shortRun is the time of a run, in seconds, that the start of gorun is a large part of.
	shortRun = 1
)

// countOverhead returns a function that adds to the run what gorun itself used since now, if samples were taken.
func (d *driver) countOverhead() (end func()) {
	run, begun, used, worked := d.session.run, d.env.Now(), linux.CountUsage(), d.taker.Worked
	samples := run.Taken()
	return func() {
		usage, err := used()
		if err != nil || run.Taken() == samples {
			return
		}
		own := result.Overhead{CPUSeconds: usage.UserSeconds + usage.SystemSeconds, Seconds: d.env.Now().Sub(begun).Seconds()}
		if d.here() {
			own.CPUSeconds = max(0, own.CPUSeconds-(d.taker.Worked-worked))
		}
		if before := run.Overhead; before != nil {
			own.CPUSeconds, own.Seconds = own.CPUSeconds+before.CPUSeconds, own.Seconds+before.Seconds
		}
		run.Overhead = &own
		d.warnOverhead(own)
	}
}

// warnOverhead warns if gorun itself used so much that it may have disturbed the samples.
func (d *driver) warnOverhead(own result.Overhead) {
	var seconds []float64
	for _, s := range d.session.run.Samples.Each() {
		seconds = append(seconds, s.Seconds)
	}
	if own.Seconds < shortRun || own.Share() <= mostOverhead || stats.Median(seconds) <= shortSample {
		return
	}
	d.warn([]result.Warning{{
		Code:    "overhead",
		Message: fmt.Sprintf("gorun itself used %s of CPU time in %s: that may have disturbed the samples", units.Seconds(own.CPUSeconds), units.Seconds(own.Seconds)),
		Hint:    "give --quiet, read the metrics less often, or compare fewer cells",
	}})
}
