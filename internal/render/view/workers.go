package view

import (
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
	threads, pinned := false, false
	for i := range s.WorkersDetail {
		threads = threads || s.WorkersDetail[i].TIDStart != 0
		pinned = pinned || s.WorkersDetail[i].PinnedTo != nil
	}
	columns := []term.Column{
		term.Right("worker"), term.Right("first"), term.Right("numbers"), term.Right("primes"), term.Right("time"),
		term.Right("CPU"), term.Right("moves"),
	}
	if threads {
		columns = append(columns, term.Right("thread"))
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
		if pinned {
			row = append(row, pinText(w, opts))
		}
		rows = append(rows, row)
	}
	return opts.Paint(term.Bold, "Workers"+which) + "\n" + term.Grid(columns, rows)
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
