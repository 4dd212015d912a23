package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"gorun/internal/result"
)

// TopoFormats are the formats of a machine, the default first.
var TopoFormats = []string{"table", "json"}

// PlanFormats are the formats of --dry-run, the default first.
var PlanFormats = []string{"table", "json"}

// Plan shows what a run would do, in one of PlanFormats.
func Plan(w io.Writer, plan *result.Plan, format string) error {
	switch format {
	case "json":
		return indented(w, plan)
	case "table":
		return planTable(w, plan)
	}
	return fmt.Errorf("%w %q for a plan: there are %s", ErrFormat, format, strings.Join(PlanFormats, ", "))
}

func planTable(w io.Writer, plan *result.Plan) error {
	options, err := specOf(plan.Spec)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Plan of gorun %s (nothing was run)\n", plan.Experiment)
	for _, name := range options.names("limit", "workers", "method", "kernel", "split", "dispatch") {
		fmt.Fprintf(&b, "  %-18s %s\n", strings.ReplaceAll(name, "_", "-"), options.text(name))
	}
	fmt.Fprintf(&b, "  %-18s %s\n", "CPUs of the run", plan.CPUs)
	fmt.Fprintf(&b, "  %-18s %s\n", "placement", plan.Placement)
	fmt.Fprintf(&b, "  %-18s %d\n", "threads at once", plan.Threads)
	if len(plan.Shares) > 0 {
		b.WriteByte('\n')
		planShares(&b, plan.Shares)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// planShares lists the CPUs in the order of the plan; runs of CPUs on one LLC with the same share take one line.
func planShares(b *strings.Builder, shares []result.PlanShare) {
	fmt.Fprintf(b, "  %-14s %5s %5s %12s\n", "CPU", "LLC", "node", "workers each")
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
		fmt.Fprintf(b, "  %-14s %5d %5d %12d\n", cpus, run[0].LLC, run[0].Node, run[0].Workers)
		shares = shares[len(run):]
	}
}
