package live

import (
	"gorun/internal/experiment"
	"gorun/internal/record/column"
)

// Figures are those of a block. The sample's seconds are the measured length of the block.
type Figures struct {
	Metric  *float64 `json:"metric,omitempty" figure:",csv=1,bench=metric" is:"The figure of the first --metric in the block."`
	Metric2 *float64 `json:"metric_2,omitempty" figure:",bench=metric_2" is:"The figure of the second --metric in the block."`
	Metric3 *float64 `json:"metric_3,omitempty" figure:",bench=metric_3" is:"The figure of the third --metric in the block."`
	Metric4 *float64 `json:"metric_4,omitempty" figure:",bench=metric_4" is:"The figure of the fourth --metric in the block."`

	CPU        *float64 `json:"program_cpu,omitempty" figure:"share" label:"of a CPU" is:"The CPU time of the program in the block, over the block's length."`
	RunQueue   *float64 `json:"program_run_queue,omitempty" figure:"share" label:"waiting for a CPU" is:"The time in which threads of the program were ready and waited for a CPU, over the block's length."`
	Turns      *float64 `json:"program_switches,omitempty" figure:"number" label:"turns on a CPU a second" is:"How often a thread of the program got a CPU, a second."`
	Migrations *float64 `json:"program_migrations,omitempty" figure:"number,verbose" label:"migrations a second" is:"The moves of the program's threads between CPUs, a second."`

	Threads       int      `json:"program_threads" figure:"count" label:"threads" is:"The threads of the program at the end of the block."`
	SwitchSeconds float64  `json:"switch_seconds" figure:"s" label:"switched in" is:"The time from the first to the last thread that got the setting."`
	Long          *float64 `json:"long_ratio,omitempty" figure:"number,verbose" label:"second half of a long block" is:"The first --metric in the second half of a longer block in the same setting, over that in the first half: far from 1 where the program settles slowly."`
}

var columns = column.Join(column.List{column.Wall}, column.Of[Figures]())

// metrics returns where the judged figures are kept, in the order of --metric.
func (f *Figures) metrics() [experiment.MostMetrics]**float64 {
	return [...]**float64{&f.Metric, &f.Metric2, &f.Metric3, &f.Metric4}
}
