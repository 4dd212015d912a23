package contend

import (
	"gorun/internal/column"
	"gorun/internal/result"
)

var columns = column.Join(
	column.List{
		column.Figure(column.Column{Name: "row", Lead: 1, Meaning: "The number of the row."},
			func(c *Figures) int { return c.Row }),
		column.Figure(column.Column{Name: "op", Lead: 2, Key: "op", Meaning: "The operation that every CPU repeats."},
			func(c *Figures) string { return c.Op }),
		column.Figure(column.Column{Name: "variant", Key: "variant", Meaning: "The variant of the instruction."},
			func(c *Figures) string { return c.Variant }),
		column.Figure(column.Column{Name: "instruction", Meaning: "The instruction that the loop repeats."},
			func(c *Figures) string { return c.Instruction }),
		column.Figure(column.Column{Name: "load", Lead: 3, Key: "load", Meaning: "The load pattern of the row."},
			func(c *Figures) string { return c.Load }),
		column.Figure(column.Column{Name: "cpus", Lead: 4, Key: "cpus", Unit: column.Count, Meaning: "The number of CPUs that run."},
			func(c *Figures) int { return c.CPUs }),
		column.Figure(column.Column{Name: "cpu_list", Lead: 11, Key: "cpu_list", Meaning: "The CPUs that run."},
			func(c *Figures) string { return c.CPUList }),
		column.Figure(column.Column{Name: "pattern", Lead: 12, Meaning: "The CPUs that run, drawn node by node."},
			func(c *Figures) string { return c.Pattern }),
		column.Figure(column.Column{
			Name: "dist_bytes", Lead: 13, Key: "dist_bytes", Unit: column.Bytes,
			Meaning: "The distance between the words of two CPUs; 0: they share one word.",
		}, func(c *Figures) int { return c.DistBytes }),
		column.Figure(column.Column{Name: "dist", Meaning: "The distance of --dist, in the unit of dist_by."},
			func(c *Figures) *int {
				if c.DistBy == "" {
					return nil
				}
				return &c.Dist
			}),
		column.Figure(column.Column{
			Name: "dist_by", Meaning: "The unit of dist: word, a CPU's word has the index CPU * dist; bit, its bit has the index CPU << dist.",
		}, func(c *Figures) string { return c.DistBy }),
		column.Figure(column.Column{Name: "mem_node", Lead: 14, Key: "mem_node", Meaning: "The requested node of the memory."},
			func(c *Figures) int { return c.MemNode }),
		column.Figure(column.Column{Name: "mode", Key: "mode", Meaning: "How a row ends: count, after a number of operations, or time."},
			func(c *Figures) string { return c.Mode }),

		perOperation,
		column.Figure(column.Column{
			Name: "ops_per_second", Lead: 10, Unit: column.PerSecond, Better: column.Higher, Bench: "ops/s",
			Meaning: "The operations per second of all threads.",
		}, func(c *Figures) float64 { return c.OpsPerSecond }),
		column.Figure(column.Column{
			Name: "min", Lead: 6, Unit: column.Nanoseconds, Better: column.Lower,
			Meaning: "The time of an operation, of the fastest thread.",
		}, func(c *Figures) float64 { return c.Min }),
		column.Figure(column.Column{
			Name: "max", Lead: 7, Unit: column.Nanoseconds, Better: column.Lower,
			Meaning: "The time of an operation, of the slowest thread.",
		}, func(c *Figures) float64 { return c.Max }),
		column.Figure(column.Column{
			Name: "stdev", Lead: 8, Unit: column.Nanoseconds, Better: column.Lower,
			Meaning: "The standard deviation of the threads' times of an operation.",
		}, func(c *Figures) float64 { return c.Stdev }),
		column.Figure(column.Column{
			Name: "fairness", Lead: 9, Unit: column.Ratio, Better: column.Higher, Bench: "fairness",
			Meaning: "Jain's index of the threads' rates: 1 if all are equal, 1/n if one of n gets everything.",
		}, func(c *Figures) float64 { return c.Fairness }),
		column.Figure(column.Column{
			Name: "fairness_min_max", Unit: column.Ratio, Better: column.Higher,
			Meaning: "The rate of the slowest thread divided by that of the fastest.",
		}, func(c *Figures) float64 { return c.FairnessMinMax }),
		column.Figure(column.Column{
			Name: "operations", Unit: column.Large, Repeats: true, Meaning: "The operations of all threads that count.",
		}, func(c *Figures) uint64 { return c.Operations }),
		column.Figure(column.Column{
			Name: "failures", Unit: column.Large, Meaning: "The compare-and-swaps that found another value.",
		}, func(c *Figures) *uint64 { return c.Failures }),
		column.Figure(column.Column{Name: "mem_node_read", Meaning: "The node of the memory, read back."},
			func(c *Figures) *int { return c.MemNodeRead }),
		column.Figure(column.Column{
			Name: "together", Unit: column.Share, Better: column.Higher,
			Meaning: "The part of the time in which all threads ran.",
		}, func(c *Figures) *float64 { return c.Overlap }),
		column.Figure(column.Column{
			Name: "windows", Unit: column.Count, Meaning: "The windows of time in which all threads ran; only these count.",
		}, func(c *Figures) *int { return column.Some(c.Windows) }),
		column.Figure(column.Column{Name: "windows_of", Unit: column.Count, Meaning: "All windows of time."},
			func(c *Figures) *int { return column.Some(c.WindowsOf) }),
		column.Figure(column.Column{Name: "window_ns", Unit: column.Nanoseconds, Meaning: "The length of a window."},
			func(c *Figures) *float64 { return column.Some(c.WindowNs) }),
		column.Figure(column.Column{Name: "count", Unit: column.Large, Meaning: "The requested operations of each thread."},
			func(c *Figures) *uint64 { return column.Some(c.CountPerCPU) }),
		column.Figure(column.Column{
			Name: "released_ns", Unit: column.Nanoseconds, Better: column.Lower,
			Meaning: "The time between the starts of the first and of the last thread.",
		}, func(c *Figures) *float64 { return c.ReleasedNs }),
		column.Figure(column.Column{
			Name: "fixed_seconds", Unit: column.Seconds, Meaning: "The time of a row that is not spent on operations.",
		}, func(c *Figures) *float64 { return column.Some(c.FixedSeconds) }),
		column.MemoryPeak("", func(c *Figures) result.OwnProcess { return c.OwnProcess }),
	},
	column.Distribution(column.Column{
		Name: "windows_ns", Unit: column.Nanoseconds, Better: column.Lower,
		Meaning: "The mean time of an operation in the windows that count",
	}, func(c *Figures) *result.Distribution { return c.WindowsNs }),
)

// perOperation is the column by which cells are compared.
var perOperation = column.Figure(column.Column{
	Name: "ns_per_op", Label: "time of an operation", Lead: 5, Unit: column.Nanoseconds, Better: column.Lower, Bench: "ns/op",
	Meaning: "The mean time of an operation, over the threads.",
}, func(c *Figures) float64 { return c.NsPerOp })
