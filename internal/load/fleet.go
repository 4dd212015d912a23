package load

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"gorun/internal/child"
	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/placement"
)

// BurnerCommand is the command of gorun that calls Burn.
const BurnerCommand = "load-burner"

// Fleet is a burner a CPU, each a process of its own.
type Fleet struct {
	burners []Options
	group   *child.Group
	stop    func() ([]Report, error)
}

// Start starts the burners and returns when all of them burn. They end with Stop, when ctx ends, or when this process
// does.
func Start(ctx context.Context, self child.Self, burners []Options) (*Fleet, error) {
	members := make([]child.Member, len(burners))
	for i, o := range burners {
		members[i] = child.Member{Name: o.name(), Request: o}
	}
	group, err := self.Start(ctx, BurnerCommand, members, nil)
	if err != nil {
		return nil, err
	}
	if _, err := child.Hear[Report](group); err != nil {
		group.End()
		return nil, group.Cause()
	}
	f := &Fleet{burners: burners, group: group}
	f.stop = sync.OnceValues(f.end)
	return f, nil
}

// Watch begins to watch that the burners stay where they were placed. Of each burner it watches the thread that works,
// and the main thread, which is the one that another program moves when it moves the process by its ID.
func (f *Fleet) Watch() *placement.Monitor {
	var threads []placement.Thread
	pids := f.group.PIDs()
	for i, tid := range f.group.TIDs() {
		o := &f.burners[i]
		t := placement.Thread{Name: o.name(), TID: tid, Setting: placement.Setting{CPUs: cpuset.Of(o.CPU), Nice: &o.Nice}}
		threads = append(threads, t)
		if t.TID, t.Idle = pids[i], true; t.TID != tid {
			threads = append(threads, t)
		}
	}
	return placement.Watch(threads...)
}

// Ended reports whether a burner has ended before it was stopped.
func (f *Fleet) Ended() bool { return slices.ContainsFunc(f.group.PIDs(), linux.ChildEnded) }

// Stop ends the burners and returns the reports of those that made one.
func (f *Fleet) Stop() ([]Report, error) { return f.stop() }

func (f *Fleet) end() ([]Report, error) {
	f.group.Stop(nil)
	answers, err := child.Hear[Report](f.group)
	f.group.End()
	var reports []Report
	for _, a := range answers {
		if a != nil {
			reports = append(reports, *a)
		}
	}
	return reports, err
}

// Reading is the state of the burners' clocks at a moment.
type Reading struct{ wall, used []time.Duration }

// Read reads the burners' clocks, which asks nothing of the burners. One that has ended stands still.
func (f *Fleet) Read() (Reading, error) {
	var r Reading
	for i, pid := range f.group.PIDs() {
		used, err := linux.ProcessCPUTime(pid)
		if err != nil {
			return Reading{}, fmt.Errorf("%s: %w", f.burners[i].name(), err)
		}
		r.wall, r.used = append(r.wall, linux.Monotonic()), append(r.used, used)
	}
	return r, nil
}

// Achieved is the load of a CPU in a stretch of time.
type Achieved struct {
	CPU     int     `json:"cpu"`
	Asked   float64 `json:"asked_percent"`
	Percent float64 `json:"percent"`
	Seconds float64 `json:"seconds"` // of wall time

	period time.Duration
}

// Achieved returns the loads between two readings, in the order of the burners.
func (f *Fleet) Achieved(from, to Reading) []Achieved {
	loads := make([]Achieved, len(f.burners))
	for i, o := range f.burners {
		wall, used := to.wall[i]-from.wall[i], to.used[i]-from.used[i]
		loads[i] = Achieved{CPU: o.CPU, Asked: o.Percent, Seconds: wall.Seconds(), period: o.Period}
		if wall > 0 {
			loads[i].Percent = 100 * float64(used) / float64(wall)
		}
	}
	return loads
}
