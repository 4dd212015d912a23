package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/publish/document"
	"gorun/internal/record/result"
	"gorun/internal/run"
	"gorun/internal/sample/measure"
	"gorun/internal/show/term"
	"gorun/internal/work/doctor"
	"gorun/internal/work/fleet"
)

// fleetCommands are the commands of `gorun fleet`.
var fleetCommands = [...]entry{
	{"node", newFleetNode},
	{"judge", newFleetJudge},
	{"template", newFleetTemplate},
}

// newFleet is `gorun fleet`, whose commands are about many machines.
func newFleet(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Find the machines of a cluster that are slow or compute wrongly",
		Long: "Each machine is measured in short visits, by cron, a batch system or its health check, and each visit writes a file.\n" +
			"gorun schedules nothing and starts nothing on other machines.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
		Args: cobra.ArbitraryArgs,
	}
	for _, c := range fleetCommands {
		cmd.AddCommand(c.make(e))
	}
	return cmd
}

// visitOptions are the flags of `gorun fleet node`.
type visitOptions struct {
	env    env
	dir    string
	node   string
	budget time.Duration
	seed   uint64
	given  func(flag string) bool
}

// healthCheck is the time that a health check of a batch system may take.
const healthCheck = 45 * time.Second

func newFleetNode(e env) *cobra.Command {
	o := &visitOptions{env: e}
	cmd := &cobra.Command{
		Use:   "node --out DIR",
		Short: "Measure this machine in a short visit",
		Long: "A visit takes at most the budget, and needs no privilege. It takes the measures below, of each the best of five\n" +
			"samples; of several CPUs or nodes, the slowest counts, and is named. Results are checked: if a CPU computes a wrong\n" +
			"one, the exit code is 1.\n\n" +
			"What does not fit in the budget is left out. The CPUs compute first; the order of the other measures is drawn anew\n" +
			"each hour, equal on all machines, so that machines that are visited in the same hour have the same measures.\n\n" +
			"The file is DIR/NODE/BOOT/TIME.jsonl, with a line for each measure. Its name ends in .part until the visit ends.\n\n" +
			batteryText(),
		Example: "  gorun fleet node --out /shared/fleet\n" +
			"  gorun fleet node --out visits --node n17 --budget 20s",
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleetNode(cmd.Context(), o) },
	}
	flags := experiment.NewFlagSet("node")
	flags.StringVar(&o.dir, "out", "", "write the file of the visit below this `directory`, which is made if there is none")
	flags.StringVar(&o.node, "node", "", "`name` of this machine (default: the host's name)")
	flags.DurationVar(&o.budget, "budget", healthCheck, "the longest time that the visit may take")
	flags.Uint64Var(&o.seed, "seed", 0, "`number` that determines the order of the measures (default: from the date and hour, UTC)")
	experiment.Bound(flags, &o.budget, "budget", time.Millisecond, time.Duration(math.MaxInt64))
	o.given = flags.Changed
	addFlags(e, cmd, flags)
	_ = cmd.MarkFlagDirname("out")
	return cmd
}

// batteryText is the table of the battery.
func batteryText() string {
	var text strings.Builder
	for _, m := range fleet.Meanings() {
		text.WriteString(term.Paragraph(fmt.Sprintf("  %-14s ", m[0]), m[1], 100))
	}
	return text.String()
}

func runFleetNode(ctx context.Context, o *visitOptions) error {
	name, _ := os.Hostname()
	v := fleet.Visitor{
		Root: o.env.Root, Tool: o.env.Tool, Dir: o.dir, Node: cmp.Or(o.node, name), Budget: o.budget,
		Seed: o.seed, Now: o.env.Now,
	}
	if err := fleet.CheckNode(v.Node); err != nil {
		return err
	}
	if o.dir == "" {
		return hint.Usage(hint.With(errors.New("a visit has nowhere to write to"), "give --out DIR"))
	}
	if !o.given("seed") {
		v.Seed = hourSeed(o.env.Now())
	}
	var err error
	if v.Machine, err = run.ReadMachine(v.Root, true); err != nil {
		return err
	}
	v.Host, _ = measure.ReadHost(v.Root, v.Machine, o.env.Environ())
	v.Settings = doctor.Odd(doctor.Subject{Root: v.Root, Machine: v.Machine, Live: true, Host: v.Host})
	var current atomic.Value
	current.Store("")
	v.Begins = func(measure string) { current.Store(measure) }
	stop := term.Progress{
		What: "visit", Duration: o.budget, Live: func() (live result.State) { return live },
		Now: func() string { return current.Load().(string) },
	}.Start(o.env.Stderr, o.env.Progress)
	visited, err := v.Visit(ctx)
	stop()
	if visited != nil {
		err = cmp.Or(err, visited.Err())
		if shown := document.Show(o.env.Stdout, visited, "table", o.env.Show); shown != nil {
			return shown
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// hourSeed returns the seed of all visits that begin in the same hour.
func hourSeed(now time.Time) uint64 {
	hash := fnv.New32a()
	fmt.Fprint(hash, now.UTC().Format("2006-01-02T15"))
	return uint64(hash.Sum32())
}
