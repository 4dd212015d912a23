package pair

import (
	"time"

	"gorun/internal/kernel/linux"
)

// watch reads the CPU clocks of processes at every interval. The returned function stops it and returns the complete
// intervals: those at whose end all processes still existed.
func watch(pids []int, every time.Duration) (stop func() []Interval) {
	begun := time.Now()
	done, over := make(chan struct{}), make(chan []Interval)
	go func() {
		var intervals []Interval
		defer func() { over <- intervals }()
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		last, used := begun, make([]time.Duration, len(pids))
		for i, pid := range pids {
			used[i], _ = linux.ProcessCPUTime(pid) // CPU time used before the start; an error is reported again at the first tick
		}
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			now := time.Now()
			interval := Interval{EndSeconds: now.Sub(begun).Seconds(), Seconds: now.Sub(last).Seconds()}
			for i, pid := range pids {
				is, err := linux.ProcessCPUTime(pid)
				if err != nil {
					return
				}
				interval.CPUShares = append(interval.CPUShares, (is-used[i]).Seconds()/interval.Seconds)
				used[i] = is
			}
			last, intervals = now, append(intervals, interval)
		}
	}()
	return func() []Interval {
		close(done)
		return <-over
	}
}
