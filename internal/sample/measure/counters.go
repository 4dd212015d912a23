package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/record/result"
)

// cpuTimes are times of CPUs from /proc/stat, in seconds (proc_stat(5)).
type cpuTimes struct {
	steal, busy float64
	interrupts  float64 // the part of busy in interrupts, hard and soft
}

// readStat returns the time of the CPUs. Each must have its line: a sum over some of them would be too small.
func readStat(root fs.FS, cpus cpuset.Set) (is cpuTimes, err error) {
	const name = "proc/stat"
	text, err := sysfs.ReadString(root, name)
	if err != nil {
		return is, err
	}
	var found []int
	for line := range strings.Lines(text) {
		number, isCPU := strings.CutPrefix(line, "cpu")
		if !isCPU {
			break // the lines of the CPUs come first
		}
		fields := strings.Fields(number)
		if strings.HasPrefix(number, " ") || len(fields) == 0 {
			continue // the sum of all
		}
		cpu, err := strconv.Atoi(fields[0])
		if err != nil {
			return is, sysfs.Malformed(name, "%.40q names no CPU", line)
		}
		if !cpus.Contains(cpu) {
			continue
		}
		const user, nice, system, irq, softirq, stolen = 1, 2, 3, 6, 7, 8 // guest time is within user
		if len(fields) <= stolen {
			return is, sysfs.Malformed(name, "%.80q has too few numbers", line)
		}
		ticks := func(field int) float64 {
			n, parseErr := strconv.ParseUint(fields[field], 10, 64)
			err = errors.Join(err, parseErr)
			return float64(n) * result.Tick
		}
		interrupts := ticks(irq) + ticks(softirq)
		is.steal += ticks(stolen)
		is.busy += ticks(user) + ticks(nice) + ticks(system) + interrupts
		is.interrupts += interrupts
		if err != nil {
			return is, sysfs.Malformed(name, "%v", err)
		}
		found = append(found, cpu)
	}
	if missing := cpus.Minus(cpuset.Of(found...)); !missing.Empty() {
		return is, fmt.Errorf("%s: no line of CPU %v: %w", name, missing, fs.ErrNotExist)
	}
	return is, nil
}

// readTurns returns the turns of this process's threads, by their IDs.
func readTurns(root fs.FS) (map[string]linux.Turns, error) {
	const dir = "proc/self/task"
	threads, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil, err
	}
	if len(threads) > runQueueThreads {
		return nil, fmt.Errorf("%s: %w", dir, errManyThreads)
	}
	all, count := map[string]linux.Turns{}, 0
	for _, thread := range threads {
		turns, err := linux.ReadTurns(root, dir+"/"+thread.Name()+"/schedstat")
		if errors.Is(err, fs.ErrNotExist) && len(threads) > 1 {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		all[thread.Name()] = turns
		count += turns.Count
	}
	if count == 0 { // this thread has had turns
		return nil, fmt.Errorf("%s/TID/schedstat: missing, or all zeros: %w", dir, fs.ErrNotExist)
	}
	return all, nil
}

var errManyThreads = fmt.Errorf("more than %d threads take too long to read", runQueueThreads)

// readPressure returns the time in which at least one task of the machine waited for a resource (cpu, io or memory), in seconds
// (Documentation/accounting/psi.rst).
func readPressure(root fs.FS, resource string) (seconds float64, err error) {
	name := path.Join("proc/pressure", resource)
	text, err := sysfs.ReadString(root, name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		total := slices.IndexFunc(fields, func(field string) bool { return strings.HasPrefix(field, "total=") })
		if total > 0 && fields[0] == "some" {
			n, err := strconv.ParseUint(strings.TrimPrefix(fields[total], "total="), 10, 64)
			if err != nil {
				return 0, sysfs.Malformed(name, "%v", err)
			}
			return float64(n) / 1e6, nil
		}
	}
	return 0, sysfs.Malformed(name, "it has no total of \"some\"")
}

// CountMore has the samples of the watcher that have Counters also have what is only counted where the cause is asked for.
func (w *Watcher) CountMore() { w.energy = new(openEnergy(w.root)) }

// readMore reads what is only counted where the cause is asked for.
func (w *Watcher) readMore(r *reading) {
	if w.energy == nil {
		return
	}
	r.energy = w.energy.read(w.root)
	if seconds, err := readPressure(w.root, "io"); err == nil {
		r.io = &seconds
	}
	if seconds, err := readPressure(w.root, "memory"); err == nil {
		r.memory = &seconds
	}
}

// count sets what is only counted where the cause is asked for.
func (w *Watcher) count(c *result.Counters, before, after reading) {
	if was, is := before.stat, after.stat; was != nil && is != nil && after.at.Sub(before.at).Seconds() >= leastTicks*result.Tick {
		c.InterruptSeconds = increase(&was.interrupts, &is.interrupts)
	}
	if w.energy == nil {
		return
	}
	if err := w.energy.lack; err != nil {
		c.Lacking("joules", err)
	}
	c.IOPressureSeconds, c.MemoryPressureSeconds = increase(before.io, after.io), increase(before.memory, after.memory)
	c.Joules = w.energy.used(before.energy, after.energy)
}
