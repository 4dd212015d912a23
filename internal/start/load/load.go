// Package load keeps CPUs busy for a given part of the time, which makes the kernel's load balancer work during a
// probe.
//
// Burners are one burner process per CPU, pinned to it. A burner burns and sleeps in periods that begin at absolute
// times, and corrects itself by the CPU time that the kernel has charged to it. Burners reads the same clocks from
// outside, so that the load during any interval is known.
package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"gorun/internal/kernel/cpuset"
)

// Period is the length of a burner's period: a few scheduler ticks, and short compared with any sample.
const Period = 10 * time.Millisecond

// Burner are the options of one burner. They are sent to its process as JSON.
type Burner struct {
	CPU     int           `json:"cpu"`
	Percent float64       `json:"percent"`  // of the CPU's time: above 0, up to 100
	Phase   time.Duration `json:"phase_ns"` // periods begin at multiples of Period on CLOCK_MONOTONIC plus Phase
	Nice    int           `json:"nice"`
}

// PerCPU returns a burner for each of the CPUs. Their periods begin at random times, so that they do not
// all wake at once.
func PerCPU(cpus cpuset.Set, percent float64, nice int, seed uint64) []Burner {
	phases := rand.New(rand.NewPCG(seed, 0))
	burners := make([]Burner, 0, cpus.Len())
	for cpu := range cpus.All() {
		phase := time.Duration(phases.Int64N(int64(Period)))
		burners = append(burners, Burner{CPU: cpu, Percent: percent, Phase: phase, Nice: nice})
	}
	return burners
}

func (o Burner) name() string { return fmt.Sprintf("the burner of CPU %d", o.CPU) }
