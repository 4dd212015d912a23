package view

import (
	"fmt"
	"strconv"
	"strings"

	"gorun/internal/result"
)

// PlanShares lists the CPUs in the order of the plan; runs of CPUs on one LLC with the same share take one line.
func PlanShares(plan *result.Plan, _ Spec) string {
	shares := plan.Shares
	if len(shares) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %-14s %5s %5s %12s\n", "CPU", "LLC", "node", "workers each")
	for len(shares) > 0 {
		run := shares[:1]
		same := func(next result.PlanShare) bool {
			last := run[len(run)-1]
			return next.CPU == last.CPU+1 && next.LLC == last.LLC && next.Node == last.Node && next.Workers == last.Workers
		}
		for len(run) < len(shares) && same(shares[len(run)]) {
			run = shares[:len(run)+1]
		}
		cpus := strconv.Itoa(run[0].CPU)
		if len(run) > 1 {
			cpus += "-" + strconv.Itoa(run[len(run)-1].CPU)
		}
		fmt.Fprintf(&b, "  %-14s %5d %5d %12d\n", cpus, run[0].LLC, run[0].Node, run[0].Workers)
		shares = shares[len(run):]
	}
	return b.String()
}
