// Package server has the program that --with-pid or --with-cgroup names: it runs before, during and after the samples, and works for what
// is measured, so that its CPU time is not that of other programs.
package server

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
	"gorun/internal/record/result"
)

// Server is a process with its descendants, or a control group.
type Server struct {
	subject.Who
	Among cpuset.Set `json:"among"` // CPUs of the run
}

// cgroups is the directory that a path of --with-cgroup may be relative to.
const cgroups = "/sys/fs/cgroup"

// Flags name a server.
type Flags struct {
	pid    *int
	cgroup string
}

// Register adds the flags. what is the server to the user.
func (f *Flags) Register(set *experiment.FlagSet, what string) {
	set.OptionalInt(&f.pid, "with-pid", "the PID of "+what+": the CPU time of it and its descendants\n"+
		"is not that of other programs", 1, math.MaxInt32)
	set.StringVar(&f.cgroup, "with-cgroup", "", "likewise, the `directory` of a control group, in "+cgroups)
	set.Rare("with-pid", "with-cgroup")
	set.Neutral("with-pid", "with-cgroup")
}

// Validate returns an error if the flags name two servers.
func (f *Flags) Validate() error {
	if f.pid != nil && f.cgroup != "" {
		return hint.Usagef("--with-pid and --with-cgroup exclude each other: each names the server")
	}
	return nil
}

// Find returns the server that the flags name, as it is now; nil: none. It can only be found on the live machine.
func (f *Flags) Find(m experiment.Machine) (*Server, error) {
	s := &Server{Among: m.CPUs}
	switch {
	case !m.Live:
		return nil, nil
	case f.pid != nil:
		s.PID, s.Children = *f.pid, true
	case path.IsAbs(f.cgroup):
		s.Group = path.Clean(f.cgroup)
	case f.cgroup != "":
		s.Group = path.Join(cgroups, f.cgroup)
	default:
		return nil, nil
	}
	program, err := subject.Find(s.Who)
	if err == nil {
		s.Start = program.Start
		err = errors.Join(usable(program), program.Close())
	}
	switch {
	case errors.Is(err, subject.ErrEnded):
		err = hint.With(errors.New("there is no such process"), "pgrep NAME finds the PID of a program that runs")
	case errors.Is(err, fs.ErrNotExist):
		err = hint.With(err, "give the directory of a control group, as in /sys/fs/cgroup/system.slice/nginx.service")
	}
	if err != nil {
		return nil, f.Refuse(err)
	}
	return s, nil
}

// usable returns an error for a program that can be no server. A control group may have no process yet.
func usable(program *subject.Subject) error {
	if _, err := used(program); err != nil {
		return err
	}
	if program.Group == "" {
		return nil
	}
	pids, err := program.Processes()
	if errors.Is(err, subject.ErrEnded) {
		return nil
	}
	if slices.Contains(pids, os.Getpid()) {
		return hint.With(errors.New("gorun is in this control group itself, so that its commands would count as the server"),
			"give a group that has only the server")
	}
	return err
}

// Refuse returns the error of a program that can be no server.
func (f *Flags) Refuse(err error) error {
	if f.pid != nil {
		return hint.Flag("with-pid", fmt.Sprint(*f.pid), err)
	}
	return hint.Flag("with-cgroup", f.cgroup, err)
}

// String names a server by its flag.
func (s *Server) String() string {
	if s.Group != "" {
		return "the control group " + s.Group + " (--with-cgroup)"
	}
	return fmt.Sprintf("the process %d (--with-pid)", s.PID)
}

// used returns the CPU time of a server until now. A control group has counted that of all its processes.
func used(program *subject.Subject) (subject.Used, error) {
	if program.Group == "" {
		if _, err := program.Processes(); err != nil {
			return nil, err
		}
	}
	return program.Used()
}

// Watch takes a sample for which the server works. seconds is the CPU time of the server meanwhile, which belongs to the sample unless
// the server is apart, on CPUs that are not of the run; nil: it is not known, which is a doubt.
func (s *Server) Watch(apart bool, take func() (result.Sample, error)) (sample result.Sample, seconds *float64, err error) {
	var before, after subject.Used
	program, unread := subject.Find(s.Who)
	if unread == nil {
		defer program.Close() // it is only read
		before, unread = used(program)
	}
	if sample, err = take(); err != nil {
		return sample, nil, err
	}
	if unread == nil {
		after, unread = used(program)
	}
	if unread != nil {
		why := "its CPU time is not known: " + unread.Error()
		if errors.Is(unread, subject.ErrEnded) || linux.Gone(unread) {
			why = "it has ended, and what it used counts as that of other programs"
		}
		sample.Doubt(result.Suspect, "%v: %s", s, why)
		return sample, nil, nil
	}
	seconds = new(after.Since(before))
	if !apart {
		sample.Unwaited += *seconds
		if sample.Seconds > 0 {
			sample.QueuedShare -= *seconds / sample.Seconds
		}
	}
	return sample, seconds, nil
}

// Place finds out which CPUs the server may use: /proc/stat counts those of a run, and the server's CPU time has no such bound. The
// server is apart if it may use none of these.
func (s *Server) Place(run cpuset.Set) (apart bool, warnings []result.Warning) {
	var may cpuset.Set // none: it has ended, which the samples show
	if program, err := subject.Find(s.Who); err == nil {
		may = program.CPUs()
		program.Close()
	}
	beyond := may.Minus(run)
	if apart = !may.Empty() && beyond.Equal(may); !apart && !beyond.Empty() {
		warnings = append(warnings, result.Warning{
			Code: "server-cpus",
			Message: fmt.Sprintf("%v may also use CPUs %v, which are not of the run: what it uses there hides what other programs use on those of the run",
				s, beyond),
			Hint: "give it CPUs of its own (taskset -ap), or run on all of its CPUs (--cpus)",
		})
	}
	return apart, warnings
}
