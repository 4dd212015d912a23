package numa

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"syscall"
	"time"

	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/guardian"
	"gorun/internal/load"
	"gorun/internal/measure"
	"gorun/internal/placement"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// ProbeCommand is the command of gorun that calls RunProbe.
const ProbeCommand = "numa-probe"

// open returns a sampler that asks a probe for each sample, or one that watches the load alone.
func open(setting experiment.Setting, cells []Cell) (experiment.Sampler[Cell], error) {
	b := burners{setting: setting}
	if cells[0].LoadOnly {
		return &watcher{burners: b, cell: cells[0]}, nil
	}
	for _, c := range cells { // what is refused is so for all samples of the cell, and for its load
		if err := (&placement.Setting{Nice: c.Nice}).Try(); err != nil {
			return nil, err
		}
	}
	return &prober{burners: b, cells: cells}, nil
}

// probed is what a probe's process answers.
type probed struct {
	Sample result.Sample  `json:"sample"`
	Doubts []result.Doubt `json:"doubts"` // which a sample keeps to itself
}

// RunProbe is all that a probe's process does: it reads a Request from in, and writes a sample to out. root is rooted at
// / of the machine, which is this one.
func RunProbe(ctx context.Context, root fs.FS, m *topology.Machine, in io.Reader, out io.Writer) error {
	return child.Answer(func(ctx context.Context, r Request) (probed, error) {
		sample, err := Measure(ctx, root, m, r)
		return probed{sample, sample.Doubts}, err
	})(ctx, in, out, nil)
}

// prober takes the samples, each by a process of its own, beside the load.
type prober struct {
	burners
	cells []Cell
	held  []held // what cells set
}

// Prepare takes the settings of the kernel that cells change, and starts the load of the first cell.
func (p *prober) Prepare(ctx context.Context) (_ []result.Warning, err error) {
	if p.held, err = hold(guardian.New(p.setting.Self.In(p.setting.Environ)), p.cells); err != nil {
		return nil, err
	}
	return nil, p.burn(ctx, p.cells[0])
}

// balancing returns the value of NUMA balancing that a sample of the cell has set, or asBefore.
func (c Cell) balancing() int {
	if c.SetBalancing && c.Row.NUMABalancing != Keep {
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
	c.Timeline = p.setting.Kept
	before, err := p.begin()
	if err != nil {
		return result.Sample{}, err
	}
	defer p.leave()
	var answer probed
	self := p.setting.Self.In(measure.Environment(p.setting.Environ))
	used, err := self.Ask(ctx, []string{ProbeCommand}, c.Request, &answer)
	switch {
	case ctx.Err() != nil && err != nil:
		return result.Sample{}, ctx.Err()
	case err != nil:
		lost := result.InvalidSample(err) // of which the row is all that is known
		return lost, json.Unmarshal(fmt.Appendf(nil, `{"row":%d}`, c.Row.Row), &lost.Values)
	}
	sample := answer.Sample
	sample.Doubts = answer.Doubts
	putUsage(&sample, used)
	return sample, p.put(&sample, before)
}

func (p *prober) Close() error {
	return errors.Join(p.stop(), release(p.held))
}

// putUsage puts what the probe's process used on its sample; nil is not known.
func putUsage(s *result.Sample, used *syscall.Rusage) {
	if used == nil {
		return
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e9 }
	s.UserSeconds, s.SystemSeconds = seconds(used.Utime), seconds(used.Stime)
	count := func(n int64) *uint64 { c := uint64(n); return &c }
	sig := &s.Quality.Signals
	sig.VoluntarySwitches, sig.InvoluntarySwitches = count(int64(used.Nvcsw)), count(int64(used.Nivcsw))
	sig.MinorFaults, sig.MajorFaults = count(int64(used.Minflt)), count(int64(used.Majflt))
}

// watcher watches the load alone, a sample a second.
type watcher struct {
	burners
	cell    Cell
	seconds *time.Ticker // nil before the first sample
}

// Prepare starts the load.
func (w *watcher) Prepare(ctx context.Context) ([]result.Warning, error) {
	return nil, w.burn(ctx, w.cell)
}

// shortest is how long a sample lasts at least, unless it is the first: a shorter one shows nothing.
const shortest = 0.5

func (w *watcher) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	first := w.seconds == nil
	if first {
		w.seconds = time.NewTicker(time.Second)
	}
	if err := w.burn(ctx, c); err != nil {
		return result.Sample{}, err
	}
	begun := time.Now()
	before, err := w.begin()
	if err != nil {
		return result.Sample{}, err
	}
	defer w.leave()
	select {
	case <-w.seconds.C:
	case <-ctx.Done():
	}
	sample := result.Sample{
		Seconds: time.Since(begun).Seconds(), Placement: result.Placement{
			Requested: "a burner pinned to each of CPUs " + c.CPUs, Verified: true,
		},
	}
	if ctx.Err() != nil && !first && sample.Seconds < shortest {
		return sample, ctx.Err()
	}
	return sample, w.put(&sample, before)
}

func (w *watcher) Close() error {
	if w.seconds != nil {
		w.seconds.Stop()
	}
	return w.stop()
}

// burners are the load of the cell that is sampled: a burner on each of its CPUs.
type burners struct {
	setting experiment.Setting
	fleet   *load.Fleet        // nil: there is no load
	monitor *placement.Monitor // of the fleet, while a sample is taken; nil: none is
	cpus    cpuset.Set
	percent float64 // of each CPU
	nice    int
}

// burn starts the load of a cell, unless it is the one that there is.
func (b *burners) burn(ctx context.Context, c Cell) error {
	cpus, err := cpuset.Parse(c.CPUs)
	if err != nil {
		return err
	}
	nice := 0
	if c.Nice != nil {
		nice = *c.Nice
	}
	if cpus.Equal(b.cpus) && c.Load == b.percent && nice == b.nice && (b.fleet != nil || c.Load == 0) {
		return nil
	}
	if err := b.stop(); err != nil {
		return err
	}
	b.cpus, b.percent, b.nice = cpus, c.Load, nice
	if c.Load > 0 {
		b.fleet, err = load.Start(context.WithoutCancel(ctx), b.setting.Self.In(b.setting.Environ),
			load.PerCPU(cpus, c.Load, nice, b.setting.Seed))
	}
	return err
}

func (b *burners) stop() error {
	if b.fleet == nil {
		return nil
	}
	_, err := b.fleet.Stop()
	b.fleet = nil
	return err
}

// begin begins to watch the load, and reads its clocks.
func (b *burners) begin() (load.Reading, error) {
	if b.fleet == nil {
		return load.Reading{}, nil
	}
	b.monitor = b.fleet.Watch()
	return b.fleet.Read()
}

// leave ends what begin has begun if put has not done so: the sample has failed, and the next one begins with a new load.
func (b *burners) leave() {
	if b.monitor != nil {
		b.monitor.End()
		b.monitor = nil
		_ = b.stop() // why the sample has failed is known
	}
}

// put puts on a sample what the load has been since begin. A load that was not what was asked is stopped, and the next
// sample begins with a new one.
func (b *burners) put(s *result.Sample, before load.Reading) error {
	if b.fleet == nil {
		return nil
	}
	after, err := b.fleet.Read()
	if err != nil {
		return err
	}
	checked, mismatches := b.monitor.End()
	b.monitor = nil
	s.Placement.Add(checked, mismatches)
	loads := b.fleet.Achieved(before, after)
	shares := map[int]float64{} // part of the time that the probe was on each CPU
	v, probed := result.Typed[result.Numa](s)
	if probed {
		for text, part := range v.CPUShare {
			cpu, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			shares[cpu] = part * min(1, s.CPUSeconds()/loads[0].Seconds)
		}
	}
	if ended := b.fleet.Ended(); ended || len(mismatches) > 0 {
		s.Placement.Verified = s.Placement.Verified && len(mismatches) == 0
		if err := b.stop(); ended && err != nil { // it names the burner, and how it ended
			s.Doubts = append(s.Doubts, result.Doubt{Verdict: result.Invalid, Reason: err.Error()})
		}
	}
	had := result.NumaLoad{Requested: b.percent}
	for _, l := range loads {
		s.LoadSeconds += l.Percent / 100 * l.Seconds
		had.CPUs = append(had.CPUs, result.NumaLoadCPU{
			CPU: l.CPU, Achieved: l.Percent, Expected: load.Expected(l.Asked, shares[l.CPU]),
		})
	}
	for _, d := range load.Deviations(loads, shares) {
		s.Doubts = append(s.Doubts, result.Doubt{Verdict: result.Suspect, Reason: d.String()})
	}
	if !probed {
		s.Values = result.FiguresOf(&result.Load{Load: &had})
		return nil
	}
	loaded := *v
	loaded.Load = &had
	s.Values = result.FiguresOf(&loaded)
	return nil
}
