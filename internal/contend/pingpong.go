package contend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorun/csrc"
	"gorun/internal/catalog"
	"gorun/internal/linux"
	"gorun/internal/result"
	"gorun/internal/topology"
)

// Method is a way to hand a cache line over.
type Method struct{ Name, Usage string }

// Methods are all ways, the default first. To add one, add its row here and its loop in csrc.
var Methods = [...]Method{
	{"cas", "compare-and-swap by both sides, which waits for the line exclusively"},
	{"write", "a plain store by one side, plain loads until it is seen by the other"},
	{"faa", "fetch-and-add after plain loads"},
}

// Entry implements catalog.Entry.
func (m Method) Entry() (name, usage string) { return m.Name, m.Usage }

// LookupMethod tells whether there is a method of that name.
func LookupMethod(name string) error {
	_, err := catalog.Find(Methods[:], "method", name)
	return err
}

// batch is the aimed length of a batch of round trips: long beside the clock's reading, and so short that a thread that
// was switched away spoils few of them.
const batch = 20 * time.Microsecond

// PingPong hands a fresh cache line back and forth between the threads of two CPUs for so long. The line's page is
// first touched by CPU a, and its node is read back.
func (r *Runner) PingPong(ctx context.Context, p topology.Pair, method string, length time.Duration) (s result.Sample, err error) {
	area, err := linux.NewArea(linux.AreaOptions{Bytes: lineBytes, Node: -1})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, area.Free()) }()
	cpus := []int{p.A, p.B}
	r.crew.run(cpus[:1], func(_ int, e error) {
		err = errors.Join(e, area.Touch())
	})
	if err != nil {
		return s, err
	}
	v := result.Pair{
		CPUA: p.A, CPUB: p.B, NodeA: r.nodes[p.A], NodeB: r.nodes[p.B], Relation: p.Relation.String(), Method: method,
	}
	if node, err := linux.PageNode(area.Pointer()); err == nil {
		v.HomeNode = &node
	}
	defer r.until(ctx)()
	before, err := linux.ProcessUsage()
	if err != nil {
		return s, err
	}
	r.gate.Reset(len(cpus))
	begun := time.Now()
	var sides [2]csrc.PingPongResult
	var errs [2]error
	r.crew.run(cpus, func(i int, err error) {
		if err == nil {
			sides[i], err = csrc.PingPong(csrc.PingPongArgs{
				Method: method, First: i == 0, Line: area.Pointer(), Time: length, BatchNS: int64(batch),
				Gate: r.gate, Stop: r.stop,
			})
		}
		if err != nil {
			r.stop.Set() // the other would wait for it
		}
		errs[i] = err
	})
	s.Seconds = time.Since(begun).Seconds()
	after, err := linux.ProcessUsage()
	if err = errors.Join(errs[0], errs[1], err); err != nil {
		return s, err
	}
	used := after.Sub(before)
	s.UserSeconds, s.SystemSeconds = used.UserSeconds, used.SystemSeconds
	s.Partial = ctx.Err() != nil
	s.Placement.Requested = fmt.Sprintf("threads pinned to CPUs %d and %d", p.A, p.B)
	for i, side := range sides {
		r.checked(&s, side.CPU == cpus[i] || side.CPU < 0, "a thread of CPU %d ended on CPU %d", cpus[i], side.CPU)
	}
	s.Placement.Verified = len(s.Placement.Mismatches) == 0

	first := sides[0]
	v.Batches, v.RoundTrips = len(first.Batches), uint64(len(first.Batches))*first.RoundTripsPerBatch
	oneWay := make([]float64, len(first.Batches))
	for i, ns := range first.Batches {
		oneWay[i] = ns / 2
	}
	v.OneWay = result.Distribute(oneWay)
	v.NS, v.RoundTripNS = v.OneWay.Median, 2*v.OneWay.Median
	if v.Batches == 0 && !s.Partial {
		s.Doubts = []result.Doubt{{Verdict: result.Invalid, Reason: "no batch was completed: other programs use these CPUs"}}
	}
	s.Values = result.FiguresOf(&v)
	return s, nil
}
