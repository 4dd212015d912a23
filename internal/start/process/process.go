// Package process runs the work of C kernels in processes of gorun that begin at the same time.
package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/start/launch"
)

// Command is the command of gorun that calls Work.
const Command = "copy-work"

// Task is what one process does: it waits for the others, checks on which CPU it is, and works.
type Task struct {
	Name   string     // as errors call it
	CPUs   cpuset.Set // that it may use
	Checks uint64     // how often it checks its CPU
	Bound  bool       // the checks expect CPUs; otherwise the CPU of the check before

	Work       string // a name of csrc.Works; if it talks, there are two tasks
	Loops      uint64
	ArrayBytes uint64 // for sum
	Cold       bool   // for sum: filling the array, in fresh memory, is part of the work
	First      bool   // of two that talk: this one begins and measures
}

// Answer is what a process did.
type Answer struct {
	Checked csrc.ChecksResult
	Worked  csrc.WorkResult
	Used    linux.Usage // in checks and work
	Looked  int         // read-backs of its CPUs, before and after
	Strayed []string    // their mismatches
}

// Done is the result of all processes.
type Done struct {
	Answers    []Answer
	Start      time.Duration // common to all (CLOCK_MONOTONIC)
	Checked    int           // read-backs of their CPUs, before, during and after the work
	Mismatches []string      // the first differences
	Stopped    *float64      // seconds in which a signal had stopped one of them; nil: not known
}

// Run starts a process for each task, releases them when all are ready, and returns their answers. It calls ready, if there is one,
// with their PIDs before it releases them. When ctx ends they answer with their work so far; when one fails the others are ended too.
// All have ended when it returns.
func Run(ctx context.Context, self launch.Self, tasks []Task, ready func(pids []int) error) (done Done, err error) {
	of := make([]launch.Member, len(tasks))
	for i, t := range tasks {
		of[i] = launch.Member{Name: t.Name, Setting: placement.Setting{CPUs: t.CPUs}, Request: t}
	}
	if tasks[0].First {
		if err := connect(&of[0], &of[1]); err != nil {
			return done, err
		}
	}
	c, err := self.Start(ctx, Command, of)
	if err != nil {
		return done, err
	}
	if ready != nil {
		err = ready(c.PIDs)
	}
	if err == nil {
		c.Open()
	} else {
		c.Stop(err)
	}
	failed := c.Wait()
	if failed != nil && ctx.Err() != nil {
		failed = context.Cause(ctx)
	}
	if err = cmp.Or(err, failed); err != nil {
		return done, err
	}
	return done, done.take(c, tasks)
}

// connect gives two processes a pipe in each direction: the end that it reads, then the end that it writes.
func connect(a, b *launch.Member) error {
	fromB, toA, err := os.Pipe()
	if err != nil {
		return err
	}
	fromA, toB, err := os.Pipe()
	if err != nil {
		return errors.Join(err, fromB.Close(), toA.Close())
	}
	a.Files, b.Files = []*os.File{fromB, toB}, []*os.File{fromA, toA}
	return nil
}

// take takes the answers of the processes.
func (d *Done) take(c *launch.Shared, tasks []Task) error {
	o := c.Outcome
	d.Start, d.Checked, d.Mismatches, d.Stopped = c.Begun, o.Checked, o.Mismatches, o.StoppedSeconds
	for i, e := range o.Members {
		name := tasks[i].Name
		var a Answer
		if err := json.Unmarshal(e.Stdout, &a); err != nil {
			return fmt.Errorf("%s: cannot read its result: %w", name, err)
		}
		d.Answers, d.Checked = append(d.Answers, a), d.Checked+a.Looked
		for _, words := range a.Strayed {
			if words = name + ": " + words; !slices.Contains(d.Mismatches, words) { // the supervisor may report the same
				d.Mismatches = append(d.Mismatches, words)
			}
		}
	}
	return nil
}

// Work is the main function of a process of Run: it reads its task from in, and prints its answer to out.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	var t Task
	shared, err := launch.Join(in, &t)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, shared.Stop)() // stopped after the work: others may still be working
	work := csrc.WorkArgs{
		Work: t.Work, Loops: t.Loops, Cold: t.Cold, First: t.First, In: launch.FirstFD, Out: launch.FirstFD + 1, Shared: shared,
	}
	if work.Array, work.Words, err = array(t.ArrayBytes, t.Cold); err != nil {
		return err
	}
	checks := csrc.ChecksArgs{CPUs: cpuset.Max + 1, Checks: t.Checks, Shared: shared}
	if t.Bound {
		checks.Mask = t.CPUs.Words(t.CPUs.Last()/64 + 1)
	}
	own := placement.Compare(placement.Thread{TID: linux.Gettid(), Setting: placement.Setting{CPUs: t.CPUs}})
	var a Answer
	used := linux.CountUsage()
	if t.Checks > 0 {
		if a.Checked, err = csrc.Checks(checks); err != nil {
			return err
		}
	}
	if a.Worked, err = csrc.Work(work); err != nil {
		return err
	}
	if a.Used, err = used(); err != nil {
		return err
	}
	a.Looked, a.Strayed = own.End()
	return json.NewEncoder(out).Encode(a)
}

// array returns pre-faulted memory in whole words; nil for none. Fresh memory is not faulted in yet.
func array(bytes uint64, fresh bool) (p unsafe.Pointer, words uint64, err error) {
	const word = 8
	if bytes < word {
		return nil, 0, nil
	}
	area, err := linux.NewArea(linux.AreaOptions{Bytes: int(min(bytes, 1<<62)), Node: -1})
	if err == nil && !fresh {
		err = area.Touch()
	}
	if err != nil {
		return nil, 0, err
	}
	return area.Pointer(), bytes / word, nil
}

// UnknownL2 is the assumed size in bytes of an L2 cache whose size the kernel does not report.
const UnknownL2 = 1 << 20

// ArrayBytes returns the size of an array that was asked for. If that is 0, it is the size of the CPU's L2 cache, or UnknownL2. The
// warnings are those of topology.ReadCaches.
func ArrayBytes(asked uint64, root fs.FS, cpu int) (bytes uint64, warnings []string) {
	if asked > 0 {
		return asked, nil
	}
	caches, warnings := topology.ReadCaches(root, cpu)
	if i := slices.IndexFunc(caches, func(c topology.Cache) bool { return c.Level == 2 }); i >= 0 {
		bytes = caches[i].Bytes
	}
	return cmp.Or(bytes, UnknownL2), warnings
}
