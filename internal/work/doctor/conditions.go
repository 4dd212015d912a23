package doctor

import (
	"strconv"
	"strings"
)

// condition is a row of the table: a new one is a row here and a function.
type condition struct {
	name string
	area Area
	when when
	// read returns the condition; nil where this machine does not have it.
	read func(s Subject, t *Trial) *Condition
}

// when says when a condition is read.
type when int

const (
	always  when = iota
	briefly      // also for the digest: it reads few files, and tries nothing
	tried        // after a trial
	live         // on this machine, not on a captured one
)

var conditions = []condition{
	{"equal runs", Timing, tried, equalRuns},
	{"other programs", Timing, tried, func(s Subject, t *Trial) *Condition {
		return taken(s, t, t.Signals.OtherSeconds, "end them, or keep them off some CPUs: gorun exec --dedicate")
	}},
	{"hypervisor", Timing, briefly, hypervisor},
	{"steal", Timing, tried, func(s Subject, t *Trial) *Condition {
		return taken(s, t, t.Signals.StealSeconds, "ask for a machine with dedicated CPUs, or measure at another time")
	}},
	{"cpu quota", Timing, briefly, quota},
	{"throttling", Timing, tried, throttling},
	{"governor", Timing, briefly, governor},
	{"turbo", Timing, briefly, turbo},
	{"clock source", Timing, briefly, clockSource},
	{"addresses", Timing, briefly, addresses},
	{"mitigations", Timing, always, mitigations},
	{"cpus", Placement, always, cpus},
	{"offline cpus", Placement, briefly, offline},
	{"isolated cpus", Placement, briefly, isolated},
	{"smt", Placement, briefly, smt},
	{"classes of cpus", Placement, briefly, kinds},
	{"placement calls", Placement, live, placementCalls},
	{"gomaxprocs", Placement, always, gomaxprocs},
	{"thread limit", Placement, always, threadLimit},
	{"sched_ext", Placement, briefly, schedExt},
	{"numa nodes", NUMA, briefly, numaNodes},
	{"memory policy", NUMA, live, memoryPolicy},
	{"numa balancing", NUMA, briefly, numaBalancing},
	{"huge pages", NUMA, always, hugePages},
	{"perf events", Counters, always, perfEvents},
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
