package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"gorun/internal/cgroup"
	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/result"
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

// serves returns the server that the flags name, as it is now; nil: none. It can only be found on the live machine.
func (f *flags) serves(m experiment.Machine) (s *Server, err error) {
	switch {
	case !m.Live:
	case f.withPID != nil:
		task, err := linux.ReadTask(m.Root, *f.withPID, *f.withPID)
		if err == nil && task.Ended {
			err = fs.ErrNotExist
		}
		if linux.Gone(err) {
			err = hint.With(errors.New("there is no such process"), "pgrep NAME finds the PID of a program that runs")
		}
		if err != nil {
			return nil, hint.Flag("with-pid", fmt.Sprint(*f.withPID), err)
		}
		s = &Server{PID: *f.withPID, Start: task.Start}
	case f.withCgroup != "":
		s = &Server{Cgroup: strings.TrimPrefix(path.Clean(f.withCgroup), "/")}
		if !path.IsAbs(f.withCgroup) {
			s.Cgroup = path.Join(cgroups, f.withCgroup)
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
			return nil, hint.Flag("with-cgroup", f.withCgroup, err)
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
		task, err := linux.ReadTask(root, pid, pid)
		var used time.Duration
		if err == nil {
			used, err = linux.ProcessCPUTime(pid)
		}
		if err == nil && pid == s.PID && (task.Start != s.Start || task.Ended) {
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

// sampleWith takes a sample of a cell, whose command uses a server.
func (s *sampler) sampleWith(ctx context.Context, c Cell) (sample result.Sample, err error) {
	root := os.DirFS("/")
	before, unread := c.Server.used(root)
	if sample, err = s.sampleAlone(ctx, c); err != nil {
		return sample, err
	}
	var seconds float64
	if unread == nil {
		var after used
		after, unread = c.Server.used(root)
		seconds = after.since(before)
	}
	if unread != nil {
		why := "its CPU time is not known: " + unread.Error()
		if linux.Gone(unread) {
			why = "it has ended, and what it used counts as that of other programs"
		}
		sample.Doubt(result.Suspect, "%v: %s", c.Server, why)
		return sample, nil
	}
	if v, ok := result.Typed[Figures](&sample); ok {
		v.ServerSeconds = &seconds // the figures are still this sampler's own
	}
	if !s.apart {
		sample.Unwaited += seconds
		if sample.Seconds > 0 {
			sample.QueuedShare -= seconds / sample.Seconds
		}
	}
	return sample, nil
}

// place finds out which CPUs the server may use: /proc/stat counts those of the run, and the server's CPU time has no such bound.
func (s *sampler) place() (warnings []result.Warning) {
	i := slices.IndexFunc(s.cells, func(c Cell) bool { return c.Server != nil })
	if i < 0 {
		return nil
	}
	var run cpuset.Set
	for _, c := range s.cells {
		if c.Setting.CPUs.Empty() && c.Server != nil {
			run = run.Union(c.Server.Among)
		}
		run = run.Union(c.Setting.CPUs)
	}
	server := s.cells[i].Server
	may := server.cpus(os.DirFS("/"))
	beyond := may.Minus(run)
	if s.apart = !may.Empty() && beyond.Equal(may); !s.apart && !beyond.Empty() {
		warnings = append(warnings, result.Warning{
			Code: "server-cpus",
			Message: fmt.Sprintf("%v may also use CPUs %v, which are not of the run: what it uses there hides what other programs use on those of the run",
				server, beyond),
			Hint: "give it CPUs of its own (taskset -ap), or run on all of its CPUs (--cpus)",
		})
	}
	return warnings
}
