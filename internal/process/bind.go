package process

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"

	"gorun/csrc"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// BindRequest says what the processes of one trial do.
type BindRequest struct {
	Processes  int
	CPUs       []int // process i is bound to CPU i mod n of these; unbound, it may use all of them
	Bound      bool
	Trial      int
	Checks     uint64 // looks at the CPU, of each process
	ArrayBytes uint64 // that each process then adds up, in words of 64 bits
	Passes     uint64 // over the array
}

// cpu is the one that a process is bound to; -1: none.
func (r BindRequest) cpu(process int) int {
	if !r.Bound {
		return -1
	}
	return BindCPU(r.CPUs, process)
}

// BindCPU is the CPU that a process is bound to.
func BindCPU(cpus []int, process int) int { return cpus[process%len(cpus)] }

// bindOrder is what one process of a trial is asked.
type bindOrder struct {
	CPU        int        `json:"cpu"`  // to look for; -1: none
	CPUs       cpuset.Set `json:"cpus"` // to be bound to
	Checks     uint64     `json:"checks"`
	ArrayBytes uint64     `json:"array_bytes"`
	Passes     uint64     `json:"passes"`
}

// bindAnswer is what it found.
type bindAnswer struct {
	Checks     uint64         `json:"checks"`
	Deviations uint64         `json:"deviations"`
	Seen       map[int]uint64 `json:"seen"`
	Loops      uint64         `json:"loops"`
	Sum        uint64         `json:"sum"`
	Seconds    float64        `json:"seconds"`
	User       float64        `json:"user_seconds"`
	System     float64        `json:"system_seconds"`
}

// BindOrder tells for each of twice as many measurements as trials whether it is bound: one of each two is, and which
// one is left to chance, so that a drift of the machine does not look like an effect.
func BindOrder(trials int, seed uint64) []bool {
	source := rand.New(rand.NewPCG(seed, 0))
	order := make([]bool, 0, 2*trials)
	for range trials {
		bound := source.IntN(2) == 0
		order = append(order, bound, !bound)
	}
	return order
}

// RunBind is all that a process of a trial does. It binds every thread of the process.
func RunBind(ctx context.Context, in io.Reader, out io.Writer) error {
	sum := csrc.WorkArgs{Work: "sum"}
	return serve(ctx, in, out, func(o bindOrder) (err error) {
		if err := confine(o.CPUs); err != nil {
			return err
		}
		sum.Array, sum.Words, err = array(o.ArrayBytes)
		sum.Loops = sum.Words * o.Passes
		return err
	}, func(o bindOrder, shared *csrc.Shared) (a bindAnswer, err error) {
		sum.Shared = shared
		before, err := linux.ProcessUsage()
		if err != nil {
			return a, err
		}
		checks, err := csrc.Checks(csrc.ChecksArgs{CPU: o.CPU, Checks: o.Checks, Shared: shared})
		if err != nil {
			return a, err
		}
		summed, err := csrc.Work(sum)
		if err != nil {
			return a, err
		}
		after, err := linux.ProcessUsage()
		used := after.Sub(before)
		return bindAnswer{
			Checks: checks.Checks, Deviations: checks.Deviations, Seen: checks.Seen, Loops: summed.Loops, Sum: summed.Sum,
			Seconds: float64(summed.EndNS-summed.StartNS) / 1e9, User: used.UserSeconds, System: used.SystemSeconds,
		}, err
	})
}

// MeasureBind runs one trial: all processes at once. It returns a sample a process. When ctx ends, they are partial.
func MeasureBind(ctx context.Context, self child.Self, r BindRequest) ([]result.Sample, error) {
	return r.measure(ctx, self, func([]int) error { return nil })
}

// measure calls ready when all processes are bound, and wait for each other.
func (r BindRequest) measure(ctx context.Context, self child.Self, ready func(pids []int) error) ([]result.Sample, error) {
	if r.Processes < 1 || len(r.CPUs) == 0 || r.ArrayBytes < 8 || r.Passes < 1 {
		return nil, fmt.Errorf("%d processes on %d CPUs, that add up %d bytes %d times: nothing to measure",
			r.Processes, len(r.CPUs), r.ArrayBytes, r.Passes)
	}
	members := make([]child.Member, r.Processes)
	for i := range members {
		order := bindOrder{
			CPU: r.cpu(i), CPUs: cpuset.Of(r.CPUs...), Checks: r.Checks, ArrayBytes: r.ArrayBytes, Passes: r.Passes,
		}
		if r.Bound {
			order.CPUs = cpuset.Of(order.CPU)
		}
		members[i] = child.Member{Name: fmt.Sprintf("process %d", i), Request: order}
	}
	answers, _, err := together[bindAnswer](ctx, self, BindCommand, members, ready)
	if err != nil {
		return nil, err
	}
	samples := make([]result.Sample, len(answers))
	for i, a := range answers {
		if samples[i], err = r.sample(i, a); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

func (r BindRequest) sample(process int, a bindAnswer) (s result.Sample, err error) {
	v := result.BindProcess{
		Process: process, Trial: r.Trial, Bound: r.Bound, CPU: r.cpu(process), Checks: a.Checks, Deviations: a.Deviations,
		MovedTo: map[string]uint64{}, ArrayBytes: r.ArrayBytes, Passes: r.Passes,
	}
	for cpu, count := range a.Seen {
		v.MovedTo[strconv.Itoa(cpu)] = count
	}
	s.Seconds, s.UserSeconds, s.SystemSeconds = a.Seconds, a.User, a.System
	words := r.ArrayBytes / 8
	s.Partial = a.Checks < r.Checks || a.Loops < words*r.Passes
	s.Placement.Requested = "none"
	if r.Bound {
		s.Placement.Requested = fmt.Sprintf("on CPU %d", v.CPU)
		s.Placement.Checked = int(a.Checks)
		if a.Deviations > 0 {
			s.Placement.Mismatches = []string{
				fmt.Sprintf("process %d was not on CPU %d in %d of %d looks", process, v.CPU, a.Deviations, a.Checks),
			}
		}
	}
	s.Placement.Verified = len(s.Placement.Mismatches) == 0
	if want := sumOfIndices(words) * r.Passes; !s.Partial && a.Sum != want {
		return s, fmt.Errorf("process %d: the words add up to %d, and are to be %d", process, a.Sum, want)
	}
	s.Values = result.FiguresOf(&v)
	return s, nil
}

// sumOfIndices is 0 + 1 + … + n-1, modulo 2^64.
func sumOfIndices(n uint64) uint64 {
	if n%2 == 0 {
		return n / 2 * (n - 1)
	}
	return (n - 1) / 2 * n
}
