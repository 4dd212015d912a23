package view

import (
	"cmp"
	"fmt"
	"slices"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
)

// partsOf returns the tables of the CPUs and the workers of the sample with the median time.
func partsOf(run *result.Run, samples result.Samples) (tables []table.Table) {
	shown := result.Typical(samples)
	if shown == nil {
		return nil
	}
	which := ""
	if run.Samples.Len() > 1 {
		which = fmt.Sprintf(" in sample %d", shown.Index)
		if samples.Len() > 2 {
			which += ", the median one"
		}
	}
	for _, t := range []table.Table{cpusTable(shown), workersTable(shown)} {
		if t.Title += which; len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

const (
	maxCPURows = 32 // CPUs that are shown one a row
	edgeRows   = 8  // of more than that, these many of the busiest and of the least busy
)

// cpusTable has each CPU's share of a sample. CPUs that did nothing are named below it; of very many CPUs, it has the busiest and
// the least busy.
func cpusTable(s *result.Sample) table.Table {
	var used []result.CPU
	var notes []string
	idle := cpuset.Set{}
	for _, cpu := range s.CPUs {
		if cpu.Workers == 0 && cpu.BusySeconds == 0 && cpu.CPU >= 0 && cpu.CPU <= cpuset.Max { // a foreign file may have others
			idle = idle.With(cpu.CPU)
			continue
		}
		used = append(used, cpu)
	}
	if more := len(used) - 2*edgeRows; len(used) > maxCPURows {
		slices.SortStableFunc(used, func(a, b result.CPU) int { return cmp.Compare(b.BusySeconds, a.BusySeconds) })
		used = slices.Concat(used[:edgeRows], used[len(used)-edgeRows:])
		notes = append(notes, fmt.Sprintf("%d CPUs between the busiest and the least busy are left out.", more))
	}
	if !idle.Empty() {
		notes = append(notes, fmt.Sprintf("idle: %s (%d)", idle, idle.Len()))
	}
	share := func(cpu result.CPU) float64 {
		if s.Seconds <= 0 {
			return 0
		}
		return cpu.BusySeconds / s.Seconds
	}
	return table.Of(used).
		With("CPU", func(cpu result.CPU) table.Value { return table.Count(cpu.CPU) }).
		With("workers", func(cpu result.CPU) table.Value { return table.Count(cpu.Workers) }).
		With("threads", func(cpu result.CPU) table.Value { return table.Known(cpu.Threads) }).
		With("busy", func(cpu result.CPU) table.Value { return table.Seconds(cpu.BusySeconds) }).
		With("of wall", func(cpu result.CPU) table.Value { return table.Number{X: share(cpu), Unit: column.Share} }).
		With("", func(cpu result.CPU) table.Value { return table.Bar(share(cpu)) }).
		Table("cpus", "CPUs", notes...)
}

type detail = *result.WorkerDetail

// workersTable has a row for each worker, of a run that was asked for them.
func workersTable(s *result.Sample) table.Table {
	var details []detail
	for i := range s.WorkersDetail {
		details = append(details, &s.WorkersDetail[i])
	}
	return table.Of(details).
		With("worker", func(w detail) table.Value { return table.Count(w.Worker) }).
		With("first", func(w detail) table.Value { return table.Count(w.First) }).
		With("numbers", func(w detail) table.Value { return table.Count(w.Numbers) }).
		With("primes", func(w detail) table.Value { return table.Count(w.Primes) }).
		With("time", func(w detail) table.Value { return table.Seconds(w.Seconds) }).
		With("CPU", func(w detail) table.Value { return fromTo(w.CPUStart, w.CPUEnd) }).
		With("moves", func(w detail) table.Value { return table.Count(w.Moves) }).
		With("thread", func(w detail) table.Value {
			if w.TIDStart == 0 {
				return nil
			}
			return fromTo(w.TIDStart, w.TIDEnd)
		}).
		With("nice", func(w detail) table.Value { return table.Known(w.Nice) }).
		With("policy", func(w detail) table.Value { return table.Text(w.Policy) }).
		With("pinned to", pinned).
		Table("workers", "Workers")
}

// fromTo shows where something began and ended, in one number when that is the same.
func fromTo(start, end int) table.Value {
	if start == end {
		return table.Count(start)
	}
	return table.Text(fmt.Sprintf("%d→%d", start, end))
}

// pinned shows the CPU that was asked for, and what the kernel answered instead.
func pinned(w detail) table.Value {
	if w.PinnedTo == nil {
		return nil
	}
	cpu := table.Phrase{Text: fmt.Sprint(*w.PinnedTo)}
	switch {
	case w.Mismatch != "":
		cpu = table.Phrase{Text: cpu.Text + ", but is " + w.Mismatch, Tone: table.Bad}
	case w.Verified != nil && !*w.Verified:
		cpu = table.Phrase{Text: cpu.Text + ", but is not", Tone: table.Bad}
	}
	return table.Phrases{cpu}
}
