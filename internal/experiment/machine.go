package experiment

import (
	"errors"
	"fmt"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
)

// SamplingSpec holds the flags of a plain run's samples by name.
type SamplingSpec struct {
	CPUs    string  `json:"cpus"`
	Samples int     `json:"samples"` // 0: as many as are needed
	Warmup  int     `json:"warmup"`
	Budget  float64 `json:"budget_seconds"`
}

// Sampled is the Spec of a Resolution that holds the flags of the samples, which the run settles.
type Sampled interface{ SetSampling(Sampling) }

// SetSampling implements Sampled.
func (s *SamplingSpec) SetSampling(to Sampling) {
	s.Samples, s.Warmup, s.Budget = to.Samples, to.Warmup, to.Budget
}

// MemoryNode returns the only node of a list, which must have memory.
func (m Machine) MemoryNode(list string) (int, error) {
	nodes, err := m.SelectMemory(list)
	if nodes.Len() > 1 {
		err = hint.With(fmt.Errorf("these are %d nodes", nodes.Len()), "name one of them")
	}
	return nodes.First(), err
}

// Pair returns the pair of two CPUs that the arguments A and B name.
func (m Machine) Pair(a, b string) (p topology.CPUPair, err error) {
	if p.A, err = m.One(a); err != nil {
		return p, hint.Usagef("CPU A %s: %w", a, err)
	}
	if p.B, err = m.One(b); err != nil {
		return p, hint.Usagef("CPU B %s: %w", b, err)
	}
	p.Relation = m.Relation(p.A, p.B)
	return p, nil
}

// Masks returns the CPU lists of a text in which spaces separate them, each of the CPUs of the cell.
func (m Machine) Masks(text string) (masks []cpuset.Set, err error) {
	for _, list := range strings.Fields(text) {
		selected, err := m.Select(list, m.CPUs)
		if err != nil {
			return nil, err
		}
		masks = append(masks, cpuset.Of(selected...))
	}
	if len(masks) == 0 {
		return nil, errors.New("there is no CPU list")
	}
	return masks, nil
}

// One returns the only CPU of a list, which must be among those of the cell.
func (m Machine) One(list string) (int, error) {
	cpus, err := m.Select(list, m.CPUs)
	if err != nil {
		return 0, err
	}
	if len(cpus) > 1 {
		return 0, hint.With(fmt.Errorf("these are %d CPUs", len(cpus)), "name one of them")
	}
	return cpus[0], nil
}
