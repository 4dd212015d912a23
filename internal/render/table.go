package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/result"
)

// Table shows a run to a person, in opts.Width columns: what ran and where, its figures (the median over the samples
// and their range), each CPU's share, how good the samples are, what limited the run, and the warnings. A matrix is a
// row a cell, with what was found of it. Without a terminal the table has neither bars nor colour.
func Table(w io.Writer, run *result.Run, opts Options) error {
	run = clean(run)
	options, err := specRun(run)
	if err != nil {
		return err
	}
	blocks := runBlocks
	if run.Matrix != nil {
		blocks = matrixBlocks
	}
	_, err = io.WriteString(w, page(blocks(run, options, opts)))
	return err
}

// page sets blocks under each other, with an empty line between two. Empty blocks are left out.
func page(blocks []string) string {
	blocks = slices.DeleteFunc(blocks, func(block string) bool { return block == "" })
	return strings.Join(blocks, "\n")
}

// runBlocks are the table of a run of one configuration.
func runBlocks(run *result.Run, options spec, opts Options) []string {
	samples := summarised(run.Samples)
	blocks := []string{
		heading(run, options, opts),
		figuresBlock(samples),
	}
	if shown := typical(samples); shown != nil {
		which := ""
		if len(run.Samples) > 1 {
			which = fmt.Sprintf(" in sample %d, the median one", shown.Index)
		}
		blocks = append(blocks, cpusBlock(shown, which, opts), workersBlock(shown, which, opts))
	}
	return append(blocks, samplesBlock(run, opts), findingsBlock(run, opts), warningsBlock(run.Warnings, opts))
}

// heading says what ran, how it was placed, and on what.
func heading(run *result.Run, options spec, opts Options) string {
	what := otherParts
	if run.Experiment == "primes" {
		what = primesParts
	}
	title, parts := what(run, options)
	width := opts.columns()
	block := opts.paint(bold, title) + "\n"
	if len(parts) > 0 {
		block += "  " + flow(parts, " · ", "  ", width-2)
	}
	if placed := placementText(run.Samples, opts); placed != "" {
		block += paragraph("  placement ", placed, width)
	}
	return block + "  " + flow(hostParts(run, options), " · ", "  ", width-2)
}

// primesParts is the heading of `gorun primes`.
func primesParts(_ *result.Run, options spec) (title string, parts []string) {
	counted := options.text("workers") + " workers"
	switch {
	case options.text("workers") == "1":
		counted = "1 worker"
	case options.text("serial") != "":
		counted += ", one after another"
	}
	title = fmt.Sprintf("gorun primes: the primes up to %s, by %s", orZero(options.text("limit")), counted)

	method := "method " + options.text("method")
	if kernel := options.text("kernel"); kernel != "" {
		method += " (kernel " + kernel + ")"
	}
	parts = append(parts, method)
	for _, name := range []string{"dispatch", "split", "duration_seconds", "gomaxprocs", "barrier"} {
		if text := options.text(name); text != "" {
			parts = append(parts, optionPart(name, text))
		}
	}
	return title, parts
}

// otherParts is the heading of any other experiment: its options by name.
func otherParts(run *result.Run, options spec) (title string, parts []string) {
	for _, name := range options.names() {
		parts = append(parts, optionPart(name, options.text(name)))
	}
	return "gorun " + run.Experiment, parts
}

// optionPart shows an option as its flag's words, "split contiguous"; a switch is its name alone.
func optionPart(name, text string) string {
	if text == "true" {
		return strings.ReplaceAll(name, "_", " ")
	}
	if trimmed, timed := strings.CutSuffix(name, "_seconds"); timed {
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			name, text = trimmed, seconds(x)
		}
	}
	return strings.ReplaceAll(name, "_", " ") + " " + text
}

func orZero(text string) string {
	if text == "" {
		return "0"
	}
	return text
}

// placementText says what was asked, and whether the kernel's answers were the same in all samples.
func placementText(samples []result.Sample, opts Options) string {
	if len(samples) == 0 {
		return ""
	}
	asked := samples[0].Placement.Requested
	checked, differing, unread := 0, 0, 0
	var mismatches []string
	for i := range samples {
		placed := &samples[i].Placement
		checked += placed.Checked
		mismatches = append(mismatches, placed.Mismatches...)
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
		text := asked + ": " + opts.paint(red, "not") + " what was asked"
		if len(samples) > 1 {
			text += fmt.Sprintf(" in %d of %d samples", differing, len(samples))
		}
		if len(mismatches) > 0 {
			text += ": " + strings.Join(mismatches[:min(3, len(mismatches))], "; ")
		}
		return text
	case unread > 0 && asked != "none":
		return asked + ": " + opts.paint(yellow, "not") + " read back"
	case checked > 0:
		return fmt.Sprintf("%s: as asked in %d read-backs", asked, checked)
	}
	return asked
}

// hostParts is the machine, and the share of it that the run used.
func hostParts(run *result.Run, options spec) []string {
	host := &run.Host
	var parts []string
	if host.CPUModel != "" {
		parts = append(parts, strings.Join(strings.Fields(host.CPUModel), " "))
	}
	cpus := fmt.Sprintf("%d CPUs", host.CPUs)
	share := options.text("cpus")
	if share == "" {
		share = host.Allowed
	}
	if used, err := cpuset.Parse(share); err == nil && !used.Empty() {
		cpus = fmt.Sprintf("%d of %s (%s)", used.Len(), cpus, shorten(used.String(), 24))
	}
	parts = append(parts, cpus)
	if host.Nodes > 1 {
		parts = append(parts, fmt.Sprintf("%d nodes", host.Nodes))
	}
	if host.CPUQuota != nil {
		parts = append(parts, "quota "+ratio(*host.CPUQuota)+" CPUs")
	}
	system := strings.TrimSpace(host.OS + " " + host.Kernel)
	if host.Hypervisor {
		system += " (virtual machine)"
	}
	return append(parts, system, run.Tool.Go)
}

// shorten cuts a list after a comma, where it is longer than limit.
func shorten(list string, limit int) string {
	if len(list) <= limit {
		return list
	}
	return list[:strings.LastIndexByte(list[:limit], ',')+1] + "…"
}

// findingsBlock is what limited the run.
func findingsBlock(run *result.Run, opts Options) string {
	if len(run.Findings) == 0 {
		return ""
	}
	block := opts.paint(bold, "What limited this run:") + "\n"
	for _, finding := range run.Findings {
		block += paragraph("  - ", finding.Message, opts.columns())
	}
	return block
}

// warningsBlock is the footnotes.
func warningsBlock(warnings []result.Warning, opts Options) string {
	if len(warnings) == 0 {
		return ""
	}
	block := opts.paint(bold, "Warnings:") + "\n"
	for _, warning := range warnings {
		block += paragraph("  ! ", warning.Message, opts.columns())
		if warning.Hint != "" {
			block += paragraph("    hint: ", warning.Hint, opts.columns())
		}
	}
	return block
}
