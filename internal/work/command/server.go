package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// Server is a program that runs before, during and after the samples, and works for the command: its CPU time is not that of other
// programs. It is a process with its descendants, or a control group.
type Server struct {
	PID    int        `json:"pid,omitempty"`
	Start  uint64     `json:"start,omitempty"`  // of the process: its PID may come back
	Cgroup string     `json:"cgroup,omitempty"` // name of the directory, in the root
	Among  cpuset.Set `json:"among"`            // CPUs of the run
}

// cgroups is the directory that a path of --with-cgroup may be relative to.
const cgroups = "sys/fs/cgroup"

// Serving has the flags that name a server.
type Serving struct {
	pid    *int
	cgroup string
}

// Register adds the flags. what is the server to the user.
func (f *Serving) Register(set *experiment.FlagSet, what string) {
	set.OptionalInt(&f.pid, "with-pid", "the PID of "+what+": the CPU time of it and its descendants\n"+
		"is not that of other programs", 1, math.MaxInt32)
	set.StringVar(&f.cgroup, "with-cgroup", "", "likewise, the `directory` of a control group, in "+path.Join("/", cgroups))
	set.Rare("with-pid", "with-cgroup")
	set.Neutral("with-pid", "with-cgroup")
}

// Validate returns an error if the flags name two servers.
func (f *Serving) Validate() error {
	if f.pid != nil && f.cgroup != "" {
		return hint.Usagef("--with-pid and --with-cgroup exclude each other: each names the server")
	}
	return nil
}

// Find returns the server that the flags name, as it is now; nil: none. It can only be found on the live machine.
func (f *Serving) Find(m experiment.Machine) (s *Server, err error) {
	switch {
	case !m.Live:
	case f.pid != nil:
		task, err := linux.ReadProcess(m.Root, *f.pid)
		if linux.Gone(err) {
			err = hint.With(errors.New("there is no such process"), "pgrep NAME finds the PID of a program that runs")
		}
		if err != nil {
			return nil, hint.Flag("with-pid", fmt.Sprint(*f.pid), err)
		}
		s = &Server{PID: *f.pid, Start: task.Start}
	case f.cgroup != "":
		s = &Server{Cgroup: strings.TrimPrefix(path.Clean(f.cgroup), "/")}
		if !path.IsAbs(f.cgroup) {
			s.Cgroup = path.Join(cgroups, f.cgroup)
		}
		_, err := cgroup.CPUSeconds(m.Root, s.Cgroup)
		if errors.Is(err, fs.ErrNotExist) {
			err = hint.With(err, "give the directory of a control group, as in /sys/fs/cgroup/system.slice/nginx.service")
		}
		var pids []int
		if err == nil {
			pids, err = s.processes(m.Root)
		}
		if err == nil && slices.Contains(pids, os.Getpid()) {
			err = hint.With(errors.New("gorun is in this control group itself, so that its commands would count as the server"),
				"give a group that has only the server")
		}
		if err != nil {
			return nil, hint.Flag("with-cgroup", f.cgroup, err)
		}
	}
	if s != nil {
		s.Among = m.CPUs
	}
	return s, nil
}

// processes returns the PIDs of a server's processes: without gorun and its descendants, if the server has started it.
func (s *Server) processes(root fs.FS) (pids []int, err error) {
	if s.Cgroup != "" {
		return cgroup.Processes(root, s.Cgroup)
	}
	below, err := linux.DescendantsOf(s.PID, os.Getpid())
	return append([]int{s.PID}, below...), err
}

// process tells a process from others with the same PID.
type process struct {
	pid   int
	start uint64
}

// used is the CPU time of a server, in seconds: of each of its processes, or of its control group.
type used map[process]float64

// used returns the CPU time of the server so far. The error of one that has ended is Gone.
func (s *Server) used(root fs.FS) (used, error) {
	if s.Cgroup != "" {
		seconds, err := cgroup.CPUSeconds(root, s.Cgroup)
		return used{{}: seconds}, err
	}
	pids, err := s.processes(root)
	if err != nil {
		return nil, err
	}
	all := used{}
	for _, pid := range pids {
		task, err := linux.ReadProcess(root, pid)
		var used time.Duration
		if err == nil {
			used, err = linux.ProcessCPUTime(pid)
		}
		if err == nil && pid == s.PID && task.Start != s.Start {
			err = fs.ErrNotExist
		}
		if err != nil && (pid == s.PID || !linux.Gone(err)) {
			return nil, err
		}
		if err == nil {
			all[process{pid, task.Start}] = used.Seconds()
		}
	}
	return all, nil
}

// since returns the CPU time after another reading. That of a process that has ended since is lost, as if it were another program's;
// a process that is new began after that reading.
func (u used) since(before used) (seconds float64) {
	for p, now := range u {
		seconds += max(0, now-before[p])
	}
	return seconds
}

// String names a server by its flag.
func (s *Server) String() string {
	if s.Cgroup != "" {
		return "the control group /" + s.Cgroup + " (--with-cgroup)"
	}
	return fmt.Sprintf("the process %d (--with-pid)", s.PID)
}

// cpus returns the CPUs that the server's threads may use; none: they are not known.
func (s *Server) cpus(root fs.FS) (cpus cpuset.Set) {
	pids, _ := s.processes(root) // without them nothing is known
	for _, pid := range pids {
		threads, _ := fs.ReadDir(root, fmt.Sprintf("proc/%d/task", pid))
		for _, thread := range threads {
			var tid int
			if _, err := fmt.Sscan(thread.Name(), &tid); err != nil {
				continue
			}
			if mask, err := linux.GetAffinity(tid); err == nil {
				cpus = cpus.Union(mask)
			}
		}
	}
	return cpus
}

// Watch takes a sample for which the server works. seconds is the CPU time of the server meanwhile, which belongs to the sample unless
// the server is apart, on CPUs that are not of the run; nil: it is not known, which is a doubt.
func (s *Server) Watch(apart bool, take func() (result.Sample, error)) (sample result.Sample, seconds *float64, err error) {
	root := os.DirFS("/")
	before, unread := s.used(root)
	if sample, err = take(); err != nil {
		return sample, nil, err
	}
	var after used
	if unread == nil {
		after, unread = s.used(root)
	}
	if unread != nil {
		why := "its CPU time is not known: " + unread.Error()
		if linux.Gone(unread) {
			why = "it has ended, and what it used counts as that of other programs"
		}
		sample.Doubt(result.Suspect, "%v: %s", s, why)
		return sample, nil, nil
	}
	seconds = new(after.since(before))
	if !apart {
		sample.Unwaited += *seconds
		if sample.Seconds > 0 {
			sample.QueuedShare -= *seconds / sample.Seconds
		}
	}
	return sample, seconds, nil
}

// sampleWith takes a sample of a cell, whose command uses a server.
func (s *sampler) sampleWith(ctx context.Context, c Cell) (result.Sample, error) {
	sample, seconds, err := c.Server.Watch(s.apart, func() (result.Sample, error) { return s.sampleAlone(ctx, c) })
	if v, ok := result.Typed[Figures](&sample); ok && seconds != nil {
		v.ServerSeconds = seconds // the figures are still this sampler's own
	}
	return sample, err
}

// Place finds out which CPUs the server may use: /proc/stat counts those of a run, and the server's CPU time has no such bound. The
// server is apart if it may use none of these.
func (s *Server) Place(run cpuset.Set) (apart bool, warnings []result.Warning) {
	may := s.cpus(os.DirFS("/"))
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

// place finds out which CPUs the server of the cells may use.
func (s *sampler) place() (warnings []result.Warning) {
	i := slices.IndexFunc(s.cells, func(c Cell) bool { return c.Server != nil })
	if i < 0 {
		return nil
	}
	var run cpuset.Set
	for _, c := range s.cells {
		if c.Settings[0].CPUs.Empty() && c.Server != nil {
			run = run.Union(c.Server.Among)
		}
		for _, setting := range c.Settings {
			run = run.Union(setting.CPUs)
		}
	}
	s.apart, warnings = s.cells[i].Server.Place(run)
	return warnings
}
