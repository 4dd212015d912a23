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

// BurnerCommand is the gorun command that calls Burn.
const BurnerCommand = "load-burner"

// Burners is a group of burners, one process per CPU.
type Burners struct {
	burners []Burner
	group   *child.Group
	stop    func() error
}

// Start starts the burners and returns when all of them burn. They end with Stop, when ctx ends, or when this process
// does.
func Start(ctx context.Context, self child.Self, burners []Burner) (*Burners, error) {
	members := make([]child.Member, len(burners))
	for i, o := range burners {
		members[i] = child.Member{Name: o.name(), Request: o}
	}
	group, err := self.Start(ctx, BurnerCommand, members, nil)
	if err != nil {
		return nil, err
	}
	if _, err := child.ReceiveAll[struct{}](group); err != nil {
		group.End()
		return nil, group.Cause()
	}
	b := &Burners{burners: burners, group: group}
	b.stop = sync.OnceValue(b.end)
	return b, nil
}

// Watch starts to monitor the placement of the burners.
func (b *Burners) Watch() *placement.Monitor {
	var threads []placement.Thread
	pids := b.group.PIDs()
	for i, tid := range b.group.TIDs() {
		o := &b.burners[i]
		threads = append(threads, placement.Process(pids[i], placement.Thread{
			Name: o.name(), TID: tid, Setting: placement.Setting{CPUs: cpuset.Of(o.CPU), Nice: &o.Nice},
		})...)
	}
	return placement.Watch(threads...)
}

// Ended reports whether a burner ended before Stop.
func (b *Burners) Ended() bool { return slices.ContainsFunc(b.group.PIDs(), linux.ChildEnded) }

// Stop ends the burners. It returns an error if one had ended before.
func (b *Burners) Stop() error { return b.stop() }

func (b *Burners) end() error {
	b.group.Stop(nil)
	_, err := child.ReceiveAll[struct{}](b.group)
	b.group.End()
	return err
}

// Reading holds the burners' clocks at one moment.
type Reading struct{ wall, used []time.Duration }

// Read reads the burners' clocks without involving the burners. The clock of an ended burner stands still.
func (b *Burners) Read() (Reading, error) {
	var r Reading
	for i, pid := range b.group.PIDs() {
		used, err := linux.ProcessCPUTime(pid)
		if err != nil {
			return Reading{}, fmt.Errorf("%s: %w", b.burners[i].name(), err)
		}
		r.wall, r.used = append(r.wall, linux.Monotonic()), append(r.used, used)
	}
	return r, nil
}

// Achieved is the load of a CPU during an interval.
type Achieved struct {
	CPU     int
	Asked   float64 // in percent
	Percent float64
	Seconds float64 // of wall time
}

// Achieved returns the loads between two readings, in the order of the burners.
func (b *Burners) Achieved(from, to Reading) []Achieved {
	loads := make([]Achieved, len(b.burners))
	for i, o := range b.burners {
		wall, used := to.wall[i]-from.wall[i], to.used[i]-from.used[i]
		loads[i] = Achieved{CPU: o.CPU, Asked: o.Percent, Seconds: wall.Seconds()}
		if wall > 0 {
			loads[i].Percent = 100 * float64(used) / float64(wall)
		}
	}
	return loads
}
