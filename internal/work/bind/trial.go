package bind

import (
	"context"
	"fmt"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
	"gorun/internal/start/process"
)

// Cell describes the processes of a trial.
type Cell struct {
	Processes  int
	Masks      []cpuset.Set // process i is bound to mask i mod n of these; unbound processes may use all of their CPUs
	Given      bool         // the masks come from --masks; otherwise each is one CPU
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

// measure runs one trial: all processes at the same time. It calls ready, if there is one, when all are ready to start.
// When ctx ends, the sample is partial.
func (c Cell) measure(ctx context.Context, self launch.Self, ready func(pids []int) error) (s result.Sample, err error) {
	var tasks []process.Task
	for i := range c.Processes {
		tasks = append(tasks, process.Task{
			Name: fmt.Sprintf("process %d", i), CPUs: c.mask(i), Bound: c.Bound, Checks: c.Checks, Work: "sum",
			Loops: c.ArrayBytes / 8 * c.Passes, ArrayBytes: c.ArrayBytes, Cold: c.Cold,
		})
	}
	done, err := process.Run(ctx, self, tasks, ready)
	if err != nil {
		return s, err
	}
	return c.sample(done)
}

func (c Cell) sample(done process.Done) (s result.Sample, err error) {
	v := Figures{Bound: c.Bound, ArrayBytes: c.ArrayBytes, Passes: c.Passes}
	words := c.ArrayBytes / 8
	want := sumOfIndices(words) * c.Passes
	s.Placement.Requested = "none"
	if c.Bound {
		s.Placement.Requested = c.requested()
	}
	s.Placement.Add(done.Checked, done.Mismatches)
	s.Quality.Signals.StoppedSeconds = done.Stopped
	for i, a := range done.Answers {
		checked, r := a.Checked, a.Worked
		p := Process{
			Process: i, CPU: c.cpu(i), Checks: checked.Checks, Deviations: checked.Deviations, MovedTo: checked.Seen,
			Seconds: float64(r.EndNS-r.StartNS) / 1e9, UserSeconds: a.Used.UserSeconds, SystemSeconds: a.Used.SystemSeconds,
			Partial: checked.Checks < c.Checks || r.Loops < words*c.Passes,
		}
		if c.Bound {
			p.CPUs = c.mask(i).String()
		}
		if !p.Partial && r.Sum != want {
			return s, fmt.Errorf("process %d: the sum of the words is %d instead of %d", i, r.Sum, want)
		}
		if c.Bound {
			s.Placement.Add(int(p.Checks), nil)
			if p.Deviations > 0 {
				s.Placement.Add(0, []string{
					fmt.Sprintf("process %d was not on CPU %s in %d of %d checks", i, p.CPUs, p.Deviations, p.Checks),
				})
			}
		}
		v.Checks, v.Deviations = v.Checks+p.Checks, v.Deviations+p.Deviations
		v.Processes = append(v.Processes, p)
		s.Seconds += p.Seconds / float64(len(done.Answers))
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
