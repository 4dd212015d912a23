// Package subject places threads that are already running, and puts back what they had: those of a program, which is a process, with its
// descendants or without them, or the processes of a control group; or any threads of the machine.
package subject

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/perf"
)

// Who says which processes are the program. Exactly one of PID and Group is set.
type Who struct {
	PID      int    `json:"pid,omitempty"`
	Start    uint64 `json:"start,omitempty"`    // of the process, as that of linux.Task; 0: Find sets it
	Children bool   `json:"children,omitempty"` // also the descendants of the process
	Group    string `json:"group,omitempty"`    // directory of a control group; also the groups below it
}

// String names the program for people.
func (w Who) String() string {
	if w.Group != "" {
		return "control group " + w.Group
	}
	text := "process " + strconv.Itoa(w.PID)
	if w.Children {
		text += " and its descendants"
	}
	return text
}

// ErrEnded is the error of a program without processes.
var ErrEnded = errors.New("it has ended")

// Subject is a running program. It is not for concurrent use.
type Subject struct {
	Who
	processes map[int]*process // those of the last Processes
}

// process is one process of a program. Its directory in /proc stays open, so that it never is another process with the same PID.
type process struct {
	pid   int
	start uint64
	dir   *os.Root
}

// Find finds a program to look at it, also one that gorun may not place. The error of a process that has ended is ErrEnded.
func Find(w Who) (*Subject, error) {
	p := &Subject{Who: w, processes: map[int]*process{}}
	if w.Group != "" {
		return p, nil
	}
	of, err := openProcess(w.PID)
	switch {
	case linux.Gone(err):
		return nil, ErrEnded
	case err != nil:
		return nil, err
	case w.Start != 0 && w.Start != of.start:
		return nil, errors.Join(ErrEnded, of.dir.Close())
	}
	p.Start, p.processes[w.PID] = of.start, of
	return p, nil
}

// Open finds a program to place it. It refuses one that gorun must not touch.
func Open(w Who) (*Subject, error) {
	p, err := Find(w)
	if errors.Is(err, ErrEnded) && w.Start == 0 {
		err = fmt.Errorf("there is no process %d", w.PID)
	}
	if err != nil {
		return nil, err
	}
	pids, err := p.Processes()
	for _, pid := range pids {
		err = cmp.Or(err, p.mayPlace(pid))
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// Close closes the directories of the processes.
func (p *Subject) Close() error {
	var errs []error
	for pid, of := range p.processes {
		errs = append(errs, of.dir.Close())
		delete(p.processes, pid)
	}
	return errors.Join(errs...)
}

func openProcess(pid int) (*process, error) {
	dir, err := os.OpenRoot("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return nil, err
	}
	of := &process{pid: pid, dir: dir}
	t, err := linux.ReadProcess(sysfs.This(), pid)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	of.start = t.Start
	return of, nil
}

// initialPIDNamespace is the inode of the PID namespace of the machine itself (PROC_PID_INIT_INO, include/linux/proc_ns.h).
const initialPIDNamespace = 0xEFFFFFFC

// mayPlace returns an error for a process that gorun must not touch, or may not.
func (p *Subject) mayPlace(pid int) error {
	refuse := func(why string) error { return fmt.Errorf("process %d %s", pid, why) }
	switch namespace := linux.Inode("/proc/self/ns/pid"); {
	case pid == os.Getpid() && p.Group != "":
		return hint.With(errors.New("gorun itself is in it"), "name the group of the server alone")
	case pid == os.Getpid():
		return refuse("is gorun itself")
	case pid == 1 && (namespace == initialPIDNamespace || namespace == 0):
		return refuse("is the machine's first, on which all others depend")
	}
	t, err := linux.ReadTask(sysfs.This(), pid, pid)
	own := t.UID == uint32(os.Geteuid()) || t.EUID == uint32(os.Geteuid()) // as for sched_setaffinity(2)
	switch {
	case linux.Gone(err):
		return nil // the next pass does not find it
	case err != nil:
		return err
	case t.Kernel:
		return refuse("is a thread of the kernel")
	case !own && !linux.MayPlaceOthers(sysfs.This()):
		return hint.With(refuse("belongs to another user"), "run gorun as that user, or as root")
	}
	return nil
}

// Processes returns the PIDs of the program now, ascending. The error of a program that has none is ErrEnded.
func (p *Subject) Processes() ([]int, error) {
	pids, err := p.list()
	if err != nil {
		return nil, err
	}
	for pid, of := range p.processes {
		if !slices.Contains(pids, pid) {
			of.dir.Close()
			delete(p.processes, pid)
		}
	}
	known := pids[:0]
	for _, pid := range pids {
		if p.processes[pid] == nil {
			of, err := openProcess(pid)
			if linux.Gone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			p.processes[pid] = of
		}
		known = append(known, pid)
	}
	if len(known) == 0 {
		return nil, ErrEnded
	}
	return known, nil
}

// Shared returns a process that another program has too; 0: there is none.
func (p *Subject) Shared(with Who) (pid int, err error) {
	other, err := Find(with)
	if err != nil {
		return 0, err
	}
	defer other.Close()
	theirs, err := other.list()
	if errors.Is(err, ErrEnded) {
		return 0, nil
	}
	own, err := p.Processes()
	if err != nil {
		return 0, err
	}
	for _, pid := range own {
		if slices.Contains(theirs, pid) {
			return pid, nil
		}
	}
	return 0, nil
}

func (p *Subject) list() (pids []int, err error) {
	if p.Group != "" {
		pids, err = cgroup.Processes(sysfs.This(), p.groupName())
		if linux.Gone(err) {
			err = nil // a group that is gone has none
		}
		pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == 0 }) // of another PID namespace
	} else {
		first := p.processes[p.PID]
		if first == nil {
			return nil, ErrEnded
		}
		if tids, err := first.tids(2); err == nil && len(tids) == 0 {
			return nil, ErrEnded
		}
		if p.Children {
			pids, err = linux.DescendantsOf(p.PID, os.Getpid())
		}
		pids = append(pids, p.PID)
	}
	slices.Sort(pids)
	return slices.Compact(pids), err
}

// groupName returns the name of the control group in sysfs.This.
func (p *Subject) groupName() string { return strings.TrimPrefix(p.Group, "/") }

// threads calls visit for each thread of each process, until it returns an error.
func (p *Subject) threads(visit func(of *process, tid int) error) error {
	pids, err := p.Processes()
	if err != nil {
		return err
	}
	for _, pid := range pids {
		of := p.processes[pid]
		tids, err := of.tids(-1)
		if err != nil {
			return err
		}
		for _, tid := range tids {
			if err := visit(of, tid); err != nil && !linux.Gone(err) {
				return err
			}
		}
	}
	return nil
}

// everyThread calls visit once for each thread, in passes until one finds no new thread: threads that were started during a pass may have
// what their creator had. once: a single pass is enough. n is the number of threads.
func (p *Subject) everyThread(once bool, visit func(of *process, tid int) error) (n int, err error) {
	seen := map[int]bool{}
	for more := true; more && err == nil; more = more && !once {
		more = false
		err = p.threads(func(of *process, tid int) error {
			if seen[tid] {
				return nil
			}
			seen[tid], more = true, true
			return visit(of, tid)
		})
	}
	return len(seen), err
}

// tids returns threads of a process, at most this many, which are 2 or more, or −1 for all; none if it has ended.
func (of *process) tids(most int) (tids []int, err error) {
	dir, err := of.dir.Open("task")
	if linux.Gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(most)
	if linux.Gone(err) || errors.Is(err, io.EOF) {
		return nil, nil
	}
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil {
			tids = append(tids, tid)
		}
	}
	if len(tids) == 1 { // the last thread of a process that has ended stays until its parent has waited for it
		if t, err := linux.ReadTask(sysfs.This(), of.pid, tids[0]); linux.Gone(err) || err == nil && t.Ended {
			return nil, nil
		}
	}
	return tids, err
}

// CPUs returns the CPUs that the threads of a program may use; none: they are not known.
func (p *Subject) CPUs() (cpus cpuset.Set) {
	_ = p.threads(func(_ *process, tid int) error {
		mask, err := linux.GetAffinity(tid)
		if err == nil {
			cpus = cpus.Union(mask)
		}
		return nil
	})
	return cpus
}

// Used is the CPU time of a program until a moment, in seconds: of each of its processes, or of its control group.
type Used map[started]float64

// started identifies a process: another one that gets its PID later has another start.
type started struct {
	pid   int
	start uint64
}

// Used returns the CPU time of the processes that the last call of Processes has found: of a control group that counts it, also that of
// processes that have ended.
func (p *Subject) Used() (Used, error) {
	if p.Group != "" {
		seconds, err := cgroup.CPUSeconds(sysfs.This(), p.groupName())
		if err == nil || len(p.processes) == 0 {
			return Used{{}: seconds}, err
		}
	}
	all := Used{}
	for pid, of := range p.processes {
		used, err := linux.ProcessCPUTime(pid)
		if err != nil && !linux.Gone(err) {
			return nil, err
		}
		if err == nil {
			all[started{pid, of.start}] = used.Seconds()
		}
	}
	return all, nil
}

// Since returns the CPU time since another moment; nil: since the processes began. That of a process that has ended meanwhile is lost,
// and that of a new process counts as a whole.
func (u Used) Since(before Used) (seconds float64) {
	for p, now := range u {
		seconds += max(0, now-before[p])
	}
	return seconds
}

// Turns is what the threads of a program that live had of CPUs.
type Turns struct {
	Waited     float64 // seconds in which they could have run
	Count      float64
	Migrations *float64 // nil: not counted
}

// Turns reads those of all threads, 4 µs for each, and their migrations, 40 µs for each, if they are asked for; false on a kernel without
// CONFIG_SCHED_INFO.
func (p *Subject) Turns(migrations bool) (sum Turns, known bool) {
	root, moves := sysfs.This(), 0.0
	err := p.threads(func(of *process, tid int) error {
		t, err := linux.ReadTurns(root, fmt.Sprintf("proc/%d/task/%d/schedstat", of.pid, tid))
		if err != nil {
			return err
		}
		sum.Waited, sum.Count = sum.Waited+t.Waited, sum.Count+float64(t.Count)
		if migrations {
			n, err := perf.ThreadMigrations(tid)
			migrations, moves = err == nil, moves+float64(n)
		}
		return nil
	})
	if migrations {
		sum.Migrations = &moves
	}
	return sum, err == nil && sum.Count > 0
}
