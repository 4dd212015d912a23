package primes

import (
	"fmt"
	"slices"
	"strconv"

	"gorun/internal/record/result"
)

// report returns the sample of the passes; its figures of single workers are from the last pass.
func (p *Pool) report(done outcome) result.Sample {
	s := result.Sample{
		Seconds: done.wall.Seconds(), UserSeconds: done.usage.UserSeconds, SystemSeconds: done.usage.SystemSeconds,
		Partial: done.tally.Numbers != p.numbers()*uint64(max(1, p.opts.Repeats)),
	}
	speedup := s.CPUSeconds() / s.Seconds
	v := Figures{
		Numbers: done.tally.Numbers, Primes: done.tally.Primes, Workers: p.opts.Workers, Passes: done.passes,
		ThreadsPeak: done.threads, Speedup: speedup, CPUUtilisation: speedup / float64(p.plan.CPUs.Len()),
		Trials: done.tally.Trials, TrialsPerSecond: float64(done.tally.Trials) / s.Seconds,
	}
	s.Values = result.FiguresOf(&v)
	if !s.Partial && p.opts.Each == 0 {
		question := fmt.Sprintf("the primes up to %d", p.opts.Limit)
		if p.split.Faulty {
			question += fmt.Sprintf(" without those that --split %s leaves out with %d workers", p.split.Name, p.opts.Workers)
		}
		s.Answer = &result.Answer{Of: question, Is: strconv.FormatUint(done.tally.Primes/uint64(done.passes), 10)}
	}
	s.Workers = p.summarise()
	s.CPUs = p.byCPU(done.busy)
	v.CPUImbalance = cpuImbalance(s.CPUs)
	if p.opts.Detail {
		s.WorkersDetail = p.detail()
	}
	if p.opts.Each > 0 && !s.Partial {
		p.checkEach(&s)
	}
	checked, missed, mismatches := p.placer.Report()
	s.Placement = result.Placement{
		Requested: p.plan.String(), Verified: missed == 0, Checked: checked, Mismatches: mismatches,
	}
	return s
}

// cpuImbalance is the busiest CPU's time over the mean; nil when no CPU was busy.
func cpuImbalance(cpus []result.CPU) *float64 {
	sum, most := 0.0, 0.0
	for _, cpu := range cpus {
		sum, most = sum+cpu.BusySeconds, max(most, cpu.BusySeconds)
	}
	if sum == 0 {
		return nil
	}
	return new(most * float64(len(cpus)) / sum)
}

func (p *Pool) summarise() *result.Workers {
	sum := &result.Workers{Count: p.opts.Workers}
	changed, off := 0, 0
	seconds := make([]float64, 0, len(p.workers))
	for i := range p.workers {
		w := &p.workers[i]
		if w.start == 0 {
			continue
		}
		seconds = append(seconds, float64(w.now-w.start)/1e9)
		if w.ended {
			sum.Finished++
		}
		if w.moves > 0 {
			sum.ChangedCPU++
		}
		if w.tid != w.tidStart {
			changed++
		}
		if w.pinned != w.cpu {
			off++
		}
	}
	if p.plan.Executors == nil {
		sum.ChangedThread = &changed
	}
	if len(p.plan.Policy.PinCPUs) > 0 || p.plan.Executors != nil {
		sum.OffCPU = &off
	}
	sum.Seconds = result.Distribute(seconds)
	if sum.Seconds.Mean > 0 {
		sum.Imbalance = sum.Seconds.Max / sum.Seconds.Mean
	}
	return sum
}

// byCPU returns the share of each CPU: all CPUs of the run, and any other on which a worker was seen.
func (p *Pool) byCPU(busy reading) []result.CPU {
	type seat struct{ cpu, tid int32 }
	workers, threads := map[int]int{}, map[int]int{}
	seen := map[seat]bool{}
	for i := range p.workers {
		w := &p.workers[i]
		if w.start == 0 {
			continue
		}
		workers[int(w.cpu)]++
		if at := (seat{w.cpu, w.tid}); w.tid != 0 && !seen[at] {
			seen[at] = true
			threads[int(w.cpu)]++
		}
	}
	if p.plan.Executors != nil {
		for _, cpu := range p.plan.Executors {
			threads[cpu]++
		}
	}
	cpus := []result.CPU{}
	for cpu, d := range busy {
		if d > 0 || workers[cpu] > 0 || p.plan.CPUs.Contains(cpu) {
			n := threads[cpu]
			cpus = append(cpus, result.CPU{CPU: cpu, Workers: workers[cpu], Threads: &n, BusySeconds: d.Seconds()})
		}
	}
	return cpus
}

func (p *Pool) detail() []result.WorkerDetail {
	rows := make([]result.WorkerDetail, len(p.workers))
	for i := range p.workers {
		w := &p.workers[i]
		rows[i] = result.WorkerDetail{
			Worker: i, First: w.first, Numbers: w.tally.Numbers, Primes: w.tally.Primes,
			Seconds:  float64(w.now-w.start) / 1e9,
			CPUStart: int(w.cpuStart), CPUEnd: int(w.cpu), Moves: int(w.moves),
			TIDStart: int(w.tidStart), TIDEnd: int(w.tid), Mismatch: w.mismatch, Nice: w.nice,
		}
		if w.sched != nil {
			rows[i].Policy = w.sched.String()
		}
		if w.pinned >= 0 && w.start != 0 {
			pinned, verified := int(w.pinned), w.verified
			rows[i].PinnedTo, rows[i].Verified = &pinned, &verified
		}
	}
	return slices.Clip(rows)
}
