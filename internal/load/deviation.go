package load

import (
	"fmt"
	"math"
)

// Tolerance is how far a load may be from what is expected, in percentage points.
const Tolerance = 2

// FairShare is the percentage of a CPU that a burner gets beside a rival of the same nice that wants so many percent of
// it.
//
// The scheduler divides a CPU's time by weight among those that want it (EEVDF and CFS alike), and the two weigh the
// same, being of one session and cgroup (sched(7), autogroup): each is sure of 50%. What one leaves is the other's: a rival that wants less leaves 100% less that.
// The burner has no use for more than it asks. A probe wants 100%, so a burner of 60% gets 50, and one of 30% gets 30.
// The share is one of seconds, not of a period: turns are some milliseconds long, and whoever has slept is owed nothing
// for it, but a burner that is behind does not sleep.
func FairShare(asked, rival float64) float64 {
	return min(asked, max(50, 100-rival))
}

// Expected is the percentage of a CPU that a burner gets where a probe that wants all of it is there for a part of the
// time (0…1).
func Expected(asked, part float64) float64 { return part*FairShare(asked, 100) + (1-part)*asked }

// Deviation is a load that is not what it was to be.
type Deviation struct {
	Achieved
	Expected  float64 // percent
	Tolerance float64 // percentage points
}

func (d Deviation) String() string {
	text := fmt.Sprintf("CPU %d had a load of %.1f%%, and was to have %.1f%%", d.CPU, d.Percent, d.Expected)
	if d.Expected != d.Asked {
		text += fmt.Sprintf(" beside the probe (%.1f%% without it)", d.Asked)
	}
	return text
}

// Deviations returns the loads that are further from what is expected than Tolerance. contended is, by CPU, the part of
// the time (0…1) in which the probe was there too.
//
// Over a stretch that is not whole periods the load of a perfect burner is off as well: in a period it burns a part f
// and then sleeps, which puts the CPU time ahead of an even pace by up to f·(1-f) periods. That much is allowed on top.
func Deviations(loads []Achieved, contended map[int]float64) []Deviation {
	var deviations []Deviation
	for _, l := range loads {
		part := contended[l.CPU]
		expected := Expected(l.Asked, part)
		tolerance := Tolerance + l.Asked/100*(100-l.Asked)*l.period.Seconds()/l.Seconds
		if math.Abs(l.Percent-expected) > tolerance {
			deviations = append(deviations, Deviation{l, expected, tolerance})
		}
	}
	return deviations
}
