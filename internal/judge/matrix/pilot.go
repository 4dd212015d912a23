package matrix

import (
	"math"
	"slices"
	"time"

	"gorun/internal/stats"
)

// The pilot finds how many executions a fresh process needs until it is warm. It starts a few processes with a few
// executions each.
const (
	pilotProcesses  = 3
	pilotExecutions = 5
	// partExecutions is the number of executions after a warm-up that is a part of an execution: the first is compared
	// with the others.
	partExecutions = 3
	// pilotPart is the least ratio of an execution's length to that of a warm-up that is part of an execution.
	pilotPart = 4
	// leastPart is the shortest such warm-up, in seconds: starting a process takes as long.
	leastPart = 0.005
	// mostWarmups is the maximum number of executions as a warm-up.
	mostWarmups = 3
	// warm is the greatest slowdown of a warm execution compared with later ones.
	warm = 0.02
)

// Warmup is the work of a process on a cell before the sample that counts.
type Warmup struct {
	Executions int
	Seconds    float64 // limit of each execution; 0: none
}

// Execution is one execution of a pilot.
type Execution struct {
	Compared float64 // the figure by which cells are compared
	Seconds  float64 // of wall time
}

// Execute makes a new process warm up and then execute a cell a number of times within a time.
type Execute func(w Warmup, executions int, budget time.Duration) ([]Execution, error)

// Pilot finds the warm-up of a process. It takes about as long as the budget, or twice that if a part of an execution
// may be enough, or longer if a few processes need it; 0 is no limit.
func Pilot(budget time.Duration, execute Execute) (Warmup, error) {
	pilots, seconds, err := pilot(budget, Warmup{}, pilotExecutions, execute)
	if err != nil {
		return Warmup{Executions: 1}, err
	}
	whole := Warmup{Executions: warmups(pilots)}
	part := round(stats.Median(seconds) / pilotPart)
	if whole.Executions > 1 || len(seconds) < pilotProcesses*partExecutions || part < leastPart {
		return whole, nil
	}
	cut := Warmup{Executions: 1, Seconds: part}
	pilots, _, err = pilot(budget, cut, partExecutions, execute)
	if err != nil || !enough(pilots) {
		return whole, err
	}
	return cut, nil
}

// pilot makes several processes execute the cell. It returns the compared figure of each process's executions, and the
// wall seconds of all.
func pilot(budget time.Duration, w Warmup, executions int, execute Execute) (pilots [][]float64, seconds []float64, err error) {
	for range pilotProcesses {
		taken, err := execute(w, executions, budget/pilotProcesses)
		if err != nil {
			return nil, nil, err
		}
		var compared []float64
		for _, e := range taken {
			compared, seconds = append(compared, e.Compared), append(seconds, e.Seconds)
		}
		pilots = append(pilots, compared)
	}
	return pilots, seconds, nil
}

// enough reports whether a warm-up was long enough: in most processes the first execution after it is no slower than
// the following ones.
func enough(pilots [][]float64) bool {
	var first []float64
	for _, pilot := range pilots {
		if len(pilot) < partExecutions {
			return false
		}
		first = append(first, pilot[0]/stats.Median(pilot[1:]))
	}
	return stats.Median(first) <= 1+warm
}

// round rounds down to 1, 2 or 5 times a power of ten, so that runs of the same cells mostly have the same warm-up.
func round(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, digit := range []float64{5, 2} {
		if x >= digit*unit {
			return digit * unit
		}
	}
	return unit
}

// warmups returns how many first executions a process should drop: at least one, and those that are slower than the
// following ones in every pilot, since in some pilots that happens by chance. A pilot holds the seconds of one
// process's executions, in order.
func warmups(pilots [][]float64) int {
	shortest := len(slices.MinFunc(pilots, func(a, b []float64) int { return len(a) - len(b) }))
	for n := min(mostWarmups, shortest-2); n > 1; n-- {
		warmed := func(pilot []float64) bool { return pilot[n-1] <= (1+warm)*stats.Median(pilot[n:shortest]) }
		if !slices.ContainsFunc(pilots, warmed) {
			return n
		}
	}
	return 1
}
