// Package futex is `gorun futex`: it measures the time that a sleeping thread takes to run again after a wake-up by
// another thread.
package futex

import (
	"fmt"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/machine/topology"
)

// Experiment is `gorun futex`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name: "futex", Args: "[A B]",
		Short:    "Measure how long it takes to wake a sleeping thread",
		Question: "How long does it take to wake a sleeping thread?",
		Long: "Two threads, pinned to CPUs A and B, sleep in futex(2) and wake each other in turns. Without A and B\n" +
			"there is a pair for each relation of two CPUs that the machine has; the pairs take turns, and each is judged\n" +
			"against the first.\n\n" +
			"A wake-up begins before the waker's FUTEX_WAKE and ends when the sleeper's FUTEX_WAIT has returned. So it\n" +
			"includes the waker's system call until the kernel makes the sleeper runnable, the interrupt to the other\n" +
			"CPU and its exit from the idle state, the switch to the sleeper, its return from the system call, and one\n" +
			"reading of the clock (about 20 ns). On one CPU it also includes the waker falling asleep, unless the kernel lets\n" +
			"the sleeper preempt it. Only wake-ups of a sleeping thread count. The thread has slept for about as long as\n" +
			"one wake-up takes, so its CPU was not in a deep idle state.",
		Example: "  gorun futex\n  gorun futex 0 1\n  gorun futex --cpus node:0 --samples 5 --format csv",
	},
	Traits: experiment.Traits{
		Sampling: experiment.Sampling{Samples: 5, Warmup: 1, Budget: 10, Compares: true},
		Place:    experiment.Here,
		Compared: wake.Name,
		RowHint:  "name two CPUs, as in gorun matrix futex 0 1",
		Columns:  columns,
	},
	New:  func() experiment.Flags[Cell] { return &flags{} },
	Open: experiment.Alone(sample),
})

// Cell describes what is measured in one cell.
type Cell struct {
	A          int    `json:"a"` // the CPUs
	B          int    `json:"b"`
	Relation   string `json:"relation"`
	RoundTrips uint64 `json:"round_trips"`
}

// flags are the flags and arguments of `gorun futex`.
type flags struct {
	roundTrips uint64
	cpus       []string // A and B; empty: one pair per relation
}

// mostTrips limits the memory for the wake-ups of a sample, 8 bytes each, to 16 MB.
const mostTrips = 1_000_000

func (f *flags) Register(set *experiment.FlagSet) {
	set.Uint64Var(&f.roundTrips, "round-trips", 5000, "wake-ups that each thread makes in a sample")
	experiment.Bound(set, &f.roundTrips, "round-trips", 1, mostTrips)
}

// Arguments sets A and B.
func (f *flags) Arguments(words []string) error {
	f.cpus = words
	return nil
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	pairs := m.PerRelation(m.CPUs)
	switch n := len(f.cpus); n {
	case 0:
	case 2:
		p, err := m.Pair(f.cpus[0], f.cpus[1])
		if err != nil {
			return r, err
		}
		pairs = []topology.CPUPair{p}
	default:
		err := fmt.Errorf("give two CPUs, A and B, which may be the same, instead of %d", n)
		return r, hint.Usage(hint.With(err, "gorun futex 0 1, or gorun futex for one pair of each relation"))
	}
	for _, p := range pairs {
		c := experiment.Cell[Cell]{Row: experiment.PairRow(p)}
		if c.Unavailable == "" {
			trips := strconv.FormatUint(f.roundTrips, 10)
			c.Do = Cell{A: p.A, B: p.B, Relation: c.Name, RoundTrips: f.roundTrips}
			c.Flags["round-trips"] = trips
			c.Command = []string{"futex", strconv.Itoa(p.A), strconv.Itoa(p.B), "--round-trips", trips, "--cpus", m.CPUs.String()}
		}
		r.Cells = append(r.Cells, c)
	}
	r.Warnings = experiment.UnavailablePairs(pairs)
	r.Spec = &spec{Pair: strings.Join(f.cpus, ","), RoundTrips: f.roundTrips, SamplingSpec: experiment.SamplingSpec{CPUs: m.CPUs.String()}}
	r.Placement = "a thread pinned to each CPU of the pair"
	r.Schedule = matrix.Schedule{
		Order: matrix.RandomBlocks, Title: "Wake-up of a thread, by the CPUs of the two threads", Compared: wake.Name, Open: true,
	}
	r.Resources.Threads = 2
	return r, nil
}

// spec holds the requested values by flag name.
type spec struct {
	Pair       string `json:"pair,omitempty"` // "": one for each relation
	RoundTrips uint64 `json:"round_trips"`
	experiment.SamplingSpec
}
