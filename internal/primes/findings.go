package primes

import (
	"fmt"

	"gorun/internal/cpuset"
	"gorun/internal/result"
	"gorun/internal/units"
)

// causes returns what limited a run of a cell, judged by one of its samples: the greatest cause first, each with the figure
// that shows it. There is always at least one finding.
func causes(c Cell, s result.Sample) []result.Finding {
	var found []result.Finding
	for _, rule := range rules {
		if f, ok := rule(c, s); ok {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		f, _ := noCause(c, s)
		found = append(found, f)
	}
	return found
}

// finding returns a finding, and whether it holds.
func finding(holds bool, code string, value float64, format string, args ...any) (result.Finding, bool) {
	return result.Finding{Code: code, Value: value, Message: fmt.Sprintf(format, args...)}, holds
}

// noCause returns the finding for a run in which no rule found a cause.
func noCause(c Cell, s result.Sample) (result.Finding, bool) {
	busy := s.CPUSeconds() / s.Seconds
	kept := fmt.Sprintf("The workers kept %.2f of %s busy", busy, c.cpus())
	pass := s.Seconds
	if v, ok := result.Typed[Figures](&s); ok {
		pass /= float64(max(1, v.Passes))
	}
	switch idle, known := idleShare(c, s); {
	case idle <= 2*worthTelling:
		return finding(true, "work-bound", busy, "%s: only the work itself limited this run.", kept)
	case pass < shortPass:
		return finding(true, "short", pass, "%s: a pass of %s is over before the workers are spread. A larger --limit gives them more "+
			"to do.", kept, microseconds(pass))
	case !known:
		return finding(true, "unknown", busy, "%s; it is not known whether other programs or the hypervisor used the rest.", kept)
	}
	return finding(true, "unexplained", busy, "%s, and none of the causes that gorun looks for explains the rest.", kept)
}

// cpus is the number of the run's CPUs, in words.
func (c Cell) cpus() string { return units.Things(c.Plan.CPUs.Len(), "CPU") }

// pinned is the number of CPUs that workers are pinned to.
func (c Cell) pinned() int { return cpuset.Of(c.Plan.Policy.PinCPUs...).Len() }

// shortPass is the shortest pass, in seconds, whose figures show effects of placement: in a shorter one, waking threads
// (some 50 µs each) takes a large part.
const shortPass = 2e-3

// A rule looks for one cause. A cause is reported if it costs at least a few per cent.
type rule func(Cell, result.Sample) (result.Finding, bool)

// rules lists the rules in the order of report: the quota, which also leaves CPUs idle where others look for a cause; then causes in
// the request, in the run, and in the machine.
var rules = []rule{
	throttleRule, serialRule, fewWorkersRule, gomaxprocsRule, fewPinnedRule, pinnedTurnsRule, imbalanceRule,
	leakRule, threadPinRule, overheadRule, stealRule, othersRule,
}

// worthTelling is the share of the capacity below which a cause is not reported.
const worthTelling = 0.05

// idleShare returns the unused part of the run's CPU time, without that in which the quota stopped threads. It is an upper bound if
// the use by the hypervisor and other programs is unknown.
func idleShare(c Cell, s result.Sample) (share float64, known bool) {
	sig := s.Quality.Signals
	used := s.CPUSeconds()/(s.Seconds*float64(c.Plan.CPUs.Len())) + sig.Share(sig.ThrottledSeconds, c.Plan.CPUs.Len()) +
		sig.Share(sig.OtherSeconds, c.Plan.CPUs.Len()) + sig.Share(sig.StealSeconds, c.Plan.CPUs.Len())
	return max(0, 1-used), sig.OtherSeconds != nil && sig.StealSeconds != nil
}

func serialRule(c Cell, s result.Sample) (result.Finding, bool) {
	busy := s.CPUSeconds() / s.Seconds
	return finding(c.Serial && c.Plan.CPUs.Len() > 1, "serial", busy,
		"The workers ran one after another (--serial): %.2f of %s busy.", busy, c.cpus())
}

func fewWorkersRule(c Cell, s result.Sample) (result.Finding, bool) {
	unused := ""
	if idle, known := idleShare(c, s); known {
		unused = fmt.Sprintf(": %.0f%% of the available CPU time was unused", 100*idle)
	}
	return finding(!c.Serial && c.Workers < c.Plan.CPUs.Len(), "few-workers", float64(c.Workers),
		"%s cannot use %s%s.", units.Things(c.Workers, "worker"), c.cpus(), unused)
}

func gomaxprocsRule(c Cell, _ result.Sample) (result.Finding, bool) {
	return finding(!c.Serial && c.GOMAXPROCS < min(c.Plan.CPUs.Len(), c.Workers), "gomaxprocs", float64(c.GOMAXPROCS),
		"GOMAXPROCS %d lets at most %s run goroutines at once, and the run has %s.", c.GOMAXPROCS,
		units.Things(c.GOMAXPROCS, "thread"), c.cpus())
}

func fewPinnedRule(c Cell, _ result.Sample) (result.Finding, bool) {
	pinned := c.pinned()
	return finding(pinned > 0 && pinned < min(c.Plan.CPUs.Len(), c.Workers) && !c.Serial, "few-pinned-cpus", float64(pinned),
		"All workers were pinned onto %s of %d; the others had nothing to do.", units.Things(pinned, "CPU"), c.Plan.CPUs.Len())
}

// pinnedTurnsRule is the original program's second feature: pinning round robin does not keep all CPUs busy, since the
// threads that Go lets run are often pinned to the same CPU.
func pinnedTurnsRule(c Cell, s result.Sample) (result.Finding, bool) {
	pinned := c.pinned()
	busy := s.CPUSeconds() / s.Seconds
	_, throttled := throttleRule(c, s)
	turns := !throttled && pinned > 1 && !c.Executor && !c.Serial && c.Workers >= pinned &&
		busy < (1-2*worthTelling)*float64(pinned)
	return finding(turns, "pinned-turns", busy,
		"Only %.2f of the %d pinned CPUs were busy: goroutines pinned to the same CPU took turns "+
			"on it while another CPU idled. --dispatch executor keeps a pinned thread at work on each CPU.", busy, pinned)
}

// imbalanceRule: the last workers of an uneven split run while the other CPUs have nothing left.
func imbalanceRule(c Cell, s result.Sample) (result.Finding, bool) {
	if s.Workers == nil || c.Serial {
		return result.Finding{}, false
	}
	idle, known := idleShare(c, s)
	tail := s.Workers.Seconds.Max / s.Seconds // the longest worker's part of the run
	uneven := known && s.Workers.Imbalance > 1+worthTelling && idle > worthTelling && tail > 0.5 &&
		c.Split != "dynamic" && c.Workers >= c.Plan.CPUs.Len() && c.pinned() == 0
	return finding(uneven, "imbalance", s.Workers.Imbalance,
		"The slowest worker took %.2f times the mean, and %.0f%% of the available CPU time was "+
			"unused while the others had ended. --split dynamic, or more workers, evens it out.", s.Workers.Imbalance, 100*idle)
}

func leakRule(c Cell, s result.Sample) (result.Finding, bool) {
	if s.Workers == nil || s.Workers.OffCPU == nil {
		return result.Finding{}, false
	}
	off := *s.Workers.OffCPU
	return finding(c.Plan.Policy.Leaks() && off > 0, "leak", float64(off),
		"%d of %s ended on a CPU that was not theirs: without --lock-thread the mask stays with "+
			"the thread, and the goroutine moves on.", off, units.Things(c.Workers, "worker"))
}

// threadPinRule: threads that were pinned where they first ran leave some CPUs without a thread.
func threadPinRule(c Cell, s result.Sample) (result.Finding, bool) {
	empty := 0
	for _, cpu := range s.CPUs {
		if cpu.Workers == 0 && cpu.BusySeconds < worthTelling*s.Seconds {
			empty++
		}
	}
	return finding(c.Plan.Policy.PinThread && empty > 0 && c.Workers >= c.Plan.CPUs.Len(), "thread-pins", float64(empty),
		"%s of %d ran no worker: no thread happened to be pinned there.", units.Things(empty, "CPU"), c.Plan.CPUs.Len())
}

func overheadRule(c Cell, s result.Sample) (result.Finding, bool) {
	share := s.SystemSeconds / s.CPUSeconds()
	return finding(share > 2*worthTelling && s.SystemSeconds > 0.02, "system-time", share,
		"%.0f%% of the CPU time was spent in the kernel, placing and switching threads: %s a worker.",
		100*share, microseconds(s.SystemSeconds/float64(c.Workers*max(1, c.Repeats))))
}

func stealRule(c Cell, s result.Sample) (result.Finding, bool) {
	return shareRule(c, s, s.Quality.Signals.StealSeconds, "steal",
		"The hypervisor took %.0f%% of the available CPU time (steal).")
}

func othersRule(c Cell, s result.Sample) (result.Finding, bool) {
	return shareRule(c, s, s.Quality.Signals.OtherSeconds, "other-programs",
		"Other programs took %.0f%% of the available CPU time.")
}

func throttleRule(c Cell, s result.Sample) (result.Finding, bool) {
	return shareRule(c, s, s.Quality.Signals.ThrottledSeconds, "throttled",
		"The cgroup's CPU quota stopped threads for %.0f%% of the available CPU time.")
}

func shareRule(c Cell, s result.Sample, seconds *float64, code, format string) (result.Finding, bool) {
	share := s.Quality.Signals.Share(seconds, c.Plan.CPUs.Len())
	return finding(share > worthTelling, code, share, format, 100*share)
}

func microseconds(seconds float64) string { return fmt.Sprintf("%.1f µs", seconds*1e6) }
