package pair

import (
	"context"
	"fmt"
	"math"
	"time"

	"gorun/csrc"
	"gorun/internal/base/catalog"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/start/launch"
	"gorun/internal/start/process"
)

// Cell is a pair of CPUs and the work of its two processes.
type Cell struct {
	topology.CPUPair
	Work       string        // a name of Works
	Loops      uint64        // of each process; of two that exchange messages, the round trips
	ArrayBytes uint64        // of each process that sums an array
	Interval   time.Duration // between two readings of the processes' CPU time; 0: only at the end
}

// percentiles returns the percentiles of round trips; nil if there are none.
func percentiles(trips []csrc.Latency) *Percentiles {
	total := uint64(0)
	for _, t := range trips {
		total += t.Count
	}
	if total == 0 {
		return nil
	}
	at := func(part float64) float64 {
		rank, seen := uint64(math.Ceil(part*float64(total))), uint64(0)
		for _, t := range trips {
			if seen += t.Count; seen >= rank {
				return t.NS
			}
		}
		return trips[len(trips)-1].NS
	}
	return &Percentiles{P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999)}
}

// measure takes one sample: it starts the two processes, releases them at the same time, and waits for both. It calls
// ready, if there is one, when both are ready to start. When ctx ends, the sample is partial.
func (c Cell) measure(ctx context.Context, self launch.Self, ready func(pids []int) error) (s result.Sample, err error) {
	work, _ := catalog.Find(Works, "work", c.Work)
	var tasks []process.Task
	for i, cpu := range []int{c.A, c.B} {
		tasks = append(tasks, process.Task{
			Name: fmt.Sprintf("the process on CPU %d", cpu), CPUs: cpuset.Of(cpu), First: i == 0 && work.Talks, Work: c.Work, Loops: c.Loops,
			ArrayBytes: c.ArrayBytes,
		})
	}
	var pids []int
	var intervals func() []Interval
	done, err := process.Run(ctx, self, tasks, func(started []int) error {
		pids = started
		if c.Interval > 0 {
			intervals = watch(pids, c.Interval)
		}
		if ready != nil {
			return ready(started)
		}
		return nil
	})
	var parts []Interval
	if intervals != nil {
		parts = intervals()
	}
	if err != nil && ctx.Err() != nil { // they ended before they started the work
		done.Answers, err = []process.Answer{{Worked: csrc.WorkResult{CPU: -1}}, {Worked: csrc.WorkResult{CPU: -1}}}, nil
	}
	if err != nil {
		return s, err
	}
	return c.sample(work.Talks, done, pids, parts), nil
}

// sample returns a sample with the processes' results; pids is empty if they ended before they started.
func (c Cell) sample(talks bool, of process.Done, pids []int, intervals []Interval) (s result.Sample) {
	v := Figures{CPUA: c.A, CPUB: c.B, Relation: c.Relation.String(), Work: c.Work, Loops: c.Loops, Intervals: intervals}
	s.Placement.Requested = fmt.Sprintf("a process on each of CPUs %d, %d", c.A, c.B)
	rate := func(loops uint64, seconds float64) float64 {
		if seconds <= 0 {
			return 0
		}
		return float64(loops) / seconds
	}
	done, least := uint64(0), c.Loops
	var used linux.Usage // of both processes
	s.Placement.Add(of.Checked, of.Mismatches)
	s.Quality.Signals.StoppedSeconds = of.Stopped
	for i, a := range of.Answers {
		cpu, r := []int{c.A, c.B}[i], a.Worked
		seconds := max(0, (time.Duration(r.EndNS) - of.Start).Seconds())
		v.Processes = append(v.Processes, Process{
			CPU: cpu, CPUSeen: r.CPU, Loops: r.Loops, RealSeconds: seconds, UserSeconds: a.Used.UserSeconds,
			SystemSeconds: a.Used.SystemSeconds, CallsPerSecond: rate(r.Loops, seconds),
		})
		if i < len(pids) {
			v.Processes[i].PID = pids[i]
		}
		done += r.Loops
		least = min(least, r.Loops)
		s.Seconds = max(s.Seconds, seconds)
		used = used.Add(a.Used)
		s.Partial = s.Partial || r.Loops < c.Loops
		s.Placement.Check(r.CPU < 0 || r.CPU == cpu, "the process of CPU %d ended on CPU %d", cpu, r.CPU)
	}
	if talks {
		done = of.Answers[0].Worked.Loops
		v.RoundTrip = percentiles(of.Answers[0].Worked.Trips)
	}
	measure.Used(&s, used)
	v.CallsPerSecond = rate(done, s.Seconds)
	if least > 0 {
		v.NsPerLoop = math.Round(1e9*s.Seconds) / float64(least)
	}
	s.Values = result.FiguresOf(&v)
	return s
}
