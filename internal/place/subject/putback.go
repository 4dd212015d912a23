package subject

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// PutBack gives each thread and each file what it had, wherever it still has what it was given, and threads that were started since
// what their process or its parent had. It returns, in words, what was left alone and what had to be guessed. What stays changed is
// an error: another call may find that it can be put back.
func (s *State) PutBack() (notes []string, err error) {
	if s.Boot != BootID() {
		return nil, nil
	}
	s.index()
	b := &putBack{State: s, online: onlineCPUs(), until: time.Now().Add(latePatience), done: map[int]uint64{}, guessed: map[int]bool{}}
	s.see(b.online)
	for _, f := range slices.Backward(s.Files) { // pages move back before they stay
		b.file(f)
	}
	b.errs = append(b.errs, b.own())
	if !s.byGroup() && s.Since > 0 {
		b.errs = append(b.errs, b.heirs())
	}
	if b.foreign > 0 {
		b.note("%d threads were left as they are: the program or somebody else has placed them meanwhile", b.foreign)
	}
	if len(b.guessed) > 0 {
		b.note("%d threads that were started meanwhile have what the main thread of their process had: its threads differed", len(b.guessed))
	}
	if !b.outside.Empty() {
		b.note("threads lack CPUs %v, which their control group does not have any more", b.outside)
	}
	if !b.missing.Empty() {
		b.errs = append(b.errs, hint.With(fmt.Errorf("threads lack CPUs %v, which are offline", b.missing),
			"when they are online again: "+restoreCommand))
	}
	return b.notes, errors.Join(b.errs...)
}

// latePatience is how long a cpuset is awaited to have the CPUs that are online.
const latePatience = 5 * time.Second

// byGroup reports whether the program is switched by the cpuset of its group.
func (s *State) byGroup() bool { return s.Group != "" && len(s.Files) > 0 }

// Settle puts everything back and removes the file of the state. What stays changed stays in the file.
func (s *State) Settle() (notes []string, err error) {
	if notes, err = s.PutBack(); err == nil {
		return notes, s.Drop()
	}
	if s.Path != "" {
		err = errors.Join(err, s.Keep()) // with the CPUs that are offline now
	}
	return notes, err
}

// putBack is one call of PutBack.
type putBack struct {
	*State
	online  cpuset.Set
	done    map[int]uint64 // starts, by TID, of the threads that need not be looked at again
	guessed map[int]bool   // by TID
	foreign int            // threads that somebody else has placed
	until   time.Time      // until then a cpuset may get CPUs that have come online
	missing cpuset.Set     // CPUs that threads do not have again, since they are offline
	outside cpuset.Set     // the same, since their cpuset lacks them
	notes   []string
	errs    []error
}

func (b *putBack) note(format string, args ...any) {
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
}

// file writes what a file had, unless somebody else has written it meanwhile, or it is gone.
func (b *putBack) file(f File) {
	text, err := os.ReadFile(f.Path)
	is := string(text)
	switch {
	case linux.Gone(err) || err == nil && f.has(is, f.Before):
		return
	case err == nil && !slices.ContainsFunc(f.Given, func(given string) bool { return f.has(is, given) }):
		b.note("%s was left as it is, %q: somebody else has written it meanwhile", f.Path, strings.TrimSpace(is))
		return
	case err == nil:
		err = writeFile(f.Path, f.Before)
	}
	if !linux.Gone(err) {
		b.errs = append(b.errs, err)
	}
}

// has reports whether a file that reads as a text has a value: that text, or the same CPUs.
func (File) has(text, value string) bool {
	text = strings.TrimSpace(text)
	a, errA := cpuset.Parse(text)
	b, errB := cpuset.Parse(value)
	return text == value || errA == nil && errB == nil && a.Equal(b)
}

// own puts back the threads of the program, also those that were started since, or those of the state if it is about no program.
func (b *putBack) own() error {
	each := b.each // without a program, only those
	if b.Who != (Who{}) {
		p, err := Find(b.Who)
		if errors.Is(err, ErrEnded) {
			return nil
		}
		if err != nil {
			return err
		}
		defer p.Close()
		each = p.threads
	}
	for again := true; again; { // threads that were started during a pass may have what their creator had
		again = false
		err := each(func(of *process, tid int) error {
			is, err := readThread(of.pid, tid)
			if err != nil {
				return err
			}
			if b.done[tid] == is.Start {
				return nil
			}
			was, known := b.byTID[tid]
			if known = known && was.Start == is.Start; !known && b.Who == (Who{}) {
				return nil // another thread, which has the TID now
			}
			if !known {
				was = b.of(of.pid, 0)
			}
			changed, err := b.thread(is, was)
			if again = again || changed; changed && !known && b.mixed[of.pid] {
				b.guessed[tid] = true
			}
			return err
		})
		if err != nil && !errors.Is(err, ErrEnded) {
			return err
		}
	}
	return nil
}

// each calls visit for each thread of the state.
func (b *putBack) each(visit func(of *process, tid int) error) error {
	var errs []error
	for _, t := range b.Threads {
		if err := visit(&process{pid: t.PID}, t.TID); err != nil && !linux.Gone(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// heirs puts back the threads that are no part of the program but were started by one of its processes since, and so have inherited what
// that was given: children of a process that was named without them, or of a process that was moved off a CPU.
func (b *putBack) heirs() error {
	known := func(t linux.Task) (was Thread, is bool) {
		if was, is = b.born[t.PID]; !is {
			was, is = b.born[t.Parent]
		}
		return was, is
	}
	for pid := range b.born {
		is, err := linux.ReadTask(os.DirFS("/"), pid, pid)
		if main, known := b.byTID[pid]; err != nil || known && main.Start != is.Start {
			delete(b.born, pid) // it has ended, and has no children; another process may have its number
		}
	}
	if len(b.born) == 0 {
		return nil
	}
	var errs []error
	for more := true; more; {
		more = false
		err := linux.ProcessTasks(os.DirFS("/"), func(t linux.Task) {
			was, is := known(t)
			if !is || t.Start < b.Since || b.done[t.TID] == t.Start || b.byTID[t.TID].Start == t.Start {
				return
			}
			if has, err := readThread(t.PID, t.TID); err == nil && has.Start == t.Start {
				alone := *b
				changed, err := alone.thread(has, was) // what differs is none of ours: it is not counted
				if b.missing, b.outside = alone.missing, alone.outside; changed {
					b.born[t.PID], more = was, true // its own children are next
				}
				if !linux.Gone(err) {
					errs = append(errs, err)
				}
			}
			b.done[t.TID] = t.Start
		})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// thread gives a thread what it had. What somebody else has set is left alone, and counted.
func (b *putBack) thread(is, was Thread) (changed bool, err error) {
	given := func(has func(Setting) bool) bool { return slices.ContainsFunc(b.Given, has) }
	foreign := false
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
	if b.Masks {
		same, ours := is.CPUs.Equal(was.CPUs), b.gave(is, was)
		if b.byGroup() { // before Linux 6.2, writing a cpuset took masks away from threads
			same, ours = same || was.Whole, !same
		}
		put(same, ours, func() error { return b.mask(is, was) })
		if same && was.Whole && !b.byGroup() { // it may be a mask that a setting has
			errs = append(errs, b.mask(is, was))
		}
	}
	if b.Scheds {
		put(is.Sched == was.Sched, given(func(g Setting) bool { return g.Sched != nil && *g.Sched == is.Sched }),
			func() error { return linux.SetSched(is.TID, was.Sched) })
	}
	if b.Nices {
		put(is.Nice == was.Nice, given(func(g Setting) bool { return g.Nice != nil && *g.Nice == is.Nice }),
			func() error { return linux.SetNice(is.TID, was.Nice) })
	}
	if foreign {
		b.foreign++
	}
	if err = errors.Join(errs...); foreign || changed && err == nil {
		b.done[is.TID] = is.Start // once is enough, also where a CPU is missing
	}
	return changed, err
}

// PlacedByOthers returns the number of threads that have neither what they were given nor what they had.
func (s *State) PlacedByOthers(threads []Thread) (n int) {
	for _, was := range threads {
		is, err := linux.ReadTask(os.DirFS("/"), was.PID, was.TID)
		if err == nil && is.Start == was.Start && !is.CPUs.Equal(was.CPUs) && !s.gave(Thread{PID: is.PID, CPUs: is.CPUs}, was) {
			n++
		}
	}
	return n
}

// gave reports whether a thread has a mask that it was given, or what the kernel makes of one: it keeps the CPUs that are online when the mask
// is set, or where the thread's cpuset follows. A thread whose last CPU goes offline is given all of its cpuset, or all that there are
// (select_fallback_rq, kernel/sched/core.c).
func (s *State) gave(is, was Thread) bool {
	all := []cpuset.Set{was.CPUs} // which it may have been given again while a CPU was offline
	for _, g := range s.Given {
		all = append(all, g.mask(was.CPUs))
	}
	for _, given := range all {
		if is.CPUs.Equal(given) {
			return true
		}
		for _, online := range s.Online {
			kept := given.Intersect(online)
			if !kept.Empty() && is.CPUs.Intersect(online).Equal(kept) && is.CPUs.Minus(given).Empty() || kept.Empty() && s.fallback(is, online) {
				return true
			}
		}
	}
	return false
}

// fallback reports whether a thread has the mask that the kernel gives one without a CPU.
func (s *State) fallback(is Thread, online cpuset.Set) bool {
	group, err := cgroup.CPUsOf(os.DirFS("/"), is.PID)
	return online.Minus(is.CPUs).Empty() || err == nil && is.CPUs.Intersect(online).Equal(group.Intersect(online))
}

// mask gives a thread its CPUs again. Of those that are offline some kernels keep nothing (cpuset_cpus_allowed, kernel/cgroup/cpuset.c,
// before Linux 6.3). Those that were offline from the beginning are not missed. Cpusets have a CPU only some time after it is online
// (cpuset_hotplug_workfn).
func (b *putBack) mask(is, was Thread) error {
	for ; ; time.Sleep(10 * time.Millisecond) {
		if err := linux.SetAffinity(is.TID, was.mask()); err != nil {
			return err
		}
		has, err := linux.GetAffinity(is.TID)
		lacks := was.CPUs.Intersect(b.Online[0]).Minus(has)
		if err != nil || lacks.Empty() {
			return err
		}
		b.online = onlineCPUs()
		if late := lacks.Intersect(b.online); !late.Empty() && time.Now().Before(b.until) {
			continue
		}
		after, err := linux.ReadTask(os.DirFS("/"), is.PID, is.TID)
		if err == nil { // offline CPUs that the thread keeps are in its mask
			lacks = lacks.Minus(after.CPUs)
			b.missing, b.outside = b.missing.Union(lacks.Minus(b.online)), b.outside.Union(lacks.Intersect(b.online))
		}
		return err
	}
}
