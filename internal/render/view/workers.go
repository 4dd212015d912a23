package view

import (
	"cmp"
	"strconv"

	"gorun/internal/render/term"
	"gorun/internal/result"
	"gorun/internal/units"
)

// workersBlock has a row a worker, for a run that was asked for them. Columns that would be empty are left out.
func workersBlock(s *result.Sample, which string, opts term.Options) string {
	if len(s.WorkersDetail) == 0 {
		return ""
	}
	threads, niced, pinned := false, false, false
	for i := range s.WorkersDetail {
		threads = threads || s.WorkersDetail[i].TIDStart != 0
		niced = niced || s.WorkersDetail[i].Nice != nil
		pinned = pinned || s.WorkersDetail[i].PinnedTo != nil
	}
	columns := []term.Column{
		term.Right("worker"), term.Right("first"), term.Right("numbers"), term.Right("primes"), term.Right("time"),
		term.Right("CPU"), term.Right("moves"),
	}
	if threads {
		columns = append(columns, term.Right("thread"))
	}
	if niced {
		columns = append(columns, term.Right("nice"))
	}
	if pinned {
		columns = append(columns, term.Left("pinned to"))
	}
	rows := make([][]string, 0, len(s.WorkersDetail))
	for i := range s.WorkersDetail {
		w := &s.WorkersDetail[i]
		row := []string{
			strconv.Itoa(w.Worker), strconv.FormatUint(w.First, 10), strconv.FormatUint(w.Numbers, 10),
			strconv.FormatUint(w.Primes, 10), units.Seconds(w.Seconds), fromTo(w.CPUStart, w.CPUEnd), strconv.Itoa(w.Moves),
		}
		if threads {
			row = append(row, fromTo(w.TIDStart, w.TIDEnd))
		}
		if niced {
			row = append(row, niceText(w))
		}
		if pinned {
			row = append(row, pinText(w, opts))
		}
		rows = append(rows, row)
	}
	return opts.Paint(term.Bold, "Workers"+which) + "\n" + term.Grid(columns, rows)
}

// threadsBlock has a row for each thread on which a worker ended, in the order of their first workers.
func threadsBlock(s *result.Sample, which string, opts term.Options) string {
	last, workers := map[int]*result.WorkerDetail{}, map[int]int{}
	var order []int
	for i := range s.WorkersDetail {
		w := &s.WorkersDetail[i]
		if w.TIDEnd == 0 || w.Nice == nil && w.Policy == "" {
			continue
		}
		if last[w.TIDEnd] == nil {
			order = append(order, w.TIDEnd)
		}
		last[w.TIDEnd] = w
		workers[w.TIDEnd]++
	}
	if len(order) == 0 {
		return ""
	}
	rows := make([][]string, len(order))
	for i, tid := range order {
		w := last[tid]
		rows[i] = []string{
			strconv.Itoa(tid), niceText(w), cmp.Or(w.Policy, units.None), strconv.Itoa(w.CPUEnd), strconv.Itoa(workers[tid]),
		}
	}
	columns := []term.Column{
		term.Right("thread"), term.Right("nice"), term.Left("policy"), term.Right("CPU"), term.Right("workers"),
	}
	return opts.Paint(term.Bold, "Threads"+which) + "\n" + term.Grid(columns, rows)
}

func niceText(w *result.WorkerDetail) string {
	if w.Nice == nil {
		return units.None
	}
	return strconv.Itoa(*w.Nice)
}

// fromTo shows where something began and ended, in one number when that is the same.
func fromTo(start, end int) string {
	if start == end {
		return strconv.Itoa(start)
	}
	return strconv.Itoa(start) + "→" + strconv.Itoa(end)
}

// pinText shows the CPU that was asked for, and what the kernel answered instead.
func pinText(w *result.WorkerDetail, opts term.Options) string {
	if w.PinnedTo == nil {
		return "-"
	}
	text := strconv.Itoa(*w.PinnedTo)
	switch {
	case w.Mismatch != "":
		text += ", " + opts.Paint(term.Red, "but is "+w.Mismatch)
	case w.Verified != nil && !*w.Verified:
		text += ", " + opts.Paint(term.Red, "but is not")
	}
	return text
}
