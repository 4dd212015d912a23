package doctor

import (
	"fmt"

	"gorun/internal/kernel/sysfs"
	"gorun/internal/sample/measure"
)

func perfEvents(s Subject, _ *Trial) *Condition {
	const file = "proc/sys/kernel/perf_event_paranoid"
	paranoid, err := sysfs.ReadInt(s.Root, file)
	if err != nil {
		return &Condition{Level: Limit, Value: "not in this kernel, or hidden", Effect: "migrations are counted less well"}
	}
	c := &Condition{Level: OK, Value: fmt.Sprintf("perf_event_paranoid %d", paranoid)}
	if !s.Live {
		return c
	}
	if err := measure.MigrationsLack(); err != nil {
		c.Level, c.Effect = Limit, "migrations of threads that ended during a sample are not counted"
		c.Remedy = "set kernel.perf_event_paranoid below 2, or give gorun CAP_PERFMON"
		c.Fix = &Fix{
			Do:   "sudo sysctl kernel.perf_event_paranoid=1",
			Undo: fmt.Sprintf("sudo sysctl kernel.perf_event_paranoid=%d", paranoid),
		}
	}
	return c
}
