// Package pair is `gorun pair`: it measures two processes that run at the same time, or exchange messages.
package pair

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gorun/internal/base/bytesize"
	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/machine/topology"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/start/launch"
	"gorun/internal/start/process"
)

// compared is the title of a comparison of pairs.
const compared = "CPUs of two processes"

// severalBudget is the default --budget with --auto, in seconds.
const severalBudget = 20

// Experiment is `gorun pair`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:     "pair",
		Args:     "{A B | --auto} [LOOPS]",
		Short:    "Measure how the CPUs of two processes affect them",
		Question: "How do the CPUs of two processes affect them?",
		Long: "A process on CPU A and one on CPU B start together and each make LOOPS loops of the work: by default\n" +
			"system calls. In a ping-pong they pass a turn back and forth, and a loop is a round trip. With --auto\n" +
			"there is a pair of CPUs for each relation that the machine has; the first is one CPU for both processes.\n" +
			"The pairs take turns, and each is judged against the first.",
		Example: "  gorun pair 0 1\n" +
			"  gorun pair 0 0 30000000 --samples 1\n" +
			"  gorun pair --auto\n" +
			"  gorun pair --auto --work pingpong-futex\n" +
			"  gorun matrix pair --work syscall,spin 0 1",
	},
	Traits: experiment.Traits{
		Sampling: experiment.Sampling{
			Samples: 5, Warmup: 1, Budget: 10, Compares: true,
			Usage: map[string]string{
				"precision": "with --auto: width of the interval at which a pair is sampled enough",
				"margin":    "with --auto: differences up to this size do not matter",
				"samples": "samples to take; a number given here is not cut by the default budget\n" +
					"(with --auto, of each pair; by default as many as are needed within --budget, 20s)",
			},
		},
		Place:      experiment.Started,
		RowHint:    "name the two CPUs, and leave --auto away",
		Compared:   perLoop.Name,
		AlsoJudged: column.List{cpuPerLoop},
		Columns:    columns,
		View:       &shown,
	},
	New: func() experiment.Flags[Cell] { return &flags{} },
	Open: func(s experiment.Environment, _ []Cell) (experiment.Sampler[Cell], error) {
		return sampler{s.Self.In(measure.Environment(s.Environ))}, nil
	},
})

// sampler starts two fresh processes for each sample.
type sampler struct{ self launch.Self }

func (s sampler) Sample(ctx context.Context, c Cell) (result.Sample, error) {
	return c.measure(ctx, s.self, nil)
}
func (s sampler) Close() error { return nil }

// flags are the flags of `gorun pair`.
type flags struct {
	auto     bool
	work     string
	array    uint64 // 0: the L2 of CPU A
	interval time.Duration
	words    []string // A B [LOOPS]; with --auto only [LOOPS]
}

func (f *flags) Register(set *experiment.FlagSet) {
	set.BoolVar(&f.auto, "auto", false, "measure a pair of CPUs for each relation that the machine has")
	set.Choice(&f.work, "work", Works[0].Name, "`work` of each process, which gorun help pair describes: "+catalog.List(Works), catalog.Completions(Works))
	set.Size(&f.array, "array", "`size` of the array of sum, of each process (default: the L2 of CPU A)")
	set.DurationVar(&f.interval, "interval", 0, "also show each process's share of a CPU in every interval of this length (0: do not)")
}

// Arguments parses the command line's positional arguments.
func (f *flags) Arguments(words []string) error {
	f.words = words
	return nil
}

func (f *flags) Validate() error {
	if f.interval != 0 && f.interval < leastInterval {
		return hint.Usagef("--interval %v: at least %v is needed", f.interval, leastInterval)
	}
	if f.array > 0 && f.work != "sum" {
		return hint.Usage(hint.With(fmt.Errorf("--array is of the work sum, and this is %s", f.work), "give --work sum"))
	}
	return nil
}

// leastInterval is the shortest --interval; with a shorter one, reading the clocks would disturb the work.
const leastInterval = 10 * time.Millisecond

// pair returns the two CPUs and the loops of the command line; 0 loops stand for the work's default.
func (f *flags) pair(m experiment.Machine) (pair topology.CPUPair, loops uint64, err error) {
	words := f.words
	if !f.auto {
		if len(words) < 2 {
			return pair, 0, hint.Usage(hint.With(errors.New("a pair is two CPUs, A and B, which may be the same"),
				"gorun pair 0 1, or gorun pair --auto for one pair of each relation"))
		}
		if pair, err = m.Pair(words[0], words[1]); err != nil {
			return pair, 0, err
		}
		words = words[2:]
	}
	switch {
	case len(words) == 0:
		return pair, 0, nil
	case len(words) > 1 && f.auto:
		return pair, 0, hint.Usage(hint.With(fmt.Errorf("--auto chooses the CPUs itself, but got %d arguments", len(words)),
			"give LOOPS alone, or the CPUs without --auto"))
	case len(words) > 1:
		return pair, 0, hint.Usagef("gorun pair takes A, B and LOOPS, but got %q too", words[1])
	}
	loops, err = strconv.ParseUint(words[0], 10, 63)
	if err != nil || loops == 0 {
		return pair, 0, hint.Usage(hint.With(fmt.Errorf("LOOPS %s: it is not a whole number from 1 on", words[0]),
			fmt.Sprintf("without it each process makes %d", DefaultLoops(f.work, pair.Relation))))
	}
	return pair, loops, nil
}

// spec holds the requested values by flag name.
type spec struct {
	Work       string `json:"work"`
	Auto       bool   `json:"auto"`
	Loops      uint64 `json:"loops"`       // 0: differs by pair
	ArrayBytes uint64 `json:"array_bytes"` // 0: the work has no array
	experiment.SamplingSpec
	Interval float64 `json:"interval_seconds,omitempty"`
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	for _, flag := range []string{"precision", "margin"} {
		if m.Given(flag) && !f.auto {
			return r, hint.Usage(hint.With(fmt.Errorf("--%s is for comparing pairs, and this is one", flag), "give --auto"))
		}
	}
	pair, loops, err := f.pair(m)
	if err != nil {
		return r, err
	}
	pairs := []topology.CPUPair{pair}
	if f.auto {
		pairs = m.PerRelation(m.CPUs)
	}
	var rows []result.PairRow
	for _, p := range pairs {
		rows = append(rows, Row(p, f.work, loops))
	}
	spec := &spec{Work: f.work, Auto: f.auto, Loops: rows[0].Loops, Interval: f.interval.Seconds()}
	if f.work == "sum" {
		var odd []string
		spec.ArrayBytes, odd = process.ArrayBytes(f.array, m.Root, pairs[0].A)
		r.Warnings = append(r.Warnings, result.OddMachine(odd)...)
	}
	measured := 0
	for i, p := range pairs {
		c := f.cell(m, p, rows[i].Loops, spec.ArrayBytes)
		r.Cells = append(r.Cells, c)
		if c.Unavailable != "" {
			continue
		}
		measured++
		if rows[i].Loops != spec.Loops {
			spec.Loops = loops // 0 if LOOPS is not given
		}
	}
	spec.CPUs = m.CPUs.String()
	if f.auto {
		r.Schedule.Budget = severalBudget
		r.Warnings = append(r.Warnings, experiment.UnavailablePairs(pairs)...)
	}
	if measured > 1 {
		r.Schedule.Order, r.Schedule.Open = matrix.RandomBlocks, true
		r.Schedule.Title, r.Schedule.Compared = compared, perLoop.Name
	}
	r.Spec = spec
	r.Placement = "a process pinned to each CPU of the pair"
	r.Resources.Processes, r.Resources.ProcessBytes = 2, spec.ArrayBytes
	if spec.ArrayBytes > 0 {
		r.Resources.Less = "give a smaller --array"
	}
	r.Plan = func(p *result.Plan) { p.PairRows = rows }
	return r, nil
}

// cell returns the cell of a pair. Pairs may have different numbers of loops, so cells are compared by the time of one
// loop.
func (f *flags) cell(m experiment.Machine, p topology.CPUPair, each, arrayBytes uint64) experiment.Cell[Cell] {
	c := experiment.Cell[Cell]{Row: experiment.PairRow(p)}
	if c.Unavailable != "" {
		return c
	}
	loops := strconv.FormatUint(each, 10)
	c.Do = Cell{CPUPair: p, Work: f.work, Loops: each, ArrayBytes: arrayBytes, Interval: f.interval}
	c.Flags["loops"], c.Flags["work"] = loops, f.work
	c.Command = []string{"pair", strconv.Itoa(p.A), strconv.Itoa(p.B), loops, "--work", f.work, "--cpus", m.CPUs.String()}
	if f.interval > 0 {
		c.Command = append(c.Command, "--interval", f.interval.String())
	}
	if arrayBytes > 0 {
		c.Flags["array"] = bytesize.Format(arrayBytes)
		c.Command = append(c.Command, "--array", c.Flags["array"])
	}
	return c
}
