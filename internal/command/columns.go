package command

import (
	"gorun/internal/column"
	"gorun/internal/result"
)

var columns = column.Join(
	column.Times,
	column.List{
		column.Figure(column.Column{
			Name: "exit_code", Lead: 1, Meaning: "The exit code of the command: 128 and the signal's number, if that ended it.",
		}, func(e *result.Exec) int { return e.ExitCode }),
		column.Figure(column.Column{
			Name: "max_rss_bytes", Lead: 2, Unit: column.Bytes, Bench: "peak-RSS-bytes",
			Meaning: "The most memory that one of its processes had resident.",
		}, func(e *result.Exec) uint64 { return e.MaxRSSBytes }),
		column.Figure(column.Column{
			Name: result.DatumMetric, Lead: 3, Bench: "metric",
			Meaning: "The figure that --metric finds in the command's output.",
		}, func(e *result.Exec) *float64 { return e.Metric }),
		column.Figure(column.Column{Name: "signal", Meaning: "The signal that ended the command."},
			func(e *result.Exec) *int { return column.Some(e.Signal) }),
		column.Figure(column.Column{Name: "timed_out", Meaning: "Whether the command took longer than --timeout."},
			func(e *result.Exec) *bool { return column.Some(e.TimedOut) }),
		column.Figure(column.Column{
			Name: "max_rss_floor_bytes", Unit: column.Bytes,
			Meaning: "The memory that each process began with, as a copy of gorun: max_rss_bytes is no less.",
		}, func(e *result.Exec) uint64 { return e.MaxRSSFloorBytes }),
		column.Figure(column.Column{
			Name: "killed", Unit: column.Count, Meaning: "The processes that were left at its end, and were killed.",
		}, func(e *result.Exec) *int { return column.Some(e.Killed) }),
	},
	column.Switches,
	column.Migrations(func(e *result.Exec) *result.Migrations { return e.Migrations }),
)
