package topology

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"gorun/internal/base/lazy"
)

// interruptsFile counts the interrupts of each online CPU since boot, and uptimeFile the seconds since then (proc(5)).
const (
	interruptsFile = "proc/interrupts"
	uptimeFile     = "proc/uptime"
)

// followsLoad matches the descriptions of numbered interrupts that do not come from a device: ticks, and what CPUs send to
// each other. They follow the load, wherever it runs.
var followsLoad = lazy.Regexp(`(?i)timer|hpet|\bIPI|\btwd\b|percpu`)

// Interrupts returns how many interrupts of devices each CPU has had since boot, and the seconds since then; nil and 0 if
// they are not recorded, or not understood. The first call reads them, and they stay the same: a plan is made of them.
func (m *Machine) Interrupts() (counts map[int]uint64, seconds float64) {
	l := m.devices
	if l == nil {
		return nil, 0
	}
	l.count.Do(func() {
		data, _ := fs.ReadFile(l.root, interruptsFile)
		l.interrupts = parseInterrupts(data)
		data, _ = fs.ReadFile(l.root, uptimeFile)
		text, _, _ := strings.Cut(string(data), " ")
		if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1e10 {
			l.seconds = seconds
		}
	})
	return l.interrupts, l.seconds
}

// parseInterrupts sums the numbered lines; the others, such as "LOC:", are not of devices. The header names the CPUs of
// the columns; a line is "37:", a count for each of them, and a description. A malformed file gives nil. A machine may have
// a million counts, so no line is split into words.
func parseInterrupts(data []byte) map[int]uint64 {
	header, rest, _ := bytes.Cut(data, []byte("\n"))
	var cpus []int
	for _, word := range bytes.Fields(header) {
		number, ok := bytes.CutPrefix(word, []byte("CPU"))
		cpu, err := strconv.ParseUint(string(number), 10, 16)
		if !ok || err != nil {
			return nil
		}
		cpus = append(cpus, int(cpu))
	}
	sums := make(map[int]uint64, len(cpus))
	counts := make([]uint64, len(cpus))
	for line := range bytes.Lines(rest) {
		name, line, found := bytes.Cut(line, []byte(":"))
		if _, err := strconv.ParseUint(string(bytes.TrimSpace(name)), 10, 32); !found || err != nil {
			continue
		}
		for i := range counts {
			var ok bool
			if counts[i], line, ok = cutCount(line); !ok {
				return nil
			}
		}
		if followsLoad().Match(line) {
			continue
		}
		for i, cpu := range cpus {
			sums[cpu] += counts[i]
		}
	}
	if len(sums) < len(cpus) || len(cpus) == 0 { // no line of a device, or a CPU twice
		return nil
	}
	return sums
}

// cutCount returns the number before the next space, and what follows it.
func cutCount(line []byte) (count uint64, rest []byte, ok bool) {
	line = bytes.TrimLeft(line, " \t")
	end := 0
	for ; end < len(line) && '0' <= line[end] && line[end] <= '9'; end++ {
		count = count*10 + uint64(line[end]-'0')
	}
	const most = 19 // digits that a count holds for certain
	ended := end == len(line) || line[end] == ' ' || line[end] == '\n'
	return count, line[end:], 0 < end && end <= most && ended
}

// sumInterrupts returns the file with one line, the sums: a capture has no names of interrupts, and a large machine has
// megabytes of counts. Of a malformed file nothing remains.
func sumInterrupts(data []byte) []byte {
	sums := parseInterrupts(data)
	if sums == nil {
		return nil
	}
	header, _, _ := bytes.Cut(data, []byte("\n"))
	line := "  0:"
	for _, word := range bytes.Fields(header) {
		cpu, _ := strconv.Atoi(string(word[len("CPU"):]))
		line += fmt.Sprintf(" %10d", sums[cpu])
	}
	return fmt.Appendf(nil, "%s\n%s  all devices\n", bytes.TrimRight(header, " "), line)
}
