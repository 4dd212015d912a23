package subject

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
)

// Setting is what threads that run already are given: CPUs, nice value and policy, and the memory nodes of a cpuset, which bind as those
// of MempolicyBind do. Of what a Setting does not have, each thread keeps what it had when the program was saved.
type Setting struct {
	placement.Setting
	Without cpuset.Set `json:"without"`         // CPUs that are taken away from what each thread had
	Pages   bool       `json:"pages,omitempty"` // the pages that the program has follow the nodes
}

// mask returns the CPUs that the setting gives a thread which had some.
func (s Setting) mask(had cpuset.Set) cpuset.Set {
	if !s.CPUs.Empty() {
		return s.CPUs
	}
	return had.Minus(s.Without)
}

// String returns the setting in the words of the flags.
func (s Setting) String() string {
	var words []string
	if !s.CPUs.Empty() {
		words = append(words, "cpus "+s.CPUs.String())
	}
	if s.Nice != nil {
		words = append(words, fmt.Sprintf("nice %d", *s.Nice))
	}
	if s.Sched != nil {
		words = append(words, "sched "+s.Sched.String())
	}
	if !s.Nodes.Empty() {
		words = append(words, "mems "+s.Nodes.String())
	}
	if words == nil {
		return "as it was"
	}
	return strings.Join(words, ", ")
}

// Switcher gives a saved program one Setting after another.
type Switcher struct {
	*Subject
	// Learned is called when the state has changed, such as the CPUs that are online: the guardian then needs the new state.
	Learned func() error

	state *State
	group *groupSet // the cpuset that is written; nil: each thread's mask is
	now   Setting
}

// groupSet are the files of a cpuset (cpuset(7); cgroup-v2.rst, "Cpuset"). In version 2 there is none for migrate.
type groupSet struct{ cpus, nodes, migrate string }

func groupSetOf(dir string) *groupSet {
	return &groupSet{filepath.Join(dir, "cpuset.cpus"), filepath.Join(dir, "cpuset.mems"), filepath.Join(dir, "cpuset.memory_migrate")}
}

// files returns the paths in the order in which they are written.
func (g *groupSet) files() []string { return []string{g.migrate, g.cpus, g.nodes} }

// text returns what a setting writes into a file; "": nothing.
func (g *groupSet) text(path string, s Setting) string {
	switch {
	case path == g.cpus:
		return s.CPUs.String()
	case path == g.nodes:
		return s.Nodes.String()
	case s.Pages:
		return "1"
	}
	return ""
}

// NewSwitcher returns the switcher of a program, by the cpuset of its control group where that may be written, and else thread by
// thread. The settings are all that it will be given. It changes nothing yet.
func NewSwitcher(p *Subject, settings []Setting) (*Switcher, error) {
	s := &Switcher{Subject: p, Learned: func() error { return nil }}
	if p.Group != "" {
		s.group = openGroupSet(p.Group)
	}
	if s.group == nil && slices.ContainsFunc(settings, func(s Setting) bool { return !s.Nodes.Empty() }) {
		return nil, hint.With(errors.New("memory nodes are those of a cpuset, and the program has none that may be written"),
			"name its control group by --cgroup, as root")
	}
	var err error
	s.state, err = p.save(settings, s.group)
	return s, err
}

// openGroupSet returns the cpuset of a control group; nil: it has none that may be written. In version 1, that of a group with others below
// it must have all that theirs have (cpuset(7)).
func openGroupSet(dir string) *groupSet {
	g := groupSetOf(dir)
	below, _ := filepath.Glob(filepath.Join(dir, "*", "cpuset.memory_migrate"))
	if len(below) > 0 {
		return nil
	}
	for _, path := range []string{g.cpus, g.nodes} {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil
		}
		file.Close()
	}
	return g
}

// State returns what the program had.
func (s *Switcher) State() *State { return s.state }

// look notes which CPUs are online.
func (s *Switcher) look() error {
	if s.state.see(onlineCPUs()) {
		return s.Learned()
	}
	return nil
}

// Give gives the program a setting. It returns the number of threads, and the time from the first to the last change, in which
// some threads have the setting and others not yet. By a cpuset that is the time of one write.
func (s *Switcher) Give(to Setting) (threads int, took time.Duration, err error) {
	if err := s.look(); err != nil {
		return 0, 0, err
	}
	begun := linux.Monotonic()
	if s.group != nil {
		if err := s.writeGroup(to); err != nil {
			return 0, 0, err
		}
		took = linux.Monotonic() - begun
	}
	inherited := s.group != nil && to.Nice == nil && to.Sched == nil && s.now.Nice == nil && s.now.Sched == nil // by new threads
	threads, err = s.everyThread(inherited, func(of *process, tid int) error { return s.give(of, tid, to) })
	if err != nil {
		return threads, took, err
	}
	if s.group == nil {
		took = linux.Monotonic() - begun
	}
	s.now = to
	return threads, took, s.look()
}

// writeGroup writes the cpuset of a setting.
func (s *Switcher) writeGroup(to Setting) error {
	for _, file := range s.state.Files {
		text := s.group.text(file.Path, to)
		if text == "" {
			text = file.Before
		}
		if err := writeFile(file.Path, text); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file of a cpuset.
func writeFile(path, text string) error {
	err := os.WriteFile(path, []byte(text+"\n"), 0)
	if err != nil {
		err = hint.With(fmt.Errorf("write %q: %w", text, err),
			"the group above it must have these CPUs and nodes, and groups below it no others")
	}
	return err
}

// want returns what a thread is to have in a setting.
func (s *Switcher) want(of *process, tid int, to Setting) Thread {
	want := s.state.of(of.pid, tid)
	want.CPUs = to.mask(want.CPUs)
	if to.Nice != nil {
		want.Nice = *to.Nice
	}
	if to.Sched != nil {
		want.Sched = *to.Sched
	}
	return want
}

// give gives a thread a setting. Only what some setting of the run has is touched.
func (s *Switcher) give(of *process, tid int, to Setting) error {
	want := s.want(of, tid, to)
	if s.state.Masks && s.group == nil {
		if err := linux.SetAffinity(tid, want.CPUs); err != nil {
			return err
		}
	}
	if s.state.Scheds {
		if is, err := linux.GetSched(tid); err != nil || is != want.Sched {
			if err := errors.Join(err, linux.SetSched(tid, want.Sched)); err != nil {
				return err
			}
		}
	}
	if s.state.Nices {
		if is, err := linux.GetNice(tid); err != nil || is != want.Nice {
			return errors.Join(err, linux.SetNice(tid, want.Nice))
		}
	}
	return nil
}

// ReadBack returns the number of threads that were read, and what differs from the setting that was given last. It gives such a
// thread the setting, so that the next samples have it.
func (s *Switcher) ReadBack() (checked int, differs []string, err error) {
	if err := s.look(); err != nil {
		return 0, nil, err
	}
	online := onlineCPUs()
	err = s.threads(func(of *process, tid int) error {
		checked++
		difference, err := s.difference(of, tid, online)
		if err != nil || difference == "" {
			return err
		}
		differs = append(differs, fmt.Sprintf("thread %d has %s", tid, difference))
		return s.give(of, tid, s.now)
	})
	return checked, differs, err
}

// difference says what of a thread is not as it was given; "": nothing.
func (s *Switcher) difference(of *process, tid int, online cpuset.Set) (string, error) {
	want := s.want(of, tid, s.now)
	if s.state.Masks {
		is, err := linux.GetAffinity(tid)
		if err != nil {
			return "", err
		}
		as := is.Equal(want.CPUs) || is.Equal(want.CPUs.Intersect(online))
		if s.group != nil { // a thread may have a narrower mask of its own, which the kernel keeps
			as = s.now.CPUs.Empty() || is.Minus(s.now.CPUs).Empty()
		}
		if !as {
			return fmt.Sprintf("CPUs %v instead of %v", is, want.CPUs), nil
		}
	}
	if s.state.Nices {
		if is, err := linux.GetNice(tid); err != nil || is != want.Nice {
			return fmt.Sprintf("nice %d instead of %d", is, want.Nice), err
		}
	}
	if s.state.Scheds {
		if is, err := linux.GetSched(tid); err != nil || is != want.Sched {
			return fmt.Sprintf("policy %v instead of %v", is, want.Sched), err
		}
	}
	return "", nil
}

// How returns how a program is switched: "cpuset", by one write, or "threads", by the mask of each.
func How(w Who) string {
	if w.Group != "" && openGroupSet(w.Group) != nil {
		return byGroup
	}
	return byThread
}

const (
	byGroup  = "cpuset"
	byThread = "threads"
)
