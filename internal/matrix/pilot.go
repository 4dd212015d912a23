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
	// mostWarmups bounds what is spent on them.
	mostWarmups = 3
	// warm is how far an execution may be above the later ones.
	warm = 0.02
)

// Pilot finds how many executions of a cell a process is to drop. It takes about as long as the budget says, or as a few
// processes need at least; 0: no limit. execute has a fresh process execute the cell a number of times within a time, and
// returns what is compared of each.
func Pilot(budget time.Duration, execute func(executions int, budget time.Duration) ([]float64, error)) (int, error) {
	pilots := make([][]float64, pilotProcesses)
	for i := range pilots {
		var err error
		if pilots[i], err = execute(pilotExecutions, budget/pilotProcesses); err != nil {
			return 0, err
		}
	}
	return warmups(pilots), nil
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
