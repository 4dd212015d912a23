// Package process measures what processes do that gorun starts for it, each fresh: two that run beside each other or
// talk to each other, and many that are bound to CPUs or not.
package process

import (
	"context"
	"errors"
	"io"
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
)

// The commands of gorun that are processes of a group: RunPairSide and RunBind.
const (
	PairCommand = "pair-side"
	BindCommand = "bind-process"
)

// What a process inherits in addition to its standard files.
const (
	sharedFD = 3
	inFD     = 4 // of a ping-pong's pipes
	outFD    = 5
)

// together starts the processes, lets them go when all are ready, and returns what they answer and the common start.
// It calls ready with their PIDs before they go. When ctx ends they answer with what they have done by then; when one
// fails the others are ended too. None is left when it returns, nor when this process is killed.
func together[A any](ctx context.Context, self child.Self, command string, members []child.Member,
	ready func(pids []int) error,
) ([]A, time.Duration, error) {
	file, err := linux.Memfd("gorun-shared", csrc.SharedBytes)
	if err != nil {
		return nil, 0, errors.Join(err, closeFiles(members))
	}
	memory, err := linux.MapShared(file, csrc.SharedBytes)
	if err != nil {
		return nil, 0, errors.Join(err, file.Close(), closeFiles(members))
	}
	shared := csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory)))
	started := slices.Clone(members)
	for i := range started {
		started[i].Files = append([]*os.File{file}, members[i].Files...)
	}
	g, err := self.Start(ctx, command, started, shared.Stop)
	err = errors.Join(err, file.Close(), closeFiles(members)) // a process holds its own ends of the pipes alone
	var answers []A
	if g != nil {
		if err == nil {
			answers, err = measured[A](g, shared, ready)
		}
		g.End()
	}
	return answers, time.Duration(shared.StartNS()), errors.Join(err, linux.UnmapShared(memory))
}

// measured lets the processes of a group go when all are ready, and returns their answers.
func measured[A any](g *child.Group, shared *csrc.Shared, ready func(pids []int) error) ([]A, error) {
	_, err := child.Hear[A](g)
	if err == nil {
		err = ready(g.PIDs())
	}
	var heard []*A
	if err == nil {
		shared.Open()
		heard, err = child.Hear[A](g)
	}
	if err != nil {
		g.Stop(err)
		return nil, g.Cause()
	}
	answers := make([]A, len(heard))
	for i, a := range heard {
		if a != nil {
			answers[i] = *a
		}
	}
	return answers, nil
}

// closeFiles closes the group's own copies of what the processes inherit.
func closeFiles(members []child.Member) error {
	var errs []error
	for _, m := range members {
		for _, f := range m.Files {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// serve is all that a process of a group does: it prepares, reports that it is ready, and answers with what work
// returns.
func serve[Q, A any](ctx context.Context, in io.Reader, out io.Writer, prepare func(Q) error,
	work func(Q, *csrc.Shared) (A, error),
) error {
	var shared *csrc.Shared
	return child.Serve(in, out, func(request Q) error {
		runtime.LockOSThread() // until the process ends
		memory, err := linux.MapShared(os.NewFile(sharedFD, "shared"), csrc.SharedBytes)
		if err != nil {
			return err
		}
		shared = csrc.SharedAt(unsafe.Pointer(unsafe.SliceData(memory))) // mapped until the process ends
		return prepare(request)
	}, func(request Q) (A, error) {
		defer context.AfterFunc(ctx, shared.Stop)() // no longer than that: at this process's end others may still work
		return work(request, shared)
	})
}

// confine lets this process run on these CPUs only, which is read back.
func confine(cpus cpuset.Set) error {
	_, err := placement.Confine(cpus) // until the process ends
	return err
}

// array is memory of so many whole words, which is there before it is used; nil for none.
func array(bytes uint64) (p unsafe.Pointer, words uint64, err error) {
	const word = 8
	if bytes < word {
		return nil, 0, nil
	}
	area, err := linux.NewArea(linux.AreaOptions{Bytes: int(min(bytes, 1<<62)), Node: -1})
	if err == nil {
		err = area.Touch()
	}
	if err != nil {
		return nil, 0, err
	}
	return area.Pointer(), bytes / word, nil
}
