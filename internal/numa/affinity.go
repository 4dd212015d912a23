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

// softPeriod is the time between two looks of soft affinity at the node's CPUs. /proc/stat counts in ticks of 10 ms, so
// an idle CPU is visible after two.
const softPeriod = 20 * time.Millisecond

// softAffinity keeps a thread on a node's CPUs while any of them is idle, and lets it run elsewhere while all are busy.
type softAffinity struct {
	tid       int
	near, far cpuset.Set // the node's CPUs; all allowed CPUs
	root      fs.FS
	stop      chan struct{}
	ended     chan error
}

// startSoftAffinity binds the thread to the near CPUs, and starts to watch them.
func startSoftAffinity(root fs.FS, tid int, near, far cpuset.Set) (*softAffinity, error) {
	s := &softAffinity{tid: tid, near: near, far: far, root: root, stop: make(chan struct{}), ended: make(chan error, 1)}
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

func (s *softAffinity) bind(cpus cpuset.Set) error {
	setting := placement.Setting{CPUs: cpus}
	_, err := setting.Apply(s.tid)
	return err
}

// end stops watching and returns the errors that occurred.
func (s *softAffinity) end() error {
	close(s.stop)
	return <-s.ended
}

func (s *softAffinity) watch(before map[int]uint64) error {
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

// idle returns the idle time of each CPU, in ticks of 10 ms.
func (s *softAffinity) idle() (map[int]uint64, error) {
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

// parseIdle sums the fields idle and iowait of the lines "cpu0 user nice system idle iowait …" of /proc/stat
// (proc_stat(5)).
func parseIdle(text string) (map[int]uint64, bool) {
	ticks := map[int]uint64{}
	for line := range strings.Lines(text) {
		name, isCPU := strings.CutPrefix(line, "cpu")
		if !isCPU {
			break // the CPU lines come first, and the rest is long
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

// allBusy reports whether none of the CPUs was idle between two readings.
func allBusy(cpus cpuset.Set, before, after map[int]uint64) bool {
	for cpu := range cpus.All() {
		if after[cpu] > before[cpu] {
			return false
		}
	}
	return true
}
