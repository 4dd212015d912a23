package primes

import (
	"fmt"

	"gorun/internal/base/units"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

// causes returns what limited a run of a cell, judged by one of its samples: the greatest cause first, each with the figure
// that shows it. There is always at least one finding.
func causes(c Cell, s result.Sample) []result.Finding {
	e := evidence{c: c, s: s, cpus: c.Plan.CPUs.Len(), busy: s.CPUSeconds() / s.Seconds}
	sig := s.Quality.Signals
	e.throttled, e.stolen, e.others = e.share(sig.ThrottledSeconds), e.share(sig.StealSeconds), e.share(sig.OtherSeconds)
	e.idle = max(0, 1-e.busy/float64(e.cpus)-e.throttled-e.stolen-e.others)
	e.idleKnown = sig.OtherSeconds != nil && sig.StealSeconds != nil
	e.pinned = cpuset.Of(c.Plan.Policy.PinCPUs...).Len()
	var found []result.Finding
	for _, r := range rules {
		if value, message, is := r.look(e); is {
			found = append(found, result.Finding{Code: r.code, Value: value, Message: message})
		}
	}
	if len(found) == 0 {
		found = append(found, e.noCause())
	}
	return found
}

// evidence is what the rules look at.
type evidence struct {
	c    Cell
	s    result.Sample
	cpus int     // of the run
	busy float64 // how many of them the workers kept busy

	// Shares of the run's CPU time; idle is what nothing used, an upper bound unless it is known.
	throttled, stolen, others, idle float64
	idleKnown                       bool
	pinned                          int // the CPUs that workers were pinned to, one by one
}

func (e evidence) share(seconds *float64) float64 { return e.s.Quality.Signals.Share(seconds, e.cpus) }

// ours formats the number of the run's CPUs.
func (e evidence) ours() string { return units.Things(e.cpus, "CPU") }

// noCause returns the finding for a run in which no rule found a cause.
func (e evidence) noCause() result.Finding {
	kept := fmt.Sprintf("The workers kept %.2f of %s busy", e.busy, e.ours())
	pass := e.s.Seconds
	if v, ok := result.Typed[Figures](&e.s); ok {
		pass /= float64(max(1, v.Passes))
	}
	switch {
	case e.idle <= 2*worthTelling:
		return result.Finding{Code: "work-bound", Value: e.busy, Message: kept + ": only the work itself limited this run."}
	case pass < shortPass:
		return result.Finding{
			Code: "short", Value: pass,
			Message: fmt.Sprintf("%s: a pass of %s is over before the workers are spread. A larger --limit gives them more "+
				"to do.", kept, microseconds(pass)),
		}
	case !e.idleKnown:
		return result.Finding{
			Code: "unknown", Value: e.busy,
			Message: kept + "; it is not known whether other programs or the hypervisor used the rest.",
		}
	}
	return result.Finding{
		Code: "unexplained", Value: e.busy,
		Message: kept + ", and none of the causes that gorun looks for explains the rest.",
	}
}

// shortPass is the shortest pass, in seconds, whose figures show effects of placement: in a shorter one, waking threads
// (some 50 µs each) takes a large part.
const shortPass = 2e-3

// worthTelling is the share of the capacity below which a cause is not reported.
const worthTelling = 0.05

// rules lists the causes in the order of report: the quota, which also leaves CPUs idle where others look for a cause; then causes in
// the request, in the run, and in the machine. Each reports whether it is a cause, with the figure that shows it.
var rules = [...]struct {
	code string
	look func(e evidence) (value float64, message string, is bool)
}{
	{"throttled", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("The cgroup's CPU quota stopped threads for %.0f%% of the available CPU time.", 100*e.throttled)
		return e.throttled, message, e.throttled > worthTelling
	}},
	{"serial", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("The workers ran one after another (--serial): %.2f of %s busy.", e.busy, e.ours())
		return e.busy, message, e.c.Serial && e.cpus > 1
	}},
	{"few-workers", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("%s cannot use %s", units.Things(e.c.Workers, "worker"), e.ours())
		if e.idleKnown {
			message += fmt.Sprintf(": %.0f%% of the available CPU time was unused", 100*e.idle)
		}
		return float64(e.c.Workers), message + ".", !e.c.Serial && e.c.Workers < e.cpus
	}},
	{"gomaxprocs", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("GOMAXPROCS %d lets at most %s run goroutines at once, and the run has %s.",
			e.c.GOMAXPROCS, units.Things(e.c.GOMAXPROCS, "thread"), e.ours())
		return float64(e.c.GOMAXPROCS), message, !e.c.Serial && e.c.GOMAXPROCS < min(e.cpus, e.c.Workers)
	}},
	{"few-pinned-cpus", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("All workers were pinned onto %s of %d; the others had nothing to do.", units.Things(e.pinned, "CPU"), e.cpus)
		return float64(e.pinned), message, e.pinned > 0 && e.pinned < min(e.cpus, e.c.Workers) && !e.c.Serial
	}},
	// The original program's second feature: pinning round robin does not keep all CPUs busy, since the threads that Go lets run
	// are often pinned to the same CPU.
	{"pinned-turns", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("Only %.2f of the %d pinned CPUs were busy: goroutines pinned to the same CPU took turns "+
			"on it while another CPU idled. --dispatch executor keeps a pinned thread at work on each CPU.", e.busy, e.pinned)
		turns := e.pinned > 1 && !e.c.Executor && !e.c.Serial && e.c.Workers >= e.pinned
		return e.busy, message, turns && e.throttled <= worthTelling && e.busy < (1-2*worthTelling)*float64(e.pinned)
	}},
	// The last workers of an uneven split run while the other CPUs have nothing left.
	{"imbalance", func(e evidence) (value float64, message string, is bool) {
		w := e.s.Workers
		if w == nil {
			return 0, "", false
		}
		message = fmt.Sprintf("The slowest worker took %.2f times the mean, and %.0f%% of the available CPU time was "+
			"unused while the others had ended. --split dynamic, or more workers, evens it out.", w.Imbalance, 100*e.idle)
		uneven := e.idleKnown && e.idle > worthTelling && w.Imbalance > 1+worthTelling && w.Seconds.Max > 0.5*e.s.Seconds
		return w.Imbalance, message, uneven && e.c.Split != "dynamic" && e.c.Workers >= e.cpus && e.pinned == 0 && !e.c.Serial
	}},
	{"leak", func(e evidence) (value float64, message string, is bool) {
		if e.s.Workers == nil || e.s.Workers.OffCPU == nil {
			return 0, "", false
		}
		off := *e.s.Workers.OffCPU
		message = fmt.Sprintf("%d of %s ended on a CPU that was not theirs: without --lock-thread the mask stays with "+
			"the thread, and the goroutine moves on.", off, units.Things(e.c.Workers, "worker"))
		return float64(off), message, e.c.Plan.Policy.Leaks() && off > 0
	}},
	// Threads that were pinned where they first ran leave some CPUs without a thread.
	{"thread-pins", func(e evidence) (float64, string, bool) {
		empty := 0
		for _, cpu := range e.s.CPUs {
			if cpu.Workers == 0 && cpu.BusySeconds < worthTelling*e.s.Seconds {
				empty++
			}
		}
		message := fmt.Sprintf("%s of %d ran no worker: no thread happened to be pinned there.", units.Things(empty, "CPU"), e.cpus)
		return float64(empty), message, e.c.Plan.Policy.PinThread && empty > 0 && e.c.Workers >= e.cpus
	}},
	{"system-time", func(e evidence) (float64, string, bool) {
		share := e.s.SystemSeconds / e.s.CPUSeconds()
		message := fmt.Sprintf("%.0f%% of the CPU time was spent in the kernel, placing and switching threads: %s a worker.",
			100*share, microseconds(e.s.SystemSeconds/float64(e.c.Workers*max(1, e.c.Repeats))))
		return share, message, share > 2*worthTelling && e.s.SystemSeconds > 0.02
	}},
	{"steal", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("The hypervisor took %.0f%% of the available CPU time (steal).", 100*e.stolen)
		return e.stolen, message, e.stolen > worthTelling
	}},
	{"other-programs", func(e evidence) (float64, string, bool) {
		message := fmt.Sprintf("Other programs took %.0f%% of the available CPU time.", 100*e.others)
		return e.others, message, e.others > worthTelling
	}},
}

func microseconds(seconds float64) string { return fmt.Sprintf("%.1f µs", seconds*1e6) }
