package matrix

import (
	"math"

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
