package load

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/start/launch"
)

// BurnerCommand is the gorun command that calls Burn.
const BurnerCommand = "load-burner"

// Burners are processes that burn, one per CPU.
type Burners struct {
	burners []Burner
	group   *launch.Shared
	last    []time.Duration // CPU time of each at the last reading
}

// Start starts the burners and returns when all of them burn. They end with Stop, when ctx ends, or when this process
// does.
func Start(ctx context.Context, self launch.Self, burners []Burner) (*Burners, error) {
	of := make([]launch.Member, len(burners))
	for i, o := range burners {
		of[i] = launch.Member{Name: o.name(), Setting: o.setting(), Request: o}
	}
	group, err := self.Start(ctx, BurnerCommand, of)
	if err != nil {
		return nil, err
	}
	group.Open()
	return &Burners{burners, group, make([]time.Duration, len(burners))}, nil
}

// setting is that of the burner's process.
func (o Burner) setting() placement.Setting {
	return placement.Setting{CPUs: cpuset.Of(o.CPU), Nice: &o.Nice}
}

// Watch starts to monitor the placement of the burners.
func (b *Burners) Watch() *placement.Monitor {
	threads := make([]placement.Thread, len(b.burners))
	for i, o := range b.burners {
		threads[i] = placement.Thread{Name: o.name(), TID: b.group.PIDs[i], Setting: o.setting()}
	}
	return placement.Watch(threads...)
}

// Ended reports whether the burners have ended before Stop: when one ends, the others are ended too.
func (b *Burners) Ended() bool { return b.group.Ended() }

// Stop ends the burners. It returns an error if one had ended before.
func (b *Burners) Stop() error {
	b.group.Stop(nil)
	return b.group.Wait()
}

// Reading holds the burners' clocks at one moment.
type Reading struct{ wall, used []time.Duration }

// Read reads the burners' clocks without involving the burners. The clock of an ended burner stands still.
func (b *Burners) Read() (r Reading, err error) {
	for i, pid := range b.group.PIDs {
		used, err := linux.ProcessCPUTime(pid)
		switch {
		case err == nil:
			b.last[i] = used
		case !errors.Is(err, syscall.ESRCH):
			return Reading{}, fmt.Errorf("%s: %w", b.burners[i].name(), err)
		}
		r.wall, r.used = append(r.wall, linux.Monotonic()), append(r.used, b.last[i])
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
