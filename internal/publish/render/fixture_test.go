package render

import (
	"flag"
	"strings"

	"gorun/internal/base/packed"
	"gorun/internal/record/result"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/work/primes"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// all shows every run that tests of this package have.
var all = Views{primes.Experiment}

// primesSpec is a spec as the experiment has it: a struct that is named by flags in JSON.
type primesSpec struct {
	Limit  uint64 `json:"limit"`
	Method string `json:"method"`
	Nice   *int   `json:"nice"`
	Serial bool   `json:"serial"`
}

// plainRun has one good sample.
func plainRun() *result.Run {
	run := rendertest.Run("primes", 2, 1)
	run.Spec = primesSpec{Limit: 200000, Method: "brute"}
	const wall = 2.8134567890123456
	s := rendertest.Sample(0, wall)
	s.Values = result.FiguresOf(&primes.Figures{Primes: 17984, Numbers: 200000, Passes: 2})
	s.Workers = &result.Workers{Count: 50000, Finished: 50000, ChangedCPU: 12, Imbalance: 1.8312}
	s.CPUs = []result.CPU{{CPU: 0, Workers: 25210, Threads: new(7), BusySeconds: wall * 0.993}, {CPU: 1, Workers: 24790, BusySeconds: wall * 0.981}}
	s.Placement = result.Placement{Requested: "lock-thread", Verified: true, Checked: 50000}
	run.Samples = packed.Of(s)
	run.Warnings = []result.Warning{{Code: "bare", Message: "A warning without a hint."}}
	return run
}

// text shows a document as a terminal does.
func text(d interface{ Page(verbose bool) view.Page }, opts term.Options) string {
	return d.Page(opts.Verbose).Text(opts)
}

// words are a text without its line breaks.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }
