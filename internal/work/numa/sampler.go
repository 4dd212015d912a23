package numa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"gorun/internal/experiment"
	"gorun/internal/guard/guardian"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/start/launch"
	"gorun/internal/start/load"
)

// ProbeCommand is the gorun command that calls RunProbe.
const ProbeCommand = "numa-probe"

// open returns a sampler that starts a probe for each sample.
func open(environment experiment.Environment, cells []Cell) (experiment.Sampler[Cell], error) {
	for _, c := range cells { // a refusal applies to all samples of the cell, and to its load
		if err := (&placement.Setting{Nice: c.Nice}).Try(); err != nil {
			return nil, err
		}
	}
	return &prober{burners: burners{environment: environment}, cells: cells}, nil
}

// probed is the answer of a probe's process.
type probed struct {
	Sample result.Sample  `json:"sample"`
	Doubts []result.Doubt `json:"doubts"` // not part of a sample's JSON
}

// RunProbe is the main function of a probe's process: it reads a Request from in, and writes a sample to out. root is
// rooted at / of this machine.
func RunProbe(ctx context.Context, root fs.FS, m *topology.Machine, in io.Reader, out io.Writer) error {
	return launch.Answer(ctx, in, out, func(ctx context.Context, r Request) (probed, error) {
		sample, err := Measure(ctx, root, m, r)
		return probed{sample, sample.Doubts}, err
	})
}

// prober takes the samples, each by a new process, while the load runs.
type prober struct {
	burners
	cells []Cell
	held  []heldFile // files that cells set
}

// Prepare locks the kernel's files that cells change, and starts the load of the first cell.
func (p *prober) Prepare(ctx context.Context) (_ []result.Warning, err error) {
	if p.held, err = hold(guardian.New(p.environment.Self.In(p.environment.Environ)), p.cells); err != nil {
		return nil, err
	}
	return nil, p.burn(ctx, p.cells[0])
}

// balancing returns the value of NUMA balancing that the cell sets, or asBefore.
func (c Cell) balancing() int {
	if c.SetBalancing && c.Row.NUMABalancing != KeepSetting {
		return c.Row.NUMABalancing
	}
	return asBefore
}

func (p *prober) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	for _, h := range p.held {
		if err := h.set(c); err != nil {
			return result.Sample{}, err
		}
	}
	if err := p.burn(ctx, c); err != nil {
		return result.Sample{}, err
	}
	before, err := p.begin()
	if err != nil {
		return result.Sample{}, err
	}
	defer p.abandon()
	var answer probed
	self := p.environment.Self.In(measure.Environment(p.environment.Environ))
	used, err := self.Ask(ctx, []string{ProbeCommand}, c.Request, &answer)
	switch {
	case ctx.Err() != nil && err != nil:
		return result.Sample{}, ctx.Err()
	case err != nil:
		lost := result.InvalidSample(err) // only its row is known
		return lost, json.Unmarshal(fmt.Appendf(nil, `{"row":%d}`, c.Row.Row), &lost.Values)
	}
	sample := answer.Sample
	sample.Doubts = answer.Doubts
	measure.Used(&sample, used)
	return sample, p.addTo(&sample, before)
}

func (p *prober) Close() error {
	return errors.Join(p.stop(), release(p.held))
}

// burners is the load of the current cell: a burner on each of its CPUs.
type burners struct {
	environment experiment.Environment
	group       *load.Burners      // nil: no load
	monitor     *placement.Monitor // of the group, during a sample; nil otherwise
	cpus        cpuset.Set
	percent     float64 // of each CPU
	nice        int
}

// burn starts the load of a cell, unless it is running.
func (b *burners) burn(ctx context.Context, c Cell) error {
	nice := 0
	if c.Nice != nil {
		nice = *c.Nice
	}
	if c.CPUs.Equal(b.cpus) && c.Load == b.percent && nice == b.nice && (b.group != nil || c.Load == 0) {
		return nil
	}
	if err := b.stop(); err != nil {
		return err
	}
	b.cpus, b.percent, b.nice = c.CPUs, c.Load, nice
	if c.Load > 0 {
		var err error
		b.group, err = load.Start(context.WithoutCancel(ctx), b.environment.Self.In(b.environment.Environ),
			load.PerCPU(c.CPUs, c.Load, nice, b.environment.Seed))
		return err
	}
	return nil
}

func (b *burners) stop() error {
	if b.group == nil {
		return nil
	}
	err := b.group.Stop()
	b.group = nil
	return err
}

// begin starts to watch the load, and reads its clocks.
func (b *burners) begin() (load.Reading, error) {
	if b.group == nil {
		return load.Reading{}, nil
	}
	b.monitor = b.group.Watch()
	return b.group.Read()
}

// abandon ends the watch that begin started, if put has not ended it: the sample has failed, and the next one starts with
// a new load.
func (b *burners) abandon() {
	if b.monitor != nil {
		b.monitor.End()
		b.monitor = nil
		_ = b.stop() // the cause of the failure is known
	}
}

// addTo adds the load since begin to a sample. A load with a wrong placement is stopped, and the next sample starts with
// a new one.
func (b *burners) addTo(s *result.Sample, before load.Reading) error {
	if b.group == nil {
		return nil
	}
	after, err := b.group.Read()
	if err != nil {
		return err
	}
	checked, mismatches := b.monitor.End()
	b.monitor = nil
	s.Placement.Add(checked, mismatches)
	loads := b.group.Achieved(before, after)
	shares := map[int]float64{}      // part of the time that the probe was on each CPU
	v, _ := result.Typed[Figures](s) // every probe has them
	for cpu, part := range v.CPUShare {
		shares[cpu] = part * min(1, s.CPUSeconds()/loads[0].Seconds)
	}
	if ended := b.group.Ended(); ended || len(mismatches) > 0 {
		if err := b.stop(); ended && err != nil { // the error names the burner and its end
			s.Doubt(result.Invalid, "%v", err)
		}
	}
	had := result.Load{Requested: b.percent}
	for _, l := range loads {
		s.LoadSeconds += l.Percent / 100 * l.Seconds
		had.CPUs = append(had.CPUs, result.LoadCPU{
			CPU: l.CPU, Achieved: l.Percent, Expected: load.Least(l.Asked, shares[l.CPU]),
		})
	}
	for _, reason := range load.Deviations(loads, shares) {
		s.Doubt(result.Suspect, "%s", reason)
	}
	loaded := *v
	loaded.Load = &had
	s.Values = result.FiguresOf(&loaded)
	return nil
}
