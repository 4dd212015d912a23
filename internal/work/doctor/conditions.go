package doctor

import (
	"strconv"
	"strings"
)

// condition is a row of the table: a new one is a row here and a function.
type condition struct {
	name   string
	area   Area
	digest bool // it can be in the digest: it reads few files, and tries nothing
	// read returns the condition; nil where this machine does not have it. t is nil where no trial was taken.
	read func(s Subject, t *Trial) *Condition
}

var conditions = []condition{
	{"equal runs", Timing, false, equalRuns},
	{"other programs", Timing, false, otherPrograms},
	{"hypervisor", Timing, true, hypervisor},
	{"steal", Timing, false, steal},
	{"cpu quota", Timing, true, quota},
	{"throttling", Timing, false, throttling},
	{"governor", Timing, true, governor},
	{"turbo", Timing, true, turbo},
	{"clock source", Timing, true, clockSource},
	{"addresses", Timing, true, addresses},
	{"mitigations", Timing, false, mitigations},
	{"cpus", Placement, false, cpus},
	{"offline cpus", Placement, true, offline},
	{"isolated cpus", Placement, true, isolated},
	{"smt", Placement, true, smt},
	{"classes of cpus", Placement, true, kinds},
	{"placement calls", Placement, false, placementCalls},
	{"gomaxprocs", Placement, false, gomaxprocs},
	{"thread limit", Placement, false, threadLimit},
	{"sched_ext", Placement, true, schedExt},
	{"numa nodes", NUMA, true, numaNodes},
	{"memory policy", NUMA, false, memoryPolicy},
	{"numa balancing", NUMA, true, numaBalancing},
	{"huge pages", NUMA, false, hugePages},
	{"perf events", Counters, false, perfEvents},
}

// Shares of the CPU time from which a disturbance is worth a note, and from which no result can be trusted.
const (
	disturbing = 0.02
	ruinous    = 0.25
)

// ruinousResolution is the difference above which a placement's effect is rarely found.
const ruinousResolution = 0.10

// percent returns a share with two digits, or all before the point.
func percent(share float64) string {
	if digits := strconv.FormatFloat(100*share, 'g', 2, 64); !strings.Contains(digits, "e") {
		return digits + "%"
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + "%"
}
