// Package process does built-in work in copies of gorun that begin at the same time.
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
	"runtime"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/topology"
)

// Command is the command of gorun that calls Work.
const Command = "copy-work"

// Descriptors of a copy in addition to its standard files: the memory that all share, then the ends of its pipes, if it talks to the
// other copy.
const (
	sharedFD = 3 + iota
	inFD
	outFD
)

// Task is what one copy does: it waits for the others, checks on which CPU it is, and works.
type Task struct {
	Name   string     // as errors call the copy
	CPUs   cpuset.Set // that it may use
	Checks uint64     // how often it checks its CPU
	Bound  bool       // the checks expect CPUs; otherwise the CPU of the check before

	Work       string // a name of csrc.Works; if it talks, there are two copies
	Loops      uint64
	ArrayBytes uint64 // for sum
	Cold       bool   // for sum: filling the array, in fresh memory, is part of the work
	First      bool   // of two that talk: this one begins and measures
}

// Answer is what a copy did.
type Answer struct {
	Checked csrc.ChecksResult
	Worked  csrc.WorkResult
	Used    linux.Usage // in checks and work
	Looked  int         // read-backs of its CPUs, before and after
	Strayed []string    // their mismatches
}

// Done is the result of all copies.
type Done struct {
	Answers    []Answer
	Start      time.Duration // common to all (CLOCK_MONOTONIC)
	Checked    int           // read-backs of their CPUs, before, during and after the work
	Mismatches []string      // the first differences
}

// Run starts a copy for each task, releases them when all are ready, and returns their answers. It calls ready, if there is one, with
// their PIDs before it releases them. When ctx ends they answer with their work so far; when one fails the others are ended too. All
// have ended when it returns, and they also end if this process is killed.
func Run(ctx context.Context, self child.Self, tasks []Task, ready func(pids []int) error) (done Done, err error) {
	if ctx.Err() != nil {
		return done, context.Cause(ctx)
	}
	memory, shared, file, err := share()
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, linux.UnmapShared(memory)) }()
	pids, ended := make(chan []int, 1), make(chan error, 1)
	files := []*os.File{file}
	closeFiles := func() {
		for _, f := range files {
			f.Close() // again, after a start
		}
	}
	defer closeFiles()
	command := launch.Command{Self: self, Keep: 4 << 20, InMemory: true, Together: true, Fixed: true}
	command.Started = func(all []int) {
		closeFiles() // so that a pipe ends with the copy that writes to it
		pids <- all
	}
	add := func(f *os.File, failed error) *os.File {
		if failed == nil {
			files = append(files, f)
		}
		err = cmp.Or(err, failed)
		return f
	}
	for _, t := range tasks {
		command.Copies = append(command.Copies, launch.Copy{
			Name: t.Name, Path: self.Path, Argv: self.Args(Command),
			Setting: launch.CommandSetting{Setting: placement.Setting{CPUs: t.CPUs}}, Stdin: add(request(t)), Files: []*os.File{file},
		})
	}
	if len(tasks) == 2 {
		for i := range tasks {
			from, to, failed := os.Pipe()
			in, out := &command.Copies[i], &command.Copies[1-i]
			in.Files, out.Files = slices.Insert(in.Files, 1, add(from, failed)), append(out.Files, add(to, failed))
		}
	}
	if err != nil {
		return done, err
	}
	working, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	go func() {
		o, err := launch.Run(working, command)
		ended <- cmp.Or(err, done.take(tasks, o))
	}()
	end := func(why error) {
		shared.Stop()
		time.AfterFunc(cmp.Or(self.Patience, child.Patience), func() { kill(why) })
	}
	defer context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })()
	var refused error
	if gathered(shared, len(tasks), ended, &err) {
		if ready != nil {
			refused = ready(<-pids)
		}
		if refused != nil {
			end(refused)
		} else {
			shared.Open()
		}
		err = <-ended
	}
	done.Start = time.Duration(shared.StartNS())
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return done, cmp.Or(refused, err)
}

// gathered waits until all copies are ready. If they end before, it returns false, and why.
func gathered(shared *csrc.Shared, copies int, ended <-chan error, why *error) bool {
	for shared.Waiting() < copies {
		select {
		case *why = <-ended:
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	return true
}

// share returns new memory for copies to share.
func share() (memory []byte, shared *csrc.Shared, file *os.File, err error) {
	if file, err = linux.Memfd("gorun-shared", csrc.SharedBytes); err != nil {
		return nil, nil, nil, err
	}
	if memory, err = linux.MapShared(file, csrc.SharedBytes); err != nil {
		return nil, nil, nil, errors.Join(err, file.Close())
	}
	return memory, csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory))), file, nil
}

// request returns a file from which a copy reads its task.
func request(t Task) (*os.File, error) {
	file, err := linux.Memfd("gorun-task", 0)
	if err != nil {
		return nil, err
	}
	err = json.NewEncoder(file).Encode(t)
	if _, failed := file.Seek(0, io.SeekStart); cmp.Or(err, failed) != nil {
		return nil, errors.Join(err, failed, file.Close())
	}
	return file, nil
}

// take reads the answers of the copies.
func (d *Done) take(tasks []Task, o launch.Outcome) error {
	d.Checked, d.Mismatches = o.Checked, o.Mismatches
	for i, e := range o.Copies {
		name := tasks[i].Name
		switch {
		case e.ExitCode != 0 && e.Late: // another one has failed
			continue
		case e.ExitCode != 0:
			return failure(name, e)
		}
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

// failure returns the error of a copy that failed.
func failure(name string, e launch.Ending) error {
	said, way := child.Said(string(e.Stderr))
	switch {
	case e.Signal != 0:
		return fmt.Errorf("%s ended before its time: %w", name, linux.NewKilled(os.DirFS("/"), e.KilledBy()))
	case said == "":
		return fmt.Errorf("%s ended before its time, with exit code %d", name, e.ExitCode)
	}
	return hint.With(fmt.Errorf("%s: %s", name, said), way)
}

// Work is the main function of a copy: it reads its task from in, and prints its answer to out. The process is quiet: no second thread
// runs Go code, and no garbage is collected.
func Work(ctx context.Context, in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(-1)
	runtime.LockOSThread() // until the process ends
	var t Task
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return fmt.Errorf("read the task: %w", err)
	}
	memory, err := linux.MapShared(os.NewFile(sharedFD, "shared"), csrc.SharedBytes) // mapped until the process ends
	if err != nil {
		return err
	}
	shared := csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory)))
	work := csrc.WorkArgs{Work: t.Work, Loops: t.Loops, Cold: t.Cold, First: t.First, In: inFD, Out: outFD, Shared: shared}
	if work.Array, work.Words, err = array(t.ArrayBytes, t.Cold); err != nil {
		return err
	}
	checks := csrc.ChecksArgs{CPUs: cpuset.Max + 1, Checks: t.Checks, Shared: shared}
	if t.Bound {
		checks.Mask = t.CPUs.Words(t.CPUs.Last()/64 + 1)
	}
	own := placement.Compare(placement.Thread{TID: linux.Gettid(), Setting: placement.Setting{CPUs: t.CPUs}})
	defer context.AfterFunc(ctx, shared.Stop)() // stopped after the work: other copies may still be working
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
