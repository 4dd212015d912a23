package bind

import (
	"context"
	"fmt"
	"io"

	"gorun/csrc"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/process"
	"gorun/internal/result"
)

// Cell describes the processes of a trial.
type Cell struct {
	Processes  int
	Masks      []cpuset.Set // process i is bound to mask i mod n of these; unbound processes may use all of their CPUs
	Given      bool         // the masks are those of --masks; otherwise each is one CPU
	Bound      bool
	Checks     uint64 // of the current CPU, by each process
	ArrayBytes uint64 // of the array of 64-bit words that each process then sums
	Passes     uint64 // over the array
	Cold       bool   // filling the array is timed too, including its first page faults
}

// mask returns the CPUs that a process may use.
func (c Cell) mask(process int) cpuset.Set {
	if c.Bound {
		return c.Masks[process%len(c.Masks)]
	}
	return c.all()
}

// all returns the CPUs of all masks.
func (c Cell) all() (cpus cpuset.Set) {
	for _, mask := range c.Masks {
		cpus = cpus.Union(mask)
	}
	return cpus
}

// cpu returns the CPU that a process is bound to; -1 if there is none, or several.
func (c Cell) cpu(process int) int {
	if mask := c.mask(process); c.Bound && mask.Len() == 1 {
		return mask.First()
	}
	return -1
}

// request is the request to a process of a trial.
type request struct {
	CPUs       cpuset.Set // that it may use
	Bound      bool       // these are expected; otherwise the CPU of the previous check
	Checks     uint64
	ArrayBytes uint64
	Passes     uint64
	Cold       bool
}

// reply is the result of a process of a trial.
type reply struct {
	csrc.ChecksResult
	Loops   uint64
	Sum     uint64
	Seconds float64
	Used    linux.Usage
}

// ProcessCommand is the gorun command that calls RunProcess.
const ProcessCommand = "bind-process"

// RunProcess is the main function of a process of a trial. It binds every thread of the process.
func RunProcess(ctx context.Context, in io.Reader, out io.Writer) error {
	sum := csrc.WorkArgs{Work: "sum"}
	cpus := func(r request) cpuset.Set { return r.CPUs }
	return process.Serve(ctx, in, out, cpus, func(r request) (err error) {
		sum.Array, sum.Words, err = process.Array(r.ArrayBytes, r.Cold)
		sum.Loops, sum.Cold = sum.Words*r.Passes, r.Cold
		return err
	}, func(r request, shared *csrc.Shared) (a reply, err error) {
		sum.Shared = shared
		usage := linux.CountUsage()
		args := csrc.ChecksArgs{CPUs: cpuset.Max + 1, Checks: r.Checks, Shared: shared}
		if r.Bound {
			args.Mask = r.CPUs.Words(r.CPUs.Last()/64 + 1)
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
			ChecksResult: checks, Loops: summed.Loops, Sum: summed.Sum, Seconds: float64(summed.EndNS-summed.StartNS) / 1e9,
			Used: used,
		}, err
	})
}

// measure runs one trial: all processes at the same time. It calls ready, if there is one, when all are ready to start.
// When ctx ends, the sample is partial.
func (c Cell) measure(ctx context.Context, self child.Self, ready func(pids []int) error) (s result.Sample, err error) {
	members := make([]process.Member, c.Processes)
	for i := range members {
		members[i] = process.Member{CPUs: c.mask(i), Member: child.Member{
			Name: fmt.Sprintf("process %d", i),
			Request: request{
				CPUs: c.mask(i), Bound: c.Bound, Checks: c.Checks, ArrayBytes: c.ArrayBytes, Passes: c.Passes, Cold: c.Cold,
			},
		}}
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
			Process: i, CPU: c.cpu(i), Checks: a.Checks, Deviations: a.Deviations, MovedTo: a.Seen,
			Seconds: a.Seconds, UserSeconds: a.Used.UserSeconds, SystemSeconds: a.Used.SystemSeconds,
			Partial: a.Checks < c.Checks || a.Loops < words*c.Passes,
		}
		if c.Bound {
			p.CPUs = c.mask(i).String()
		}
		if !p.Partial && a.Sum != want {
			return s, fmt.Errorf("process %d: the sum of the words is %d instead of %d", i, a.Sum, want)
		}
		if c.Bound {
			s.Placement.Add(int(a.Checks), nil)
			if a.Deviations > 0 {
				s.Placement.Add(0, []string{
					fmt.Sprintf("process %d was not on CPU %s in %d of %d checks", i, p.CPUs, a.Deviations, a.Checks),
				})
			}
		}
		v.Checks, v.Deviations = v.Checks+a.Checks, v.Deviations+a.Deviations
		v.Processes = append(v.Processes, p)
		s.Seconds += a.Seconds / float64(len(done.Answers))
		s.UserSeconds, s.SystemSeconds = s.UserSeconds+a.Used.UserSeconds, s.SystemSeconds+a.Used.SystemSeconds
		s.Partial = s.Partial || p.Partial
	}
	s.Values = result.FiguresOf(&v)
	return s, nil
}

// requested describes the requested placement.
func (c Cell) requested() string {
	if c.Given {
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
