package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// experiment is how the formats show a run of one experiment. What they show of every run alike is not here.
type experiment struct {
	name    string
	title   func(run *result.Run, options view.Spec) (title string, parts []string) // of the table's heading
	blocks  func(*result.Run, view.Spec, term.Options) []string                     // up to the samples' quality
	options []string                                                                // that come first in a plan
	plan    func(plan *result.Plan, options view.Spec) string                       // a plan's block below the options
	columns []string                                                                // values that come first in CSV
	bench   view.Bench

	ownCells bool   // its cells are rows of its own table
	found    string // what its findings are about; "": what limited the run
}

// experiments are those that have a way of their own. To add one, write its functions in its own file and its row here.
var experiments = [...]experiment{
	{
		name: "primes", title: primesTitle, blocks: view.SampleBlocks, plan: view.PlanShares, bench: view.SampleBench,
		options: []string{"limit", "workers", "method", "kernel", "split", "dispatch"},
	},
	{
		name: "contend", title: contendTitle, blocks: contendBlocks, plan: contendPlan, bench: contendBench,
		options: []string{"op", "load", "nodes", "mem_node", "dist_bytes", "mode"},
		columns: []string{
			"row", "op", "load", "cpus", "ns_per_op", "min", "max", "stdev", "fairness", "ops_per_second", "cpu_list",
			"pattern", "dist_bytes", "mem_node",
		},
	},
	{
		name: "c2c", title: c2cTitle, blocks: c2cBlocks, plan: c2cPlan, bench: c2cBench,
		options: []string{"method", "pairs"},
		columns: []string{"cpu_a", "cpu_b", "relation", "ns", "round_trip_ns", "node_a", "node_b", "home_node"},
	},
	{
		name: "numa", title: numaTitle, blocks: numaBlocks, plan: numaPlan, bench: numaBench,
		options: []string{
			"load", "buffer", "pages", "access", "accesses", "repetitions", "settle_seconds", "preferred_node_by",
		},
		columns: []string{
			"row", "mem", "cpu", "numa_balancing", "preferred_node", "buffer_bytes", "pages", "access", "ns_per_access",
			"index_ns", "accesses", "repetitions", "settled_seconds", "preferred_by",
		},
	},
	{
		name: "exec", title: execTitle, blocks: execBlocks, plan: execPlan, bench: loadBench,
		options: []string{"command"}, columns: []string{"exit_code", "max_rss_bytes", "metric"},
	},
	{
		name: "pair", title: pairTitle, blocks: pairBlocks, plan: pairPlan, bench: pairBench, ownCells: true,
		options: []string{"work", "loops", "array_bytes", "auto"},
		columns: []string{"cpu_a", "cpu_b", "relation", "work", "loops", "calls_per_second", "ns_per_loop"},
	},
	{
		name: "bind", title: bindTitle, blocks: bindBlocks, plan: bindPlan, bench: bindBench, ownCells: true,
		found:   "Where the processes were",
		options: []string{"processes", "checks", "array_bytes", "passes", "trials"},
		columns: []string{"process", "trial", "bound", "cpu", "deviations", "checks", "array_bytes", "passes"},
	},
	{
		name: "load", title: loadTitle, blocks: loadBlocks, plan: view.PlanShares, bench: loadBench,
		options: []string{"load"}, columns: []string{"load_requested"},
	},
}

// experimentOf finds an experiment by its name. One without a row is shown by the names of its options and values.
func experimentOf(name string) experiment {
	for _, e := range experiments {
		if e.name == name {
			return e
		}
	}
	return experiment{title: view.OptionsTitle, blocks: view.SampleBlocks, plan: view.PlanShares, bench: view.SampleBench}
}

// Table shows a run to a person, in opts.Width columns: what ran and where, its figures (the median over the samples
// and their range), each CPU's share, how good the samples are, what limited the run, and the warnings; or what the
// experiment shows instead. A matrix is a row a cell, with what was found of it. Without a terminal the table has
// neither bars nor colour.
func Table(w io.Writer, run *result.Run, opts term.Options) error {
	run = term.Clean(run)
	options, err := view.SpecOfRun(run)
	if err != nil {
		return err
	}
	blocks := runBlocks
	if run.Matrix != nil && !ownCells(run) {
		blocks = matrixBlocks
	}
	_, err = io.WriteString(w, term.Page(blocks(run, options, opts)))
	return err
}

// ownCells tells whether the cells of a run are rows of its experiment's own table, and not of a matrix's.
func ownCells(run *result.Run) bool {
	return len(run.NumaRows) > 0 || experimentOf(run.Experiment).ownCells
}

// runBlocks are the table of a run that is not a matrix.
func runBlocks(run *result.Run, options view.Spec, opts term.Options) []string {
	e := experimentOf(run.Experiment)
	blocks := append([]string{heading(run, e, options, opts)}, e.blocks(run, options, opts)...)
	return append(blocks, findingsBlock(run, opts), warningsBlock(run.Warnings, opts))
}

// heading says what ran, how it was placed, and on what.
func heading(run *result.Run, e experiment, options view.Spec, opts term.Options) string {
	title, parts := e.title(run, options)
	width := opts.Columns()
	block := ""
	for _, line := range term.Sayings([]term.Remark{{Text: title, Colour: term.Bold}}, width, opts) {
		block += line + "\n"
	}
	if len(parts) > 0 {
		block += "  " + term.Flow(parts, " · ", "  ", width-2)
	}
	if placed := placementText(run.Samples, opts); placed != "" {
		block += term.Paragraph("  placement ", placed, width)
	}
	return block + "  " + term.Flow(hostParts(run, options), " · ", "  ", width-2)
}

// primesTitle is the heading of `gorun primes`.
func primesTitle(_ *result.Run, options view.Spec) (title string, parts []string) {
	counted := options.Text("workers") + " workers"
	switch {
	case options.Text("workers") == "1":
		counted = "1 worker"
	case options.Text("serial") != "":
		counted += ", one after another"
	}
	title = fmt.Sprintf("gorun primes: the primes up to %s, by %s", cmp.Or(options.Text("limit"), "0"), counted)

	method := "method " + options.Text("method")
	if kernel := options.Text("kernel"); kernel != "" {
		method += " (kernel " + kernel + ")"
	}
	parts = append(parts, method)
	for _, name := range []string{"dispatch", "split", "duration_seconds", "gomaxprocs", "barrier"} {
		if text := options.Text(name); text != "" {
			parts = append(parts, view.Option(name, text))
		}
	}
	return title, parts
}

// placementText says what was asked, and whether the kernel's answers were the same in all samples.
func placementText(samples []result.Sample, opts term.Options) string {
	if len(samples) == 0 {
		return ""
	}
	asked := samples[0].Placement.Requested
	if n := requests(samples); n > 1 {
		asked = fmt.Sprintf("%d different ones", n)
	}
	checked, differing, unread := 0, 0, 0
	var mismatches []string
	for i := range samples {
		placed := &samples[i].Placement
		checked += placed.Checked
		for _, mismatch := range placed.Mismatches {
			if len(mismatches) < 3 && !slices.Contains(mismatches, mismatch) {
				mismatches = append(mismatches, mismatch)
			}
		}
		switch {
		case placed.Verified:
		case placed.Checked > 0 || len(placed.Mismatches) > 0:
			differing++
		default:
			unread++
		}
	}
	// Colour is put on single words, since a paragraph may break between any two.
	switch {
	case differing > 0:
		text := asked + ": " + opts.Paint(term.Red, "not") + " what was asked"
		if len(samples) > 1 {
			text += fmt.Sprintf(" in %d of %d samples", differing, len(samples))
		}
		if len(mismatches) > 0 {
			text += ": " + strings.Join(mismatches, "; ")
		}
		return text
	case unread > 0 && asked != "none":
		return asked + ": " + opts.Paint(term.Yellow, "not") + " read back"
	case checked > 0:
		return fmt.Sprintf("%s: as asked in %d read-backs", asked, checked)
	}
	return asked
}

// requests is how many different placements the samples asked for.
func requests(samples []result.Sample) int {
	asked := map[string]struct{}{}
	for i := range samples {
		asked[samples[i].Placement.Requested] = struct{}{}
	}
	return len(asked)
}

// hostParts is the machine, and the share of it that the run used.
func hostParts(run *result.Run, options view.Spec) []string {
	host := &run.Host
	var parts []string
	if host.CPUModel != "" {
		parts = append(parts, strings.Join(strings.Fields(host.CPUModel), " "))
	}
	cpus := fmt.Sprintf("%d CPUs", host.CPUs)
	share := options.Text("cpus")
	if share == "" {
		share = host.Allowed
	}
	if used, err := cpuset.Parse(share); err == nil && !used.Empty() {
		cpus = fmt.Sprintf("%d of %s (%s)", used.Len(), cpus, term.Shorten(used.String(), 24))
	}
	parts = append(parts, cpus)
	if host.Nodes > 1 {
		parts = append(parts, fmt.Sprintf("%d nodes", host.Nodes))
	}
	if host.CPUQuota != nil {
		parts = append(parts, "quota "+units.Ratio(*host.CPUQuota)+" CPUs")
	}
	system := strings.TrimSpace(host.OS + " " + host.Kernel)
	if host.Hypervisor {
		system += " (virtual machine)"
	}
	return append(parts, system, run.Tool.Go)
}

// FindingsTitle is what a run's findings are about.
func FindingsTitle(run *result.Run) string {
	return cmp.Or(experimentOf(run.Experiment).found, "What limited this run")
}

// findingsBlock is what limited the run, or what else was found.
func findingsBlock(run *result.Run, opts term.Options) string {
	if len(run.Findings) == 0 {
		return ""
	}
	block := opts.Paint(term.Bold, FindingsTitle(run)+":") + "\n"
	for _, finding := range run.Findings {
		block += term.Paragraph("  - ", finding.Message, opts.Columns())
	}
	return block
}

// warningsBlock is the footnotes.
func warningsBlock(warnings []result.Warning, opts term.Options) string {
	if len(warnings) == 0 {
		return ""
	}
	block := opts.Paint(term.Bold, "Warnings:") + "\n"
	for _, warning := range warnings {
		block += term.Paragraph("  ! ", warning.Message, opts.Columns())
		if warning.Hint != "" {
			block += term.Paragraph("    hint: ", warning.Hint, opts.Columns())
		}
	}
	return block
}
