// Package bind compares processes that are bound to CPUs with the same processes unbound.
package bind

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"gorun/csrc"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/process"
	"gorun/internal/result"
)

// Cell describes the processes of a trial.
type Cell struct {
	Processes  int    `json:"processes"`
	CPUs       []int  `json:"cpus"` // process i is bound to CPU i mod n of these; unbound processes may use all of them
	Bound      bool   `json:"bound"`
	Checks     uint64 `json:"checks"`         // of the current CPU, by each process
	ArrayBytes uint64 `json:"array_bytes"`    // of the array of 64-bit words that each process then sums
	Passes     uint64 `json:"passes"`         // over the array
	Cold       bool   `json:"cold,omitempty"` // filling the array is timed too, including its first page faults

	Masks []cpuset.Set `json:"masks,omitempty"` // process i is bound to mask i mod n of these, instead of to a CPU
}

// mask returns the CPUs that a process may use.
func (c Cell) mask(process int) cpuset.Set {
	switch {
	case !c.Bound:
		return cpuset.Of(c.CPUs...)
	case len(c.Masks) > 0:
		return c.Masks[process%len(c.Masks)]
	}
	return cpuset.Of(cpuOf(c.CPUs, process))
}

// cpu returns the CPU that a process is bound to; -1 if there is none, or several.
func (c Cell) cpu(process int) int {
	if len(c.Masks) > 0 && c.Bound {
		if mask := c.mask(process); mask.Len() == 1 {
			return mask.First()
		}
		return -1
	}
	if !c.Bound {
		return -1
	}
	return cpuOf(c.CPUs, process)
}

// cpuOf returns the CPU that a process is bound to.
func cpuOf(cpus []int, process int) int { return cpus[process%len(cpus)] }

// request is the request to a process of a trial.
type request struct {
	CPU        int        `json:"cpu"`              // expected CPU; -1: none
	CPUs       cpuset.Set `json:"cpus"`             // to be bound to
	Within     bool       `json:"within,omitempty"` // any of CPUs is expected, instead of one
	Checks     uint64     `json:"checks"`
	ArrayBytes uint64     `json:"array_bytes"`
	Passes     uint64     `json:"passes"`
	Cold       bool       `json:"cold,omitempty"`
}

// reply is the result of a process of a trial.
type reply struct {
	Checks     uint64         `json:"checks"`
	Deviations uint64         `json:"deviations"`
	Seen       map[int]uint64 `json:"seen"`
	Loops      uint64         `json:"loops"`
	Sum        uint64         `json:"sum"`
	Seconds    float64        `json:"seconds"`
	User       float64        `json:"user_seconds"`
	System     float64        `json:"system_seconds"`
}

// ProcessCommand is the gorun command that calls RunProcess.
const ProcessCommand = "bind-process"

// RunProcess is the main function of a process of a trial. It binds every thread of the process.
func RunProcess(ctx context.Context, in io.Reader, out io.Writer) error {
	sum := csrc.WorkArgs{Work: "sum"}
	cpus := func(o request) cpuset.Set { return o.CPUs }
	return process.Serve(ctx, in, out, cpus, func(o request) (err error) {
		sum.Array, sum.Words, err = process.Array(o.ArrayBytes, o.Cold)
		sum.Loops, sum.Cold = sum.Words*o.Passes, o.Cold
		return err
	}, func(o request, shared *csrc.Shared) (a reply, err error) {
		sum.Shared = shared
		usage := linux.CountUsage()
		args := csrc.ChecksArgs{CPU: o.CPU, CPUs: cpuset.Max + 1, Checks: o.Checks, Shared: shared}
		if o.Within {
			args.Mask = o.CPUs.Words(o.CPUs.Last()/64 + 1)
		}
		checks, err := csrc.Checks(args)
		if err != nil {
			return a, err
		}
		summed, err := csrc.Work(sum)
		if err != nil {
			return a, err
		}
		used, err := usage()
		return reply{
			Checks: checks.Checks, Deviations: checks.Deviations, Seen: checks.Seen, Loops: summed.Loops, Sum: summed.Sum,
			Seconds: float64(summed.EndNS-summed.StartNS) / 1e9, User: used.UserSeconds, System: used.SystemSeconds,
		}, err
	})
}

// Measure runs one trial: all processes at the same time. When ctx ends, the sample is partial.
func Measure(ctx context.Context, self child.Self, c Cell) (result.Sample, error) {
	return c.measure(ctx, self, func([]int) error { return nil })
}

// measure calls ready when all processes are bound and ready to start.
func (c Cell) measure(ctx context.Context, self child.Self, ready func(pids []int) error) (s result.Sample, err error) {
	if c.Processes < 1 || len(c.CPUs) == 0 || c.ArrayBytes < 8 || c.Passes < 1 {
		return s, fmt.Errorf("%d processes on %d CPUs, that add up %d bytes %d times: nothing to measure",
			c.Processes, len(c.CPUs), c.ArrayBytes, c.Passes)
	}
	members := make([]process.Member, c.Processes)
	for i := range members {
		order := request{
			CPU: c.cpu(i), CPUs: c.mask(i), Checks: c.Checks, ArrayBytes: c.ArrayBytes, Passes: c.Passes, Cold: c.Cold,
			Within: c.Bound && len(c.Masks) > 0,
		}
		members[i] = process.Member{
			Member: child.Member{Name: fmt.Sprintf("process %d", i), Request: order}, CPUs: order.CPUs,
		}
	}
	done, err := process.RunGroup[reply](ctx, self, ProcessCommand, members, ready)
	if err != nil {
		return s, err
	}
	return c.sample(done)
}

func (c Cell) sample(done process.Done[reply]) (s result.Sample, err error) {
	v := Figures{Bound: c.Bound, ArrayBytes: c.ArrayBytes, Passes: c.Passes}
	words := c.ArrayBytes / 8
	want := sumOfIndices(words) * c.Passes
	s.Placement.Requested = "none"
	if c.Bound {
		s.Placement.Requested = c.requested()
	}
	s.Placement.Add(done.Checked, done.Mismatches)
	for i, a := range done.Answers {
		p := Process{
			Process: i, CPU: c.cpu(i), Checks: a.Checks, Deviations: a.Deviations, MovedTo: map[string]uint64{},
			Seconds: a.Seconds, UserSeconds: a.User, SystemSeconds: a.System,
			Partial: a.Checks < c.Checks || a.Loops < words*c.Passes,
		}
		if c.Bound {
			p.CPUs = c.mask(i).String()
		}
		for cpu, count := range a.Seen {
			p.MovedTo[strconv.Itoa(cpu)] = count
		}
		if !p.Partial && a.Sum != want {
			return s, fmt.Errorf("process %d: the sum of the words is %d instead of %d", i, a.Sum, want)
		}
		if c.Bound {
			s.Placement.Checked += int(a.Checks)
			if a.Deviations > 0 {
				s.Placement.Mismatches = append(s.Placement.Mismatches,
					fmt.Sprintf("process %d was not on CPU %s in %d of %d checks", i, p.CPUs, a.Deviations, a.Checks))
			}
		}
		v.Checks, v.Deviations = v.Checks+a.Checks, v.Deviations+a.Deviations
		v.Processes = append(v.Processes, p)
		s.Seconds += a.Seconds / float64(len(done.Answers))
		s.UserSeconds, s.SystemSeconds = s.UserSeconds+a.User, s.SystemSeconds+a.System
		s.Partial = s.Partial || p.Partial
	}
	s.Placement.Verified = len(s.Placement.Mismatches) == 0
	s.Values = result.FiguresOf(&v)
	return s, nil
}

// requested describes the requested placement.
func (c Cell) requested() string {
	if len(c.Masks) > 0 {
		return "process i on mask i mod n of the n masks"
	}
	return "process i on CPU i mod n of the n CPUs"
}

// sumOfIndices returns 0 + 1 + … + n-1, modulo 2^64.
func sumOfIndices(n uint64) uint64 {
	if n%2 == 0 {
		return n / 2 * (n - 1)
	}
	return (n - 1) / 2 * n
}
