package primes

import (
	"cmp"
	"fmt"

	"gorun/internal/experiment"
	"gorun/internal/render/view"
	"gorun/internal/result"
)

// shown is the view of `gorun primes` runs.
var shown = experiment.View{
	Title: title, Blocks: view.SampleBlocks(columns), Plan: view.PlanShares,
	Options: []string{"limit", "workers", "method", "kernel", "split", "dispatch"},
}

// title is the heading of `gorun primes`.
func title(_ *result.Run, options view.Spec) (title string, parts []string) {
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
