// Package process runs groups of new gorun processes that begin their work at the same time.
package process

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"gorun/csrc"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/topology"
)

// Descriptors that a process inherits in addition to its standard files: the group's memory, then the files of its
// member.
const (
	sharedFD = 3
	// FirstFD is the first file of a member.
	FirstFD = 4
)

// Member is one process of a group.
type Member struct {
	child.Member
	CPUs cpuset.Set // confines the process before it is ready
}

// Done is the result of a group.
type Done[A any] struct {
	Answers    []A
	Start      time.Duration // common to all
	Checked    int           // read-backs of the members' CPUs, during and after the work
	Mismatches []string      // the first differences
}

// RunGroup starts the processes, releases them when all are ready, and returns their answers. It calls ready, if there is
// one, with their PIDs before it releases them. When ctx ends they answer with their work so far; when one fails the others are ended
// too. All have ended when it returns, and they also end if this process is killed.
func RunGroup[A any](ctx context.Context, self child.Self, command string, members []Member,
	ready func(pids []int) error,
) (done Done[A], err error) {
	file, err := linux.Memfd("gorun-shared", csrc.SharedBytes)
	if err != nil {
		return done, errors.Join(err, closeFiles(members))
	}
	memory, err := linux.MapShared(file, csrc.SharedBytes)
	if err != nil {
		return done, errors.Join(err, file.Close(), closeFiles(members))
	}
	shared := csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory)))
	started := make([]child.Member, len(members))
	for i, m := range members {
		started[i] = m.Member
		started[i].Files = append([]*os.File{file}, m.Files...)
	}
	g, err := self.Start(ctx, command, started, shared.Stop)
	err = errors.Join(err, file.Close(), closeFiles(members)) // so that only the processes hold the ends of the pipes
	if g != nil {
		if err == nil {
			err = done.measure(g, members, shared, ready)
		}
		g.End()
	}
	done.Start = time.Duration(shared.StartNS())
	return done, errors.Join(err, linux.UnmapShared(memory))
}

// measure releases the processes of a group when all are ready, and receives their answers. It watches them while they work.
func (d *Done[A]) measure(g *child.Group, members []Member, shared *csrc.Shared, ready func(pids []int) error) error {
	_, err := child.ReceiveAll[answered[A]](g)
	var answers []*answered[A]
	if err == nil {
		var threads []placement.Thread
		tids := g.TIDs()
		for i, pid := range g.PIDs() {
			threads = append(threads, placement.Process(pid, placement.Thread{
				Name: members[i].Name, TID: tids[i], Setting: placement.Setting{CPUs: members[i].CPUs},
			})...)
		}
		monitor := placement.Watch(threads...)
		if ready != nil {
			err = ready(g.PIDs())
		}
		if err == nil {
			shared.Open()
			answers, err = child.ReceiveAll[answered[A]](g)
		}
		d.add("", monitor.End)
	}
	if err != nil {
		g.Stop(err)
		return g.Cause()
	}
	d.Answers = make([]A, len(answers))
	for i, a := range answers {
		if a != nil {
			d.Answers[i] = a.Answer
			d.add(members[i].Name+": ", func() (int, []string) { return a.Checked, a.Mismatches })
		}
	}
	return nil
}

// add adds read-backs, with a prefix for their mismatches.
func (d *Done[A]) add(prefix string, read func() (checked int, mismatches []string)) {
	checked, mismatches := read()
	d.Checked += checked
	for _, words := range mismatches {
		if words = prefix + words; !slices.Contains(d.Mismatches, words) { // the member and this process may report the same mismatch
			d.Mismatches = append(d.Mismatches, words)
		}
	}
}

// answered is a member's answer: the result of its work, and its own read-backs before and after the work.
type answered[A any] struct {
	Answer     A        `json:"answer"`
	Checked    int      `json:"checked"`
	Mismatches []string `json:"mismatches,omitempty"`
}

// closeFiles closes this process's copies of the files that the members inherit.
func closeFiles(members []Member) error {
	var errs []error
	for _, m := range members {
		for _, f := range m.Files {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Serve is the main function of a group's process: it confines the process to its CPUs, prepares, reports that it is
// ready, and answers with the result of work.
func Serve[Q, A any](ctx context.Context, in io.Reader, out io.Writer, cpus func(Q) cpuset.Set, prepare func(Q) error,
	work func(Q, *csrc.Shared) (A, error),
) error {
	var shared *csrc.Shared
	var own *placement.Monitor
	return child.Serve(in, out, func(request Q) error {
		runtime.LockOSThread() // until the process ends
		memory, err := linux.MapShared(os.NewFile(sharedFD, "shared"), csrc.SharedBytes)
		if err != nil {
			return err
		}
		shared = csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory))) // mapped until the process ends
		setting := placement.Setting{CPUs: cpus(request)}
		if _, err := placement.Confine(setting.CPUs); err != nil { // until the process ends
			return err
		}
		if err := prepare(request); err != nil {
			return err
		}
		own = placement.Compare(placement.Thread{TID: linux.Gettid(), Setting: setting})
		return nil
	}, func(request Q) (a answered[A], err error) {
		defer context.AfterFunc(ctx, shared.Stop)() // stopped after the work: other members may still be working
		a.Answer, err = work(request, shared)
		a.Checked, a.Mismatches = own.End()
		return a, err
	})
}

// Array returns pre-faulted memory in whole words; nil for none. Fresh memory is not faulted in yet.
func Array(bytes uint64, fresh bool) (p unsafe.Pointer, words uint64, err error) {
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
