package matrix

import (
	"math"
	"time"

	"gorun/internal/stats"
)

// The pilot finds how many executions a fresh process needs until it is warm: some processes take some executions each.
const (
	pilotProcesses  = 3
	pilotExecutions = 5
	// partExecutions follow a warm-up that is a part of an execution: the first is compared with the others.
	partExecutions = 3
	// pilotPart is how many times as long as its warm-up an execution is, at least, where a part of one is enough.
	pilotPart = 4
	// leastPart is the shortest such warm-up, in seconds: where it would be shorter, a process takes longer to start.
	leastPart = 0.005
	// mostWarmups bounds what is spent on them.
	mostWarmups = 3
	// warm is how far an execution may be above the later ones.
	warm = 0.02
)

// Warmup is what a process does of a cell before the sample that counts.
type Warmup struct {
	Executions int
	Seconds    float64 // after which each is cut; 0: it is whole
}

// Execution is one of a pilot.
type Execution struct {
	Compared float64 // what the cells are compared by
	Seconds  float64 // of wall time
}

// Pilot finds what a process is to drop. It takes about as long as the budget says, and as long again where a part of an
// execution may be enough, or as a few processes need at least; 0: no limit. execute has a fresh process warm up and then
// execute the cell a number of times within a time.
func Pilot(
	budget time.Duration, execute func(w Warmup, executions int, budget time.Duration) ([]Execution, error),
) (Warmup, error) {
	pilots, seconds, err := pilot(budget, Warmup{}, pilotExecutions, execute)
	whole := Warmup{Executions: warmups(pilots)}
	part := round(stats.Median(seconds) / pilotPart)
	if err != nil || whole.Executions > 1 || len(seconds) < pilotProcesses*partExecutions || part < leastPart {
		return whole, err
	}
	cut := Warmup{Executions: 1, Seconds: part}
	pilots, _, err = pilot(budget, cut, partExecutions, execute)
	if err != nil || !enough(pilots) {
		return whole, err
	}
	return cut, nil
}

// pilot has several processes execute the cell. It returns what is compared of each one's executions, and the wall seconds
// of all.
func pilot(
	budget time.Duration, w Warmup, executions int,
	execute func(w Warmup, executions int, budget time.Duration) ([]Execution, error),
) (pilots [][]float64, seconds []float64, err error) {
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

// enough reports whether a warm-up was: in most processes the first execution after it is no slower than those that
// follow.
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

// warmups is how many first executions a process should drop: at least one, and as many as are slower than those after
// them in every pilot, since in some they are by chance. Each pilot is the seconds of one process's executions, in order.
func warmups(pilots [][]float64) int {
	executions := math.MaxInt
	for _, pilot := range pilots {
		executions = min(executions, len(pilot))
	}
	for n := min(mostWarmups, executions-2); len(pilots) > 0 && n > 1; n-- {
		cold := true
		for _, pilot := range pilots {
			cold = cold && pilot[n-1] > (1+warm)*stats.Median(pilot[n:executions])
		}
		if cold {
			return n
		}
	}
	return 1
}
