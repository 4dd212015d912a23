package program

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"gorun/internal/cgroup"
	"gorun/internal/cpuset"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/sysfs"
)

// Saved is what a program had before it was switched, and what it may have been given since: enough to put everything back, by this
// process or by another one.
type Saved struct {
	Who
	Name    string   `json:"name"`    // of its first process
	Boot    string   `json:"boot"`    // of the machine: after another one, there is nothing to put back
	Owner   int      `json:"owner"`   // the PID of the gorun that switches it
	Threads []Thread `json:"threads"` // by PID and TID

	Allowed cpuset.Set `json:"allowed"` // the CPUs of the cpusets of its processes; without one, those of its threads
	Given   []Setting  `json:"given"`   // which it may have been given
	Files   []File     `json:"files,omitempty"`

	// What some of the settings have: nothing else of a thread is touched.
	Masks  bool `json:"masks"`
	Nices  bool `json:"nices"`
	Scheds bool `json:"scheds"`

	byTID map[int]Thread
	born  map[int]Thread // by PID, what threads that were started later are to have
	mixed map[int]bool   // by PID, whether its threads differed, so that the main thread's stands for them
}

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

// File is a file of a cpuset.
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

// Look returns what the threads of a program have.
func (p *Program) Look() (*Saved, error) { return p.save(nil, nil) }

// save records a program.
func (p *Program) save(settings []Setting, group *groupSet) (*Saved, error) {
	s := &Saved{Who: p.Who, Boot: BootID(), Owner: os.Getpid(), Given: settings}
	for _, g := range settings {
		s.Masks = s.Masks || !g.CPUs.Empty()
		s.Nices = s.Nices || g.Nice != nil
		s.Scheds = s.Scheds || g.Sched != nil
	}
	root := os.DirFS("/")
	whole := map[int]cpuset.Set{} // the cpuset, by PID
	known := map[int]bool{}
	for more := true; more; {
		more = false
		err := p.threads(func(of *process, tid int) error {
			if known[tid] {
				return nil
			}
			known[tid], more = true, true
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
	}
	slices.SortFunc(s.Threads, func(a, b Thread) int { return cmp.Or(a.PID-b.PID, a.TID-b.TID) })
	s.index()
	s.Name = s.Threads[0].Name
	if s.Allowed.Empty() {
		for _, t := range s.Threads {
			s.Allowed = s.Allowed.Union(t.CPUs)
		}
	}
	if group != nil {
		return s, s.saveGroup(group, settings)
	}
	return s, s.restorable()
}

// readThread reads a thread and its setting.
func readThread(pid, tid int) (Thread, error) {
	task, err := linux.ReadTask(os.DirFS("/"), pid, tid)
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
func (s *Saved) saveGroup(g *groupSet, settings []Setting) error {
	for _, path := range []string{g.migrate, g.cpus, g.nodes} {
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
	return s.restorable()
}

// index fills what is found by TID and by PID.
func (s *Saved) index() {
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
func (s *Saved) of(pid, tid int) Thread {
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
func (s *Saved) restorable() error {
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
func (s *Saved) autogrouped() error {
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

// PutBack gives each thread what it had, wherever it still has what it was given, and threads that were started since what of says. It
// returns, in words, what was left alone and what had to be guessed.
func (s *Saved) PutBack() (notes []string, err error) {
	if s.Boot != BootID() {
		return nil, nil
	}
	s.index()
	p, err := reopen(s.Who)
	if errors.Is(err, ErrEnded) && s.Group == "" {
		return nil, nil
	}
	var errs []error
	for _, f := range slices.Backward(s.Files) { // pages move back before they stay
		left, err := f.putBack()
		if err != nil && !linux.Gone(err) {
			errs = append(errs, err)
		}
		if left != "" {
			notes = append(notes, left)
		}
	}
	if p == nil {
		return notes, errors.Join(append(errs, err)...)
	}
	defer p.Close()
	own, guessed := map[int]bool{}, map[int]bool{}
	for again := true; again; { // threads that were started during a pass may have what their creator had
		again = false
		err := p.threads(func(of *process, tid int) error {
			is, err := readThread(of.pid, tid)
			if err != nil {
				return err
			}
			was, known := s.byTID[tid]
			if known = known && was.Start == is.Start; !known {
				was = s.of(of.pid, 0)
			}
			changed, foreign, err := s.putBackThread(is, was)
			again = again || changed
			if foreign {
				own[tid] = true
			}
			if changed && !known && s.mixed[of.pid] {
				guessed[tid] = true
			}
			return err
		})
		if err != nil && !errors.Is(err, ErrEnded) {
			errs = append(errs, err)
			break
		}
	}
	if len(own) > 0 {
		notes = append(notes, fmt.Sprintf("%d threads were left as they are: the program or somebody else has placed them meanwhile", len(own)))
	}
	if len(guessed) > 0 {
		notes = append(notes, fmt.Sprintf("%d threads that were started meanwhile have what the main thread of their process had: its threads differed", len(guessed)))
	}
	return notes, errors.Join(errs...)
}

// reopen finds a saved program, which may have ended.
func reopen(w Who) (*Program, error) {
	p := &Program{Who: w, processes: map[int]*process{}}
	if w.Group != "" {
		return p, nil
	}
	of, err := openProcess(w.PID)
	if linux.Gone(err) {
		return nil, ErrEnded
	}
	if err != nil {
		return nil, err
	}
	p.processes[w.PID] = of
	if of.start != w.Start {
		return nil, errors.Join(ErrEnded, p.Close())
	}
	return p, nil
}

// putBackThread gives a thread what it had. foreign: something has been set by the program itself.
func (s *Saved) putBackThread(is, was Thread) (changed, foreign bool, err error) {
	given := func(has func(Setting) bool) bool { return slices.ContainsFunc(s.Given, has) }
	var errs []error
	put := func(same, ours bool, set func() error) {
		switch {
		case same:
		case !ours:
			foreign = true
		default:
			changed = true
			errs = append(errs, set())
		}
	}
	if s.Masks {
		ours := given(func(g Setting) bool { return g.CPUs.Equal(is.CPUs) })
		if len(s.Files) > 0 { // before Linux 6.2, writing a cpuset took masks away from threads
			ours = was.Whole || !is.CPUs.Equal(was.CPUs)
		}
		same := is.CPUs.Equal(was.CPUs)
		put(same || was.Whole && len(s.Files) > 0, ours, func() error { return linux.SetAffinity(is.TID, was.mask()) })
		if same && was.Whole && len(s.Files) == 0 { // it may be a mask that a setting has
			errs = append(errs, linux.SetAffinity(is.TID, was.mask()))
		}
	}
	if s.Scheds {
		put(is.Sched == was.Sched, given(func(g Setting) bool { return g.Sched != nil && *g.Sched == is.Sched }),
			func() error { return linux.SetSched(is.TID, was.Sched) })
	}
	if s.Nices {
		put(is.Nice == was.Nice, given(func(g Setting) bool { return g.Nice != nil && *g.Nice == is.Nice }),
			func() error { return linux.SetNice(is.TID, was.Nice) })
	}
	return changed, foreign, errors.Join(errs...)
}

// putBack writes what a file had, unless somebody else has written it meanwhile.
func (f File) putBack() (left string, err error) {
	text, err := os.ReadFile(f.Path)
	if err != nil {
		return "", err
	}
	is := strings.TrimSpace(string(text))
	equal := func(text string) bool {
		a, errA := cpuset.Parse(is)
		b, errB := cpuset.Parse(text)
		return is == text || errA == nil && errB == nil && a.Equal(b)
	}
	switch {
	case equal(f.Before):
		return "", nil
	case !slices.ContainsFunc(f.Given, equal):
		return fmt.Sprintf("%s was left as it is, %q: somebody else has written it meanwhile", f.Path, is), nil
	}
	return "", writeFile(f.Path, f.Before)
}

// Write writes the state into a new file.
func (s *Saved) Write(path string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// ReadSaved reads the state in a file, which must be this user's: in a directory for all, somebody else may have written it.
func ReadSaved(path string) (*Saved, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || owner.Uid != uint32(os.Geteuid()) {
		return nil, fmt.Errorf("%s belongs to another user", path)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	s := &Saved{}
	if err := json.Unmarshal(text, s); err != nil || len(s.Threads) == 0 {
		return nil, errors.Join(fmt.Errorf("%s is no state of a program", path), err)
	}
	return s, nil
}
