package numa

import (
	"io/fs"
	"strconv"
	"strings"
	"time"

	"gorun/internal/cpuset"
	"gorun/internal/placement"
	"gorun/internal/sysfs"
)

// softPeriod is how often soft affinity looks at the node's CPUs. /proc/stat counts in ticks of 10 ms: in two of them a
// CPU that is idle shows.
const softPeriod = 20 * time.Millisecond

// soft keeps a thread on a node's CPUs while any of them is idle, and lets it go elsewhere while none is.
type soft struct {
	tid       int
	near, far cpuset.Set // the node's CPUs; all that it may use
	root      fs.FS
	stop      chan struct{}
	ended     chan error
}

// startSoft binds the thread to the CPUs that are near, and begins to look at them.
func startSoft(root fs.FS, tid int, near, far cpuset.Set) (*soft, error) {
	s := &soft{tid: tid, near: near, far: far, root: root, stop: make(chan struct{}), ended: make(chan error, 1)}
	if err := s.bind(near); err != nil {
		return nil, err
	}
	before, err := s.idle()
	if err != nil {
		return nil, err
	}
	go func() { s.ended <- s.watch(before) }()
	return s, nil
}

func (s *soft) bind(cpus cpuset.Set) error {
	setting := placement.Setting{CPUs: cpus}
	_, err := setting.Apply(s.tid)
	return err
}

// end stops looking and returns what went wrong meanwhile.
func (s *soft) end() error {
	close(s.stop)
	return <-s.ended
}

func (s *soft) watch(before map[int]uint64) error {
	ticker := time.NewTicker(softPeriod)
	defer ticker.Stop()
	wide := false
	for {
		select {
		case <-s.stop:
			return nil
		case <-ticker.C:
		}
		after, err := s.idle()
		if err != nil {
			return err
		}
		if busy := allBusy(s.near, before, after); busy != wide {
			wide = busy
			cpus := s.near
			if wide {
				cpus = s.far
			}
			if err := s.bind(cpus); err != nil {
				return err
			}
		}
		before = after
	}
}

// idle reads how long each CPU has been idle, in ticks of 10 ms.
func (s *soft) idle() (map[int]uint64, error) {
	const file = "proc/stat"
	text, err := sysfs.ReadString(s.root, file)
	if err != nil {
		return nil, err
	}
	ticks, ok := parseIdle(text)
	if !ok {
		return nil, sysfs.Malformed(file, "no CPU has an idle time")
	}
	return ticks, nil
}

// parseIdle adds up the fields idle and iowait of the lines "cpu0 user nice system idle iowait …" of /proc/stat
// (proc_stat(5)).
func parseIdle(text string) (map[int]uint64, bool) {
	ticks := map[int]uint64{}
	for line := range strings.Lines(text) {
		name, isCPU := strings.CutPrefix(line, "cpu")
		if !isCPU {
			break // they come first, and what follows is long
		}
		fields := strings.Fields(name)
		if strings.HasPrefix(name, " ") || len(fields) < 6 {
			continue // the sum of all
		}
		cpu, cpuErr := strconv.Atoi(fields[0])
		idle, idleErr := strconv.ParseUint(fields[4], 10, 63)
		iowait, iowaitErr := strconv.ParseUint(fields[5], 10, 63)
		if cpuErr != nil || idleErr != nil || iowaitErr != nil {
			return nil, false
		}
		ticks[cpu] = idle + iowait
	}
	return ticks, len(ticks) > 0
}

// allBusy tells whether none of the CPUs was idle between two readings.
func allBusy(cpus cpuset.Set, before, after map[int]uint64) bool {
	for cpu := range cpus.All() {
		if after[cpu] > before[cpu] {
			return false
		}
	}
	return true
}
