package load

import (
	"fmt"
	"math"
)

// tolerance is the greatest accepted difference between a load and the expected one, in percentage points.
const tolerance = 2

// Least returns the percentage of a CPU that a burner gets at least if a probe with the same nice value, which requests all of
// it, runs for a part of the time (0…1).
//
// Both EEVDF and CFS divide a CPU's time by weight among the runnable tasks. The two have the same weight, since they
// are in one session and cgroup (sched(7), autogroup), so each gets at least 50% if it requests that much. Next to the probe a
// burner of 60% gets 50, and one of 30% gets 30. The share holds over seconds, not in each period: time slices are some
// milliseconds long. A burner may get more: it makes up for lost time when the probe leaves the CPU, and EEVDF remembers what
// it is owed while it sleeps (kernel/sched/fair.c, place_entity): on Linux 6.18, burners of 60% had 59.7% where this gives 56.7%.
func Least(asked, part float64) float64 { return part*min(asked, 50) + (1-part)*asked }

// Deviations describes the loads that are more than tolerance below Least, or above what was asked. contended maps a CPU to the
// part of the time (0…1) in which the probe ran there too.
//
// In a time that is not a whole number of periods, even a perfect burner deviates: in each period it burns for a part f
// and then sleeps, so that its CPU time is ahead of a constant load by up to f·(1-f) periods. This much is added to the
// tolerance.
func Deviations(loads []Achieved, contended map[int]float64) (texts []string) {
	for _, l := range loads {
		expected := max(Least(l.Asked, contended[l.CPU]), min(l.Percent, l.Asked))
		if math.Abs(l.Percent-expected) > tolerance+l.Asked/100*(100-l.Asked)*Period.Seconds()/l.Seconds {
			text := fmt.Sprintf("CPU %d had a load of %.1f%%, expected %.1f%%", l.CPU, l.Percent, expected)
			if expected != l.Asked {
				text += fmt.Sprintf(" to %.1f%%", l.Asked)
			}
			texts = append(texts, text)
		}
	}
	return texts
}
