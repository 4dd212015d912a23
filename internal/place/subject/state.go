package subject

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
)

// State is what threads and files of the kernel had before gorun changed them, and what they may have been given since: enough to put
// everything back, by this process or by another one.
type State struct {
	Path       string  `json:"path,omitempty"` // of the file with the state; "": there is none
	Who                // the program; the zero value: only the threads themselves are meant
	For        string  `json:"for,omitempty"` // what is changed, where it is no program
	Name       string  `json:"name"`          // of the program's first process
	Boot       string  `json:"boot"`          // of the machine: after another one, there is nothing to put back
	Owner      int     `json:"owner"`         // the PID of the gorun that changes it
	OwnerStart uint64  `json:"owner_start"`   // as of linux.Task; 0: an older gorun has written the state
	Namespace  uint64  `json:"pid_namespace"` // the inode of that of the owner, in which the numbers of processes count; 0: not known
	Threads    Threads `json:"threads"`
	Files      []File  `json:"files,omitempty"`

	// Longest is the longest time in which something stays as it was given; 0: there is no such time. A gorun that is stopped by a signal for
	// longer leaves it changed.
	Longest time.Duration `json:"longest,omitempty"`

	Since   uint64       `json:"since"`   // clock ticks after boot: threads that started later may have inherited a setting
	Online  []cpuset.Set `json:"online"`  // the CPUs that were online, first when this was saved, and then after each change that was seen
	Allowed cpuset.Set   `json:"allowed"` // the CPUs of the cpusets of its processes; without one, those of its threads
	Given   []Setting    `json:"given"`   // which it may have been given

	// What some of the settings have: nothing else of a thread is touched.
	Masks  bool `json:"masks"`
	Nices  bool `json:"nices"`
	Scheds bool `json:"scheds"`

	byTID map[int]Thread
	born  map[int]Thread // by PID, what threads that were started later are to have
	mixed map[int]bool   // by PID, whether its threads differed, so that the main thread's stands for them
}

// Threads are sorted by PID and TID.
type Threads []Thread

// Thread is a thread and its setting.
type Thread struct {
	PID   int         `json:"pid"`
	TID   int         `json:"tid"`
	Start uint64      `json:"start"` // of linux.Task: no other thread has the TID and this
	Name  string      `json:"name"`
	CPUs  cpuset.Set  `json:"cpus"`
	Nice  int         `json:"nice"`
	Sched linux.Sched `json:"sched"`
	// Whole: the mask was that of its cpuset. It is put back as all CPUs, since a mask that is written as it was read does not follow
	// a cpuset that becomes wider later.
	Whole bool `json:"whole,omitempty"`
}

// mask returns the mask with which the thread has its CPUs again.
func (t Thread) mask() cpuset.Set {
	if t.Whole {
		return everyCPU()
	}
	return t.CPUs
}

// everyCPU is the mask of all CPUs that any machine can have. To make it for each thread would take seconds.
var everyCPU = sync.OnceValue(func() cpuset.Set { return cpuset.Range(0, cpuset.Max) })

// same reports whether two threads have the same setting.
func (t Thread) same(o Thread) bool {
	return t.CPUs.Equal(o.CPUs) && t.Nice == o.Nice && t.Sched == o.Sched && t.Whole == o.Whole
}

// File is a file of the kernel: of a cpuset, of an interrupt, or a number such as a sysctl.
type File struct {
	Path   string   `json:"path"`
	Before string   `json:"before"`
	Given  []string `json:"given"` // what may have been written into it
}

// BootID returns what identifies the time since the machine's last start.
func BootID() string {
	id, _ := sysfs.ReadString(os.DirFS("/"), "proc/sys/kernel/random/boot_id") // without it, all boots are the same
	return id
}

// namespace returns the inode of the PID namespace of this process.
func namespace() uint64 { return linux.Inode("/proc/self/ns/pid") }

// New returns the state of what has not been changed yet. what names it, where it is no program.
func New(who Who, what string, given ...Setting) *State {
	s := &State{Who: who, For: what, Boot: BootID(), Owner: os.Getpid(), Namespace: namespace(), Since: linux.BootTicks(), Given: given}
	if own, err := linux.ReadTask(os.DirFS("/"), s.Owner, s.Owner); err == nil {
		s.OwnerStart = own.Start
	}
	s.see(onlineCPUs())
	for _, g := range given {
		s.Masks = s.Masks || !g.CPUs.Empty() || !g.Without.Empty()
		s.Nices = s.Nices || g.Nice != nil
		s.Scheds = s.Scheds || g.Sched != nil
	}
	return s
}

// onlineCPUs returns the CPUs that are online. Those that are not may be in masks, but the kernel does not show them to sched_getaffinity(2).
func onlineCPUs() cpuset.Set {
	cpus, _ := linux.ReadCPUList("/sys/devices/system/cpu/online") // empty: not known
	return cpus
}

// see notes which CPUs are online, and reports whether these were others before.
func (s *State) see(online cpuset.Set) (changed bool) {
	if slices.ContainsFunc(s.Online, online.Equal) {
		return false
	}
	s.Online = append(s.Online, online)
	return true
}

// Look returns what the threads of a program have.
func (p *Subject) Look() (*State, error) { return p.save(nil, nil) }

// save records a program.
func (p *Subject) save(settings []Setting, group *groupSet) (*State, error) {
	s := New(p.Who, "", settings...)
	root := os.DirFS("/")
	whole := map[int]cpuset.Set{} // the cpuset, by PID
	_, err := p.everyThread(false, func(of *process, tid int) error {
		if _, read := whole[of.pid]; !read {
			whole[of.pid], _ = cgroup.CPUsOf(root, of.pid) // without it, masks are put back as they were read
			s.Allowed = s.Allowed.Union(whole[of.pid])
		}
		t, err := readThread(of.pid, tid)
		if err != nil {
			return err
		}
		t.Whole = t.CPUs.Equal(whole[of.pid])
		s.Threads = append(s.Threads, t)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.index()
	s.Name = s.Threads[0].Name
	if s.Allowed.Empty() {
		for _, t := range s.Threads {
			s.Allowed = s.Allowed.Union(t.CPUs)
		}
	}
	if group != nil {
		if err := s.saveGroup(group, settings); err != nil {
			return s, err
		}
	}
	return s, s.restorable()
}

// readThread reads a thread and its setting. The error of one that has ended is linux.Gone.
func readThread(pid, tid int) (Thread, error) {
	task, err := linux.ReadTask(os.DirFS("/"), pid, tid)
	if err == nil && task.Ended {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Thread{}, err
	}
	t := Thread{PID: pid, TID: tid, Start: task.Start, Name: task.Name, CPUs: task.CPUs}
	if t.Nice, err = linux.GetNice(tid); err != nil {
		return t, err
	}
	t.Sched, err = linux.GetSched(tid)
	return t, err
}

// saveGroup records the files of a cpuset that the settings change.
func (s *State) saveGroup(g *groupSet, settings []Setting) error {
	for _, path := range g.files() {
		f := File{Path: path}
		for _, setting := range settings {
			if text := g.text(path, setting); text != "" {
				f.Given = append(f.Given, text)
			}
		}
		if len(f.Given) == 0 {
			continue
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && path == g.migrate {
			continue // version 2 always moves pages
		}
		if err != nil {
			return err
		}
		f.Before = strings.TrimSpace(string(text))
		s.Files = append(s.Files, f)
	}
	return nil
}

// index sorts the threads, and fills what is found by TID and by PID.
func (s *State) index() {
	slices.SortFunc(s.Threads, func(a, b Thread) int { return cmp.Or(a.PID-b.PID, a.TID-b.TID) })
	s.byTID, s.born, s.mixed = map[int]Thread{}, map[int]Thread{}, map[int]bool{}
	for _, t := range s.Threads {
		s.byTID[t.TID] = t
		if first, known := s.born[t.PID]; known && !first.same(t) {
			s.mixed[t.PID] = true
		}
		if _, known := s.born[t.PID]; !known || t.TID == t.PID {
			s.born[t.PID] = t // the main thread's
		}
	}
}

// of returns what a thread had, or what one that was started later is to have: what all threads of its process had, or, if those
// differed, what the main thread had. A process that was started later is to have what the first one had.
func (s *State) of(pid, tid int) Thread {
	if t, known := s.byTID[tid]; known && t.PID == pid {
		return t
	}
	t, known := s.born[pid]
	if !known {
		t = s.born[s.Threads[0].PID]
	}
	return t
}

// restorable returns an error if a setting would be void, or could not be put back.
func (s *State) restorable() error {
	if s.Nices {
		if err := s.autogrouped(); err != nil {
			return err
		}
	}
	if linux.MayPlaceOthers(os.DirFS("/")) {
		return nil
	}
	for _, t := range s.Threads {
		lowest := linux.LowestNice(os.DirFS("/"), t.PID)
		for _, g := range s.Given {
			switch {
			case g.Nice != nil && *g.Nice > t.Nice && t.Nice < lowest:
				return unrestorable("nice", strconv.Itoa(*g.Nice), strconv.Itoa(t.Nice))
			case g.Sched != nil && g.Sched.Policy == linux.SchedIdle && t.Sched.Policy != linux.SchedIdle && t.Nice < lowest:
				return unrestorable("policy", g.Sched.String(), t.Sched.String())
			case s.Scheds && t.Sched.Priority > 0:
				return unrestorable("policy", "another one", t.Sched.String())
			}
		}
	}
	return nil
}

func unrestorable(what, from, to string) error {
	return hint.With(fmt.Errorf("the %s of the program could not be put back from %s to %s", what, from, to),
		"that needs CAP_SYS_NICE (root), or RLIMIT_NICE of the program (LimitNICE= in its unit)")
}

// autogrouped returns an error if nice values say nothing about the program's share of a CPU: with autogroup, they count only between
// the threads of one session (sched(7), "The autogroup feature"), unless it is in a cgroup of the controller cpu.
func (s *State) autogrouped() error {
	root := os.DirFS("/")
	if on, err := sysfs.ReadInt(root, "proc/sys/kernel/sched_autogroup_enabled"); err != nil || on == 0 {
		return nil
	}
	for _, t := range s.Threads {
		if grouped, err := cgroup.InRoot(root, t.PID, "cpu"); err != nil || !grouped {
			continue
		}
		return hint.With(errors.New("a nice value would have no effect on programs of other sessions: autogroup is on"),
			"as root: sysctl kernel.sched_autogroup_enabled=0")
	}
	return nil
}
