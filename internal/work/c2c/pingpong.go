// Package c2c measures the time that a cache line takes from one CPU to another.
package c2c

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorun/csrc"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/work/contend"
)

// Method is a way to pass a cache line.
type Method struct{ Name, Usage string }

// Methods lists all methods, the default first. To add one, add its row here and its loop in csrc.
var Methods = [...]Method{
	{"cas", "compare-and-swap by both sides, which waits for the line exclusively"},
	{"write", "a plain store by one side, plain loads until it is seen by the other"},
	{"faa", "fetch-and-add after plain loads"},
}

// Entry implements catalog.Entry.
func (m Method) Entry() (name, usage string) { return m.Name, m.Usage }

// batch is the intended duration of a batch of round trips: long compared with reading the clock, and short enough
// that a thread that is switched out spoils few batches.
const batch = 20 * time.Microsecond

// line returns a page of memory for a new cache line, on the cell's node.
func (r sampler) line(c Cell) (*linux.Area, error) {
	if c.MemNode != firstTouch {
		return r.NewArea(c.MemNode, contend.LineBytes)
	}
	area, err := linux.NewArea(linux.AreaOptions{Bytes: contend.LineBytes, Node: -1})
	if err != nil {
		return nil, err
	}
	if err := r.Run([]int{c.A}, func(int) error { return area.Touch() }); err != nil {
		return nil, errors.Join(err, area.Free())
	}
	return area, nil
}

// Sample passes a new cache line back and forth between the threads of two CPUs. The line's page is on the requested
// node, or first touched by CPU a; its node is read back.
func (r sampler) Sample(ctx context.Context, c Cell) (s result.Sample, err error) {
	cpus := []int{c.A, c.B}
	area, err := r.line(c)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, area.Free()) }()
	v := Figures{
		CPUA: c.A, CPUB: c.B, NodeA: c.NodeA, NodeB: c.NodeB, Relation: c.Relation, Method: c.Method,
	}
	s.Placement.Requested = fmt.Sprintf("threads pinned to CPUs %d and %d", c.A, c.B)
	if c.MemNode != firstTouch {
		v.MemNode = &c.MemNode
		v.HomeNode = r.CheckPage(&s, area.Pointer(), c.MemNode)
		s.Placement.Requested += fmt.Sprintf(", the line on node %d", c.MemNode)
	} else if node, err := linux.PageNode(area.Pointer()); err == nil {
		v.HomeNode = &node
	}
	defer r.Until(ctx)()
	r.Gate.Reset(len(cpus))
	monitor := r.Watch(cpus)
	var sides [2]csrc.PingPongResult
	err = measure.Timed(&s, func() error {
		return r.Run(cpus, func(i int) (err error) {
			sides[i], err = csrc.PingPong(csrc.PingPongArgs{
				Method: c.Method, First: i == 0, Line: area.Pointer(), Time: c.Each, BatchNS: int64(batch),
				Gate: r.Gate, Stop: r.Stop,
			})
			return err
		})
	})
	s.Placement.Add(monitor.End())
	if err != nil {
		return s, err
	}
	s.Partial = ctx.Err() != nil
	for i, side := range sides {
		s.Placement.Check(side.CPU == cpus[i] || side.CPU < 0, "a thread of CPU %d ended on CPU %d", cpus[i], side.CPU)
	}

	first := sides[0]
	v.Batches, v.RoundTrips = len(first.Batches), uint64(len(first.Batches))*first.RoundTripsPerBatch
	oneWay := make([]float64, len(first.Batches))
	for i, ns := range first.Batches {
		oneWay[i] = ns / 2
	}
	v.OneWay = result.Distribute(oneWay)
	v.NS, v.RoundTripNS = v.OneWay.Median, 2*v.OneWay.Median
	if v.Batches == 0 && !s.Partial {
		s.Doubt(result.Invalid, "no batch was completed: other programs use these CPUs")
	}
	s.Values = result.FiguresOf(&v)
	return s, nil
}
