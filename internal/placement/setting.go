package placement

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
)

// Setting is what a thread is given. The zero Setting asks for nothing and changes nothing. A thread that is started
// inherits its starter's setting, and execve(2) keeps it.
type Setting struct {
	CPUs          cpuset.Set      `json:"cpus"`                     // that it may run on; empty: not asked for
	Mempolicy     linux.Mempolicy `json:"mempolicy"`                // MempolicyDefault: not asked for
	Nodes         cpuset.Set      `json:"nodes"`                    // of the memory policy
	PreferredNode *int            `json:"preferred_node,omitempty"` // by prctl, which needs a patched kernel; -1: none
	Nice          *int            `json:"nice,omitempty"`
	Sched         *linux.Sched    `json:"sched,omitempty"`

	// Only what was read from a thread has these.
	allowed      cpuset.Set // the mask that gives CPUs back: those that are offline are in it too
	anyMempolicy bool       // MempolicyDefault is asked for too
}

// Mismatch is a difference between what was asked for and what the kernel answers.
type Mismatch struct {
	What       string // "CPUs", "nice", …
	Asked, Got string
}

func (m Mismatch) Error() string {
	return fmt.Sprintf("asked for %s %s, the kernel answers %[1]s %[3]s", m.What, m.Asked, m.Got)
}

// part is one thing that a Setting can ask for.
type part struct {
	flag, what string // its name among the flags, and in a Mismatch
	asked      func(s *Setting) bool
	text       func(s *Setting) string
	set        func(s *Setting, tid int) error
	has        func(s *Setting, tid int) (bool, error) // reports whether the thread is as s asks
	read       func(s *Setting, tid int) error         // makes s ask for what the thread has
}

// parts is everything that a Setting can ask for, in the order in which it is set and written.
var parts = [...]part{
	{
		flag: "cpus", what: "CPUs",
		asked: func(s *Setting) bool { return !s.CPUs.Empty() },
		text:  func(s *Setting) string { return s.CPUs.String() },
		set: func(s *Setting, tid int) error {
			if !s.allowed.Empty() {
				return linux.SetAffinity(tid, s.allowed)
			}
			return linux.SetAffinity(tid, s.CPUs)
		},
		has: func(s *Setting, tid int) (bool, error) { return linux.HasAffinity(tid, s.CPUs) },
		read: func(s *Setting, tid int) (err error) {
			s.CPUs, err = linux.GetAffinity(tid)
			if allowed, err := linux.AllowedCPUs(tid); err == nil { // else /proc is missing: the CPUs that are online must do
				s.allowed = allowed
			}
			return err
		},
	},
	{
		flag: "mempolicy", what: "memory policy",
		asked: func(s *Setting) bool { return s.anyMempolicy || s.Mempolicy != linux.MempolicyDefault },
		text:  func(s *Setting) string { return linux.FormatMempolicy(s.Mempolicy, s.Nodes) },
		set: func(s *Setting, tid int) error {
			if err := callingThread(tid); err != nil {
				return err
			}
			return linux.SetMempolicy(s.Mempolicy, s.Nodes)
		},
		has: func(s *Setting, tid int) (bool, error) {
			is, nodes, err := linux.GetMempolicy()
			return is == s.Mempolicy && nodes.Equal(s.Nodes), errors.Join(callingThread(tid), err)
		},
		read: func(s *Setting, tid int) (err error) {
			s.Mempolicy, s.Nodes, err = linux.GetMempolicy()
			s.anyMempolicy = true
			return errors.Join(callingThread(tid), err)
		},
	},
	{
		flag: "preferred-node", what: "preferred node",
		asked: func(s *Setting) bool { return s.PreferredNode != nil },
		text:  func(s *Setting) string { return strconv.Itoa(*s.PreferredNode) },
		set:   func(s *Setting, tid int) error { return linux.SetPreferredNode(tid, *s.PreferredNode) },
		has: func(s *Setting, tid int) (bool, error) {
			is, err := linux.PreferredNode(tid)
			return is == *s.PreferredNode, err
		},
		read: func(s *Setting, tid int) error {
			is, err := linux.PreferredNode(tid)
			s.PreferredNode = &is
			return err
		},
	},
	{
		flag: "nice", what: "nice",
		asked: func(s *Setting) bool { return s.Nice != nil },
		text:  func(s *Setting) string { return strconv.Itoa(*s.Nice) },
		set:   func(s *Setting, tid int) error { return linux.SetNice(tid, *s.Nice) },
		has: func(s *Setting, tid int) (bool, error) {
			is, err := linux.GetNice(tid)
			return is == *s.Nice, err
		},
		read: func(s *Setting, tid int) error {
			is, err := linux.GetNice(tid)
			s.Nice = &is
			return err
		},
	},
	{
		flag: "sched", what: "policy",
		asked: func(s *Setting) bool { return s.Sched != nil },
		text:  func(s *Setting) string { return s.Sched.String() },
		set:   func(s *Setting, tid int) error { return linux.SetSched(tid, *s.Sched) },
		has: func(s *Setting, tid int) (bool, error) {
			is, err := linux.GetSched(tid)
			return is == *s.Sched, err
		},
		read: func(s *Setting, tid int) error {
			is, err := linux.GetSched(tid)
			s.Sched = &is
			return err
		},
	},
}

// callingThread returns an error if the TID is another thread's, whose memory policy nobody else can reach.
func callingThread(tid int) error {
	if tid != 0 && tid != linux.Gettid() {
		return fmt.Errorf("thread %d: only a thread itself can set or read its memory policy: %w", tid, errors.ErrUnsupported)
	}
	return nil
}

// Asked returns how many things the setting asks for.
func (s *Setting) Asked() int {
	n := 0
	for i := range parts {
		if parts[i].asked(s) {
			n++
		}
	}
	return n
}

// Apply gives the setting to a thread; TID 0 is the calling one, which the goroutine must be locked to. It stops at the
// kernel's first refusal. Applying the returned setting puts back what was there before, as far as that was changed and
// the kernel allows it: it does not allow everybody to lower a nice value. A thread that cannot have it back should end
// with its goroutine.
func (s *Setting) Apply(tid int) (undo Setting, err error) {
	if undo, err = s.current(tid); err != nil {
		return Setting{}, err
	}
	return undo, s.set(tid)
}

// ReadBack returns how a thread differs from the setting; nil where it is as asked.
func (s *Setting) ReadBack(tid int) (mismatches []Mismatch, err error) {
	for i := range parts {
		p := &parts[i]
		if !p.asked(s) {
			continue
		}
		has, err := p.has(s, tid)
		if err != nil {
			return mismatches, err
		}
		if has {
			continue
		}
		var is Setting
		if err := p.read(&is, tid); err != nil {
			return mismatches, err
		}
		mismatches = append(mismatches, Mismatch{p.what, p.text(s), p.text(&is)})
	}
	return mismatches, nil
}

// String returns the setting in the words of the flags: "cpus 0-3, nice 5"; "none" where it asks for nothing.
func (s Setting) String() string {
	var words []string
	for i := range parts {
		if parts[i].asked(&s) {
			words = append(words, parts[i].flag+" "+parts[i].text(&s))
		}
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ", ")
}

// MempolicyFlag returns the memory policy as linux.ParseMempolicy reads it; "" where none is asked for.
func (s *Setting) MempolicyFlag() string {
	if s.Mempolicy == linux.MempolicyDefault {
		return ""
	}
	return linux.FormatMempolicy(s.Mempolicy, s.Nodes)
}

// current returns what a thread has of what the setting asks for.
func (s *Setting) current(tid int) (is Setting, err error) {
	for i := range parts {
		if parts[i].asked(s) && err == nil {
			err = parts[i].read(&is, tid)
		}
	}
	return is, err
}

func (s *Setting) set(tid int) error {
	for i := range parts {
		if parts[i].asked(s) {
			if err := parts[i].set(s, tid); err != nil {
				return err
			}
		}
	}
	return nil
}

// setMissing sets what the thread does not have.
func (s *Setting) setMissing(tid int) error {
	for i := range parts {
		if !parts[i].asked(s) {
			continue
		}
		has, err := parts[i].has(s, tid)
		if err == nil && !has {
			err = parts[i].set(s, tid)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place gives the setting to a thread and reads it back: a mismatch is an error. It allocates nothing where the kernel
// does as asked.
func (s *Setting) place(tid int) error {
	if err := s.set(tid); err != nil {
		return err
	}
	return s.verify(tid)
}

// Try gives the setting to a thread that is made for that and ends with it, and returns what the kernel refuses.
func (s *Setting) Try() error {
	tried := make(chan error)
	go func() {
		runtime.LockOSThread() // it ends locked
		tried <- s.place(0)
	}()
	return <-tried
}

func (s *Setting) verify(tid int) error {
	mismatches, err := s.ReadBack(tid)
	for _, m := range mismatches {
		err = errors.Join(err, m)
	}
	return err
}
