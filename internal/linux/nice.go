package linux

import "fmt"

// The range of nice values (sched(7)). A lower value gives the thread a larger share of its CPU.
const (
	MinNice = -20
	MaxNice = 19
)

// CheckNice returns an error if there is no such nice value.
func CheckNice(nice int) error {
	if nice < MinNice || nice > MaxNice {
		return fmt.Errorf("nice values go from %d to %d", MinNice, MaxNice)
	}
	return nil
}
