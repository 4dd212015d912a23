package experiment

import (
	"cmp"
	"slices"
	"strconv"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
)

// Candidate is a cell with another value of one flag, which takes away what may explain its time.
type Candidate[C any] struct {
	Do C
	result.Candidate
}

// Candidates returns the settings that differ from that of a program by one flag, which takes away a cause of its time: waiting for CPUs,
// migrations, memory on another node. pinned is the CPU to which it is pinned in the run that is continued; "": one is chosen.
func (m Machine) Candidates(s placement.Setting, pinned string) (candidates []Candidate[placement.Setting]) {
	add := func(axis, value string, change func(*placement.Setting)) error {
		c := Candidate[placement.Setting]{s, result.Candidate{Axis: axis, Value: value}}
		change(&c.Do)
		var err error
		if m.Live {
			err = c.Do.Try()
		}
		if err != nil {
			c.Lacking = cmp.Or(hint.Of(err), err.Error())
		}
		candidates = append(candidates, c)
		return err
	}
	sched := linux.Sched{Policy: linux.SchedOther}
	if s.Sched != nil {
		sched = *s.Sched
	}
	switch sched.Policy {
	case linux.SchedIdle:
		_ = add(result.AxisSched, linux.Sched{Policy: linux.SchedOther}.String(), func(s *placement.Setting) {
			s.Sched = &linux.Sched{Policy: linux.SchedOther}
		})
	case linux.SchedOther, linux.SchedBatch:
		is, _ := linux.GetNice(0) // 0 if it is not known
		asked := is
		if s.Nice != nil {
			asked = *s.Nice
		}
		nice := func(to int) error {
			return add(result.AxisNice, strconv.Itoa(to), func(s *placement.Setting) { s.Nice = &to })
		}
		if asked > linux.MinNice && nice(linux.MinNice) != nil && is < asked {
			candidates = nil
			_ = nice(is)
		}
	}
	cpus := s.CPUs
	if cpus.Empty() {
		cpus = m.CPUs
	}
	if cpus.Len() > 1 {
		if is, err := cpuset.Parse(pinned); err == nil && is.Len() == 1 && is.Minus(cpus).Empty() {
			cpus = is
		}
		m.CPUs = cpus
		if one, err := m.Placements().Lookup("one-cpu"); err == nil {
			_ = add(result.AxisCPUs, one.CPUs.String(), func(s *placement.Setting) { s.CPUs = one.CPUs })
		}
	}
	bound := !slices.Contains([]linux.Mempolicy{linux.MempolicyDefault, linux.MempolicyLocal}, s.Mempolicy)
	if bound && m.MemoryNodes().Len() > 1 {
		_ = add(result.AxisMempolicy, linux.MempolicyLocal.String(), func(s *placement.Setting) {
			s.Mempolicy, s.Nodes = linux.MempolicyLocal, cpuset.Set{}
		})
	}
	return candidates
}
