package experiment

import (
	"fmt"

	"gorun/internal/hint"
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
