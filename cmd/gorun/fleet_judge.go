package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/files/output"
	"gorun/internal/publish/document"
	"gorun/internal/publish/report"
	"gorun/internal/run"
	"gorun/internal/work/fleet"
)

// fleetJudgeOptions are the flags and arguments of `gorun fleet judge`.
type fleetJudgeOptions struct {
	env     env
	paths   []string
	format  string
	margin  experiment.Share
	fdr     experiment.Share
	slot    time.Duration
	since   string
	expect  string
	settled string
}

func newFleetJudge(e env) *cobra.Command {
	o := &fleetJudgeOptions{env: e, margin: 0.02, fdr: 0.05}
	cmd := &cobra.Command{
		Use:   "judge PATH...",
		Short: "Say which nodes are slow, from the visits of many, or on which hosts a placement helps",
		Long: "Of visits (gorun fleet node), each node is compared with others like it that were visited at about the same time.\n" +
			"Those are named that are slower by more than --margin; at most the share --fdr of the names is expected to be\n" +
			"false. If all nodes are slow, none stands out: the medians of each class show it. A PATH is a directory that\n" +
			"gorun fleet node --out named, or a file. A visit counts for the node in whose folder it lies, DIR/NODE/BOOT.\n" +
			"See gorun help fleet for how a node is judged, and how many visits it takes.\n\n" +
			"Of journals of one matrix from many hosts (gorun matrix --out, gorun exec --placements --out), each cell is shown\n" +
			"with the number of hosts on which it is faster or slower, and the hosts that disagree with the others.",
		Example: "  gorun fleet judge /shared/visits\n" +
			"  gorun fleet judge /shared/visits --since 168h --expect nodes.txt --settled judged.json\n" +
			"  gorun fleet judge /shared/visits --format slurm\n" +
			"  gorun fleet judge placements-*.jsonl",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.paths = args
			return o.run(cmd.Context())
		},
	}
	flags := experiment.NewFlagSet("judge")
	flags.Var(&o.margin, "margin", "a node is slow if it is slower than others like it by more than this")
	flags.Var(&o.fdr, "fdr", "the share of false names among all names, at most and on average")
	flags.DurationVar(&o.slot, "slot", time.Hour, "nodes that are visited in the same slot of time are compared")
	flags.StringVar(&o.since, "since", "", "leave out visits before this `time`: 2026-11-27, 2026-11-27T06:00:00Z, or 168h for the last week")
	flags.StringVar(&o.expect, "expect", "", "a `file` with the names of all nodes, or a list of names such as n[01-13],login1: those\n"+
		"that never reported are listed, and any other is not judged")
	flags.StringVar(&o.settled, "settled", "", "a `file` that remembers which visits were judged: a visit that arrives later changes\n"+
		"the result of its own node alone")
	run.AddFormat(flags, &o.format, document.For[*fleet.Judgement]())
	flags.Files("expect", "txt")
	flags.Files("settled", "json")
	experiment.Bound(flags, &o.slot, "slot", time.Second, 1000*time.Hour)
	addFlags(e, cmd, flags)
	return cmd
}

func (o *fleetJudgeOptions) run(ctx context.Context) (err error) {
	if err := document.For[*fleet.Judgement]().Check(o.format); err != nil {
		return err
	}
	options := fleet.Options{Margin: float64(o.margin), FDR: float64(o.fdr), Slot: o.slot, Now: o.env.Now()}
	if options.Since, err = parseSince(o.since, options.Now); err != nil {
		return hint.Flag("since", o.since, err)
	}
	if o.expect != "" {
		files := o.env.Files()
		files.Stdin = os.Stdin
		if options.Expect, err = fleet.ReadExpect(ctx, files, o.expect); err != nil {
			return hint.Flag("expect", o.expect, err)
		}
	}
	if o.settled != "" {
		if options.Settled, err = fleet.ReadSettled(ctx, o.env.Files(), o.settled, o.slot); err != nil {
			return hint.Flag("settled", o.settled, err)
		}
	}
	var settled *output.File
	if o.settled != "" {
		settled, err = output.Opener{Stdout: o.env.Stdout, Stderr: o.env.Stderr}.Open(ctx, output.Named{Flag: "settled", Path: o.settled})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, settled.Close()) }()
	}
	if len(o.paths) == 0 {
		return hint.Usage(hint.With(errors.New("no path is given"), "gorun fleet judge /shared/visits"))
	}
	j, journals, err := fleet.Judge(ctx, o.paths, options)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	case journals != nil:
		return o.judgeHosts(ctx, journals)
	}
	j.Tool = tool()
	if err := document.Show(o.env.Stdout, j, o.format, o.env.Show); err != nil || settled == nil {
		return err
	}
	return settled.Write(j.Settled.Write)
}

// errNotVisits is the error for a format that only judgements of visits have.
var errNotVisits = errors.New("journals of a matrix name no slow nodes: this format is for visits")

// judgeHosts judges journals of one matrix from many hosts.
func (o *fleetJudgeOptions) judgeHosts(ctx context.Context, journals *fleet.Journals) error {
	if err := document.For[*fleet.Hosts]().Check(o.format); err != nil {
		return hint.Flag("format", o.format, errNotVisits)
	}
	runs, err := report.ReadAll(ctx, o.env.Files(), journals.Files, views)
	if err != nil {
		return err
	}
	h, err := fleet.JudgeHosts(runs)
	if err != nil {
		return err
	}
	h.Tool = tool()
	h.Warned = append(h.Warned, journals.Left...)
	return document.Show(o.env.Stdout, h, o.format, o.env.Show)
}

// parseSince parses a date, a time, or how long ago it is; "" is the zero time.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("give a date (2026-11-27), a time (2026-11-27T06:00:00Z) or how long ago it is (168h)")
}
