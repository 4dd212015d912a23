package pair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"gorun/csrc"
	"gorun/internal/catalog"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/measure"
	"gorun/internal/process"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// Cell is a pair of CPUs and the work of its two processes.
type Cell struct {
	topology.CPUPair
	Work       string        // a name of Works
	Loops      uint64        // of each process; of two that exchange messages, the round trips
	ArrayBytes uint64        // of each process that sums an array
	Interval   time.Duration // between two readings of the processes' CPU time; 0: only at the end
}

// side is the request to one of the two processes.
type side struct {
	CPU        int
	First      bool
	Work       string
	Loops      uint64
	ArrayBytes uint64
}

// sideAnswer is the result of one of the two processes.
type sideAnswer struct {
	Loops   uint64
	EndNS   int64 // 0: it did not start
	CPUSeen int
	Used    linux.Usage
	Trips   *Percentiles
}

// SideCommand is the gorun command that calls RunSide.
const SideCommand = "pair-side"

// RunSide is the main function of one of the two processes. It pins every thread of the process.
func RunSide(ctx context.Context, in io.Reader, out io.Writer) error {
	var args csrc.WorkArgs
	cpus := func(s side) cpuset.Set { return cpuset.Of(s.CPU) }
	return process.Serve(ctx, in, out, cpus, func(s side) (err error) {
		args = csrc.WorkArgs{Work: s.Work, Loops: s.Loops, First: s.First, In: process.FirstFD, Out: process.FirstFD + 1}
		args.Array, args.Words, err = process.Array(s.ArrayBytes, false)
		return err
	}, func(_ side, shared *csrc.Shared) (a sideAnswer, err error) {
		args.Shared = shared
		usage := linux.CountUsage()
		r, err := csrc.Work(args)
		if err != nil {
			return a, err
		}
		used, err := usage()
		return sideAnswer{
			Loops: r.Loops, EndNS: r.EndNS, CPUSeen: r.CPU, Used: used, Trips: percentiles(r.Trips),
		}, err
	})
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
func (c Cell) measure(ctx context.Context, self child.Self, ready func(pids []int) error) (s result.Sample, err error) {
	work, _ := catalog.Find(Works, "work", c.Work)
	members := make([]process.Member, 2)
	for i, cpu := range []int{c.A, c.B} {
		members[i] = process.Member{CPUs: cpuset.Of(cpu), Member: child.Member{
			Name:    fmt.Sprintf("the process on CPU %d", cpu),
			Request: side{CPU: cpu, First: i == 0, Work: c.Work, Loops: c.Loops, ArrayBytes: c.ArrayBytes},
		}}
	}
	if err := connect(&members[0], &members[1]); err != nil {
		return s, err
	}
	var pids []int
	var intervals func() []Interval
	done, err := process.RunGroup[sideAnswer](ctx, self, SideCommand, members, func(started []int) error {
		pids = slices.Clone(started)
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
	if err != nil && ctx.Err() != nil {
		done.Answers, err = []sideAnswer{{CPUSeen: -1}, {CPUSeen: -1}}, nil // they ended before they started the work
	}
	if err != nil {
		return s, err
	}
	return c.sample(work.Talks, done, pids, parts), nil
}

// connect connects two processes by a pipe in each direction.
func connect(a, b *process.Member) error {
	toB, fromA, err := os.Pipe()
	if err != nil {
		return err
	}
	toA, fromB, err := os.Pipe()
	if err != nil {
		return errors.Join(err, toB.Close(), fromA.Close())
	}
	a.Files, b.Files = []*os.File{toA, fromA}, []*os.File{toB, fromB}
	return nil
}

// sample returns a sample with the processes' results; pids is empty if they ended before they started.
func (c Cell) sample(talks bool, of process.Done[sideAnswer], pids []int, intervals []Interval) (s result.Sample) {
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
	for i, a := range of.Answers {
		cpu := []int{c.A, c.B}[i]
		seconds := max(0, (time.Duration(a.EndNS) - of.Start).Seconds())
		v.Processes = append(v.Processes, Process{
			CPU: cpu, CPUSeen: a.CPUSeen, Loops: a.Loops, RealSeconds: seconds, UserSeconds: a.Used.UserSeconds,
			SystemSeconds: a.Used.SystemSeconds, CallsPerSecond: rate(a.Loops, seconds),
		})
		if i < len(pids) {
			v.Processes[i].PID = pids[i]
		}
		done += a.Loops
		least = min(least, a.Loops)
		s.Seconds = max(s.Seconds, seconds)
		used = used.Add(a.Used)
		s.Partial = s.Partial || a.Loops < c.Loops
		s.Placement.Check(a.CPUSeen < 0 || a.CPUSeen == cpu, "the process of CPU %d ended on CPU %d", cpu, a.CPUSeen)
	}
	if talks {
		done = of.Answers[0].Loops
		v.RoundTrip = of.Answers[0].Trips
	}
	measure.Used(&s, used)
	v.CallsPerSecond = rate(done, s.Seconds)
	if least > 0 {
		v.NsPerLoop = math.Round(1e9*s.Seconds) / float64(least)
	}
	s.Values = result.FiguresOf(&v)
	return s
}
