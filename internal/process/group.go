// Package process runs groups of gorun's own processes, each fresh, that begin their work together.
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
	"gorun/internal/bytesize"
	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/placement"
	"gorun/internal/topology"
)

// What a process inherits in addition to its standard files: the group's memory, and then the files of its member.
const (
	sharedFD = 3
	// FirstFD is the first file of a member.
	FirstFD = 4
)

// Together starts the processes, lets them go when all are ready, and returns what they answer and the common start.
// It calls ready with their PIDs before they go. When ctx ends they answer with what they have done by then; when one
// fails the others are ended too. None is left when it returns, nor when this process is killed.
func Together[A any](ctx context.Context, self child.Self, command string, members []child.Member,
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

// Serve is all that a process of a group does: it prepares, reports that it is ready, and answers with what work
// returns.
func Serve[Q, A any](ctx context.Context, in io.Reader, out io.Writer, prepare func(Q) error,
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

// Confine lets this process run on these CPUs only, which is read back.
func Confine(cpus cpuset.Set) error {
	_, err := placement.Confine(cpus) // until the process ends
	return err
}

// Array returns memory of whole words, which is there before it is used; nil for none.
func Array(bytes uint64) (p unsafe.Pointer, words uint64, err error) {
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

// UnknownL2 stands for the bytes of a second-level cache whose size the kernel does not report.
const UnknownL2 = 1 << 20

// ArrayBytes returns the size that --array asks for: without it that of the second-level cache that a CPU has or shares,
// or UnknownL2.
func ArrayBytes(flag string, root fs.FS, cpu int) (uint64, error) {
	if flag == "" {
		caches, err := topology.ReadCaches(root, cpu)
		if i := slices.IndexFunc(caches, func(c topology.Cache) bool { return c.Level == 2 }); i >= 0 {
			return cmp.Or(caches[i].Bytes, UnknownL2), err
		}
		return UnknownL2, err
	}
	sizes, err := bytesize.ParseList(flag)
	if err == nil && len(sizes) != 1 {
		err = errors.New("one size is needed")
	}
	if err != nil {
		return 0, hint.Flag("array", flag, err)
	}
	return sizes[0], nil
}
