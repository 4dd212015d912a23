package futex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"gorun/csrc"
	"gorun/internal/experiment"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
)

// Figures are the figures of a sample.
type Figures struct {
	CPUA       int     `json:"cpu_a" is:"The CPU of one thread."`
	CPUB       int     `json:"cpu_b" is:"The CPU of the other thread."`
	Relation   string  `json:"relation" is:"What the two CPUs share."`
	RoundTrips int     `json:"round_trips" figure:"number" is:"The round trips in which both threads were woken."`
	WakeNS     float64 `json:"wake_ns,omitempty" figure:"ns,lower,bench=wake-ns" is:"The median time of a wake-up, of both threads."`
	WakeP99NS  float64 `json:"wake_p99_ns,omitempty" figure:"ns,lower,bench=wake-p99-ns,rank=1" is:"The time that 99 of 100 wake-ups do not exceed."`
}

var (
	columns = column.Join(column.Times, column.Switches, column.Workers, column.Of[Figures]())
	wake    = columns.Get("wake_ns") // by which cells are compared
)

// sample takes a sample, with two new threads.
func sample(ctx context.Context, _ experiment.Environment, c Cell) (s result.Sample, err error) {
	shared := csrc.NewWakeFutex()
	defer shared.Free()
	defer measure.Until(ctx, shared.Stop)()
	cpus := [2]int{c.A, c.B}
	var sides [2]csrc.WakeupsResult
	var read [2]result.Placement
	err = measure.Timed(&s, func() error {
		var errs [2]error
		var threads sync.WaitGroup
		for i, cpu := range cpus {
			threads.Go(func() {
				args := csrc.WakeupsArgs{First: i == 0, Trips: c.RoundTrips, Futex: shared}
				read[i], errs[i] = measure.Pinned(cpu, func() (err error) {
					sides[i], err = csrc.Wakeups(args)
					return err
				})
				if errs[i] != nil {
					shared.Stop() // otherwise the other thread would wait for this one
				}
			})
		}
		threads.Wait()
		return cmp.Or(errs[0], errs[1])
	})
	if err != nil {
		return s, err
	}
	s.Placement = result.Placement{Requested: fmt.Sprintf("threads pinned to CPUs %d and %d", c.A, c.B)}
	for i, r := range sides {
		s.Partial = s.Partial || r.Stopped
		s.Placement.Add(read[i].Checked, read[i].Mismatches)
		s.Placement.Check(r.CPU < 0 || r.CPU == cpus[i], "the thread of CPU %d ended on CPU %d", cpus[i], r.CPU)
	}
	wakeups := result.Distribute(slices.Concat(sides[0].NS, sides[1].NS))
	s.Values = result.FiguresOf(&Figures{
		CPUA: c.A, CPUB: c.B, Relation: c.Relation, RoundTrips: min(len(sides[0].NS), len(sides[1].NS)),
		WakeNS: wakeups.Median, WakeP99NS: wakeups.P99,
	})
	return s, nil
}
