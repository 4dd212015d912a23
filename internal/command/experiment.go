// Package command is `gorun exec`: a command of the user's in a placement, or in all that can matter.
package command

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"gorun/internal/column"
	"gorun/internal/cpuset"
	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// Experiment is `gorun exec`.
var Experiment = experiment.Define(experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:  "exec",
		Args:  "[flags] -- COMMAND [ARGS…]",
		Words: true,
		Short: "Run your own command in a placement, or compare placements for it",
		Long: "The command runs with the CPUs, memory policy, scheduling policy, nice value and GOMAXPROCS that the flags ask\n" +
			"for, each read back before. gorun becomes the command, so that input, output, signals and exit code are its\n" +
			"own; with --stat it stays beside it, and prints on stderr what it used. Exit codes of gorun itself are those\n" +
			"of env(1): 125 the setting cannot be had, 126 the command cannot be run, 127 it was not found; 124 for --timeout.\n\n" +
			"--placements auto runs the command in every placement of this machine that can matter, in turns, and says\n" +
			"which is faster, by how much, and how to have it without gorun. gorun matrix exec compares other settings.",
		Example: "  gorun exec --placement one-llc -- sort -o /dev/null /etc/services\n" +
			"  gorun exec --cpus 0 --nice 5 --stat -- sleep 0.1\n" +
			"  gorun exec --placements auto --metric 'per second: *([0-9.]+)' --better higher -- sysbench cpu run",
		Matrix: "  gorun matrix exec --cpus '0 1' -- sort -o /dev/null /etc/services\n" +
			"  gorun matrix exec --nice 0,5 --gomaxprocs 1,2 --out nice.jsonl -- gzip --version",
	},
	Place:  experiment.Started,
	Single: []string{"stat", "placements"},
	Sweep: &experiment.Sweep{
		Flag: "placement", List: "placements",
		All: func(m experiment.Machine) (names []string) {
			for _, p := range launch.Placements(m.Machine, m.CPUs, memoryNodes(m)) {
				names = append(names, p.Name)
			}
			return names
		},
	},
	Judged:  column.List{column.CPU},
	Columns: columns,
	New:     func() experiment.Flags[Cell] { return &flags{} },
	Open: func(s experiment.Setting, _ []Cell) (experiment.Sampler[Cell], error) {
		return &sampler{Setting: s}, nil
	},
	View: &shown,
})

// Cell is a command, and what it is started with.
type Cell struct {
	Argv       []string
	Setting    launch.Setting
	Timeout    time.Duration // 0: none
	Metric     string        // a regular expression for the command's own figure; "": none
	Migrations bool          // moves between CPUs are counted
}

// flags are those of `gorun exec`.
type flags struct {
	placement  string
	mempolicy  string
	preferred  *int
	nice       experiment.Nice
	sched      experiment.Sched
	gomaxprocs int
	timeout    time.Duration
	metric     string
	better     string
	stat       bool
	placements string

	argv []string
}

func (f *flags) Register(set *experiment.FlagSet) {
	set.StringVar(&f.placement, "placement", "", "a `placement` by its name: "+strings.Join(launch.PlacementNames(), ", "))
	set.StringVar(&f.mempolicy, "mempolicy", "", "memory `policy`: "+strings.Join(linux.MempolicyUsages(), ", "))
	set.OptionalInt(&f.preferred, "preferred-node",
		"NUMA node that the scheduler prefers, by the prctl of a patched kernel; -1: none")
	f.nice.Register(set, "")
	f.sched.Register(set, "")
	set.IntVar(&f.gomaxprocs, "gomaxprocs", 0, "GOMAXPROCS in the command's environment (0: as it is)")
	set.Group("Placement")
	set.DurationVar(&f.timeout, "timeout", 0, "end the command and all its descendants after this time (0: never)")
	set.StringVar(&f.metric, "metric", "", "the command's own figure: a `regex` with one group, found in its output")
	set.StringVar(&f.better, "better", "", "which of two figures is better: "+result.Lower+" or "+result.Higher)
	set.BoolVar(&f.stat, "stat", false, "print on stderr what the command used")
	set.StringVar(&f.placements, "placements", "",
		"compare these `placements`, by commas, with the first; auto: all that can matter here")
	set.Group("Command")
	set.Words("placement", launch.PlacementUsages())
	set.Words("placements", append([]string{"auto\tall that can matter here"}, launch.PlacementUsages()...))
	set.Words("mempolicy", linux.MempolicyUsages())
	set.Words("better", []string{result.Lower, result.Higher})
}

// Arguments takes the command.
func (f *flags) Arguments(argv []string) error {
	if len(argv) == 0 {
		return hint.Usage(hint.With(errors.New("no command was given"), "gorun exec --cpus 0 -- COMMAND ARGS…"))
	}
	f.argv = argv
	return nil
}

func (f *flags) Validate() error {
	switch {
	case f.placements != "" && f.placement != "":
		return hint.Usagef("--placement and --placements exclude each other")
	case f.placement != "" && f.mempolicy != "":
		return hint.Usagef("--placement and --mempolicy exclude each other: a placement has its own")
	case f.preferred != nil && *f.preferred < -1:
		return hint.Usagef("--preferred-node %d: a node's number, or -1 for none", *f.preferred)
	case f.gomaxprocs < 0:
		return hint.Usagef("--gomaxprocs %d: it cannot be negative", f.gomaxprocs)
	case f.timeout < 0:
		return hint.Usagef("--timeout %v: it cannot be negative", f.timeout)
	case f.metric != "" && f.better != result.Lower && f.better != result.Higher:
		return hint.Usage(hint.With(errors.New("--metric does not say by itself which of two figures is better"),
			"add --better higher or --better lower"))
	case f.metric == "" && f.better != "":
		return hint.Usagef("--better is about a --metric, and there is none")
	case f.metric != "":
		if _, err := launch.ParseMetric(f.metric); err != nil {
			return hint.Flag("metric", f.metric, err)
		}
	}
	return cmp.Or(f.nice.Validate(), f.sched.Validate())
}

// memoryNodes returns the nodes that memory may come from on a machine; empty: all.
func memoryNodes(m experiment.Machine) (nodes cpuset.Set) {
	if m.Live {
		nodes, _ = linux.MemsAllowed() // what the kernel does not report is no restriction
	}
	return nodes
}

// place returns where the flags put the command. Without a machine, none of them asks for CPUs.
func (f *flags) place(m experiment.Machine) (p launch.Placement, err error) {
	switch {
	case f.placement != "":
		if p, err = launch.LookupPlacement(m.Machine, m.CPUs, memoryNodes(m), f.placement); err != nil {
			return p, hint.Flag("placement", f.placement, err)
		}
	case m.Machine != nil && !m.CPUs.Equal(m.Allowed()):
		p.CPUs = m.CPUs
	}
	return p, nil
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	p, err := f.place(m)
	if err != nil {
		return r, err
	}
	s := p.Setting()
	if f.mempolicy != "" {
		if s.Mempolicy, s.Nodes, err = linux.ParseMempolicy(f.mempolicy); err != nil {
			return r, hint.Flag("mempolicy", f.mempolicy, err)
		}
	}
	s.PreferredNode, s.Nice, s.Sched, s.GOMAXPROCS = f.preferred, f.nice.Nice, f.sched.Policy, f.gomaxprocs
	lines := s.Lines()
	lines.Kubernetes = p.Kubernetes
	cell := experiment.Cell[Cell]{
		Do: Cell{
			Argv: f.argv, Setting: s, Timeout: f.timeout, Metric: f.metric,
			Migrations: f.stat || m.Given("format") || m.Given("out"),
		},
		Lines: &lines,
	}
	if !s.CPUs.Empty() {
		cell.CPUs = map[string]result.CPUs{"cpus": experiment.DescribeCPUs(m.Machine, s.CPUs.List())}
	}
	r.Cells = []experiment.Cell[Cell]{cell}
	r.Placement = s.String()
	spec := spec{
		Command: f.argv, CPUs: s.CPUs.String(), Mempolicy: s.MempolicyFlag(), PreferredNode: s.PreferredNode, Nice: s.Nice,
		GOMAXPROCS: s.GOMAXPROCS, Timeout: f.timeout.Seconds(), Metric: f.metric, Better: f.better,
	}
	if s.Sched != nil {
		spec.Sched = s.Sched.String()
	}
	r.Spec = spec
	r.Plan = func(plan *result.Plan) { plan.CPUs, plan.Lines = s.CPUs.String(), &lines }
	r.Warnings = f.withoutEffect(m)
	r.Silent = !f.stat && f.metric == ""
	if r.Silent && f.timeout == 0 {
		r.Become = func(environ []string) error { return launch.Exec(s, f.argv, environ) }
	}
	return r, nil
}

// withoutEffect warns of what the kernel accepts and does not act on.
func (f *flags) withoutEffect(m experiment.Machine) []result.Warning {
	captured := m.Machine != nil && !m.Live
	if f.preferred == nil || *f.preferred < 0 || captured {
		return nil
	}
	if on, err := linux.ReadNUMABalancing(os.DirFS("/")); err != nil || on != 0 {
		return nil
	}
	return []result.Warning{{
		Code:    "preferred-node",
		Message: linux.PreferredNodeIgnored,
		Hint:    "as root: sysctl kernel.numa_balancing=1",
	}}
}

// spec is what was asked, by flag name.
type spec struct {
	Command       []string `json:"command"`
	CPUs          string   `json:"cpus"` // kernel list; "": as inherited
	Mempolicy     string   `json:"mempolicy,omitempty"`
	PreferredNode *int     `json:"preferred_node,omitempty"`
	Nice          *int     `json:"nice,omitempty"`
	Sched         string   `json:"sched,omitempty"`
	GOMAXPROCS    int      `json:"gomaxprocs,omitempty"`
	Timeout       float64  `json:"timeout_seconds,omitempty"`
	Metric        string   `json:"metric,omitempty"`
	Better        string   `json:"better,omitempty"`
}

// Of the end of a command's output, this many bytes are kept, for its figure and its last words.
const keptOutput = 1 << 20

// exitTimedOut is that of timeout(1).
const exitTimedOut = 124

// sampler runs the commands.
type sampler struct {
	experiment.Setting
	last launch.Outcome
}

// Sample runs the command of a cell. When it is what the user sees, it may fail; of a comparison, a command that failed
// or never ran is an invalid sample.
func (s *sampler) Sample(ctx context.Context, c Cell) (sample result.Sample, err error) {
	r := launch.Request{Setting: c.Setting, Command: launch.Command{
		Self: s.Self.In(s.Environ), Argv: c.Argv, Keep: keptOutput, Timeout: c.Timeout, Migrations: c.Migrations,
	}}
	if c.Metric != "" {
		metric, err := launch.ParseMetric(c.Metric)
		if err != nil {
			return sample, err
		}
		r.Metric = &metric
	}
	if s.Passed {
		r.Passed, r.Stdin, r.Stdout, r.Stderr = true, os.Stdin, os.Stdout, os.Stderr
		if r.Metric == nil {
			r.Keep = 0 // nothing stands between the command and its output
		}
	}
	sample, s.last, err = r.Measure(ctx, s.Machine)
	switch failure := s.last.Failure(); {
	case s.Passed:
		return sample, err
	case err != nil:
		return result.InvalidSample(err), nil
	case failure != "":
		sample.Doubts = append([]result.Doubt{{Verdict: result.Invalid, Reason: failure}}, sample.Doubts...)
	}
	return sample, nil
}

// End has gorun end as the command did that the user has seen.
func (s *sampler) End() (warnings []result.Warning, err error) {
	if !s.Passed {
		return nil, nil
	}
	if s.last.MovesWorse != nil {
		warnings = append(warnings, *s.last.MovesWorse)
	}
	switch {
	case s.last.TimedOut:
		err = experiment.Status(exitTimedOut)
	case s.last.ExitCode != 0:
		err = experiment.Status(s.last.ExitCode)
	}
	return warnings, err
}

func (s *sampler) Close() error { return nil }
