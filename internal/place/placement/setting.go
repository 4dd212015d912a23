package placement

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// Setting is what a thread, or each thread of a program, is to have. The zero Setting changes nothing. A new thread inherits
// the setting of the thread that starts it, and execve(2) keeps it.
type Setting struct {
	CPUs          cpuset.Set      `json:"cpus"`                     // that it may run on; empty: not requested
	Mempolicy     linux.Mempolicy `json:"mempolicy"`                // MempolicyDefault: not requested
	Nodes         cpuset.Set      `json:"nodes"`                    // of the memory policy
	PreferredNode *int            `json:"preferred_node,omitempty"` // by prctl, which needs a patched kernel; -1: none
	Nice          *int            `json:"nice,omitempty"`
	Sched         *linux.Sched    `json:"sched,omitempty"`

	// GOMAXPROCS is that of a program, in the environment in which it is started; 0: not requested.
	GOMAXPROCS int `json:"gomaxprocs,omitempty"`

	allowed cpuset.Set // if the Setting was read from a thread: the mask for restoring CPUs, including offline ones
}

// Mismatch is a difference between the request and the kernel's answer.
type Mismatch struct {
	What       string // "CPUs", "nice", …
	Asked, Got string
}

func (m Mismatch) Error() string {
	return fmt.Sprintf("asked for %s %s, the kernel answers %[1]s %[3]s", m.What, m.Asked, m.Got)
}

// part is one property of a thread that a Setting can request.
type part struct {
	flag, what string // its name as a flag, and in a Mismatch
	asked      func(s *Setting) bool
	text       func(s *Setting) string
	set        func(s *Setting, tid int) error
	has        func(s *Setting, tid int) (bool, error) // reports whether the thread has the value of s
	read       func(s *Setting, tid int) error         // sets s to the thread's value
}

// parts lists all properties of a thread, in the order in which they are set and written.
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
			if allowed, err := linux.AllowedCPUs(tid); err == nil { // otherwise only online CPUs are restored
				s.allowed = allowed
			}
			return err
		},
	},
	{
		flag: "mempolicy", what: "memory policy",
		asked: func(s *Setting) bool { return s.Mempolicy != linux.MempolicyDefault },
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
		read: func(s *Setting, _ int) (err error) {
			s.Mempolicy, s.Nodes, err = linux.GetMempolicy()
			return err
		},
	},
	single("preferred-node", "preferred node", func(s *Setting) **int { return &s.PreferredNode }, linux.PreferredNode,
		linux.SetPreferredNode),
	single("nice", "nice", func(s *Setting) **int { return &s.Nice }, linux.GetNice, linux.SetNice),
	single("sched", "policy", func(s *Setting) **linux.Sched { return &s.Sched }, linux.GetSched, linux.SetSched),
}

// single is a part with one value, which is nil if it is not requested.
func single[T comparable](flag, what string, of func(*Setting) **T, get func(tid int) (T, error), set func(int, T) error) part {
	return part{
		flag: flag, what: what,
		asked: func(s *Setting) bool { return *of(s) != nil },
		text:  func(s *Setting) string { return fmt.Sprint(**of(s)) },
		set:   func(s *Setting, tid int) error { return set(tid, **of(s)) },
		has: func(s *Setting, tid int) (bool, error) {
			is, err := get(tid)
			return is == **of(s), err
		},
		read: func(s *Setting, tid int) error {
			is, err := get(tid)
			*of(s) = &is
			return err
		},
	}
}

// callingThread returns an error if the TID is another thread's, since only that thread can use its memory policy.
func callingThread(tid int) error {
	if tid != 0 && tid != linux.Gettid() {
		return fmt.Errorf("thread %d: only a thread itself can set or read its memory policy: %w", tid, errors.ErrUnsupported)
	}
	return nil
}

// Asked returns the number of properties of a thread that the setting requests.
func (s *Setting) Asked() int {
	n := 0
	for i := range parts {
		if parts[i].asked(s) {
			n++
		}
	}
	return n
}

// Apply applies the setting to a thread; TID 0 is the calling thread, to which the goroutine must be locked. It stops at the
// kernel's first refusal. A thread that is not to keep the setting should end with its goroutine.
func (s *Setting) Apply(tid int) error {
	for i := range parts {
		if parts[i].asked(s) {
			if err := parts[i].set(s, tid); err != nil {
				return err
			}
		}
	}
	return nil
}

// Give gives the calling thread, to which the goroutine must be locked, the properties that it does not have yet, and reads each
// back. An error means that the kernel refused one; a mismatch, that it accepted one and did not apply it.
func (s *Setting) Give() (checked int, mismatches []string, err error) {
	if err := s.setMissing(0); err != nil {
		return 0, nil, err
	}
	differences, err := s.ReadBack(0)
	for _, m := range differences {
		mismatches = append(mismatches, m.Error())
	}
	return s.Asked(), mismatches, err
}

// ReadBack returns the differences between a thread and the setting; nil if there are none.
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

// Flag is a requested property as a flag of the command line.
type Flag struct{ Name, Value string }

// Flags returns what the setting requests as the flags of `gorun exec`.
func (s *Setting) Flags() (flags []Flag) {
	for i := range parts {
		if parts[i].asked(s) {
			flags = append(flags, Flag{parts[i].flag, parts[i].text(s)})
		}
	}
	if s.GOMAXPROCS > 0 {
		flags = append(flags, Flag{"gomaxprocs", strconv.Itoa(s.GOMAXPROCS)})
	}
	return flags
}

// String returns the setting in the words of the flags: "cpus 0-3, nice 5"; "none" if it requests nothing.
func (s Setting) String() string {
	var words []string
	for _, f := range s.Flags() {
		words = append(words, f.Name+" "+f.Value)
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ", ")
}

// MempolicyFlag returns the memory policy in the form of linux.ParseMempolicy; "" if none is requested.
func (s *Setting) MempolicyFlag() string {
	if s.Mempolicy == linux.MempolicyDefault {
		return ""
	}
	return linux.FormatMempolicy(s.Mempolicy, s.Nodes)
}

// current returns a thread's values of the properties that the setting requests.
func (s *Setting) current(tid int) (is Setting, err error) {
	for i := range parts {
		if parts[i].asked(s) && err == nil {
			err = parts[i].read(&is, tid)
		}
	}
	return is, err
}

// setMissing sets the properties in which the thread differs.
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

// place applies the setting to a thread and reads it back: a mismatch is an error. It allocates nothing if there is
// none.
func (s *Setting) place(tid int) error {
	if err := s.Apply(tid); err != nil {
		return err
	}
	return s.verify(tid)
}

// Try applies the setting to a temporary thread, and returns the kernel's refusal.
func (s *Setting) Try() error { return OnThread(func() error { return s.place(0) }) }

// OnThread does work on a new thread, which ends with its settings when the work is done.
func OnThread(work func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // without an unlock
		done <- work()
	}()
	return <-done
}

func (s *Setting) verify(tid int) error {
	mismatches, err := s.ReadBack(tid)
	for _, m := range mismatches {
		err = errors.Join(err, m)
	}
	return err
}
