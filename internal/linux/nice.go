package linux

// The nice values (sched(7)): the lower, the larger the thread's share of its CPU.
const (
	MinNice = -20
	MaxNice = 19
)
