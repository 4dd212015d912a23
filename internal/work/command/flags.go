package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/experiment"
	"gorun/internal/guard/dedicate"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/place/named"
	"gorun/internal/record/result"
	"gorun/internal/sample/printed"
	"gorun/internal/sample/server"
	"gorun/internal/show/apply"
	"gorun/internal/start/launch"
)

// flags are the flags of `gorun exec`.
type flags struct {
	experiment.Placing
	experiment.Metrics
	serving    server.Flags
	timeout    time.Duration
	stat       bool
	placements string
	dedicate   string
	all        bool
	device     string
	copies     string
	bind       string

	command, name                     string
	shell                             bool
	setup, prepare, conclude, cleanup string
	input, output                     string
	exits                             exits // that are not failures

	revisions Revisions // nil: cells are none
	revision  string

	argv    []string
	missing error // no command was given
	hooks   Hooks
	metrics []printed.Metric
	judged  experiment.ComparedBy
}

func (f *flags) Register(set *experiment.FlagSet) {
	f.Placing.Register(set)
	set.StringVar(&f.dedicate, "dedicate", "", "run the command on this `CPU`, and move the threads of your other processes off it\n"+
		"meanwhile; none: move nothing")
	set.BoolVar(&f.all, "all", false, "with --dedicate: also move other users' threads, movable kernel threads and interrupts (as root)")
	set.StringVar(&f.copies, "copies", "", "run `N` copies at the same time, or compare 1,2,4 (gorun help copies)")
	set.StringVar(&f.bind, "bind", "", "with --copies: copy i has mask i mod n of these `masks`: CPU lists, separated by spaces")
	set.Group("Placement")
	set.DurationVar(&f.timeout, "timeout", 0, "end the command and all its descendants after this time (0: never)")
	figures := "metrics"
	if f.revisions != nil {
		figures = "metrics, or else of wall time"
	}
	f.Metrics.Register(set, "the command's own figure: a `regex` with one group, found in its output (repeatable)", figures)
	set.BoolVar(&f.stat, "stat", false, "print on stderr what the command used")
	set.StringVar(&f.placements, "placements", "",
		"compare these `placements`, by commas, with the first; auto: all that can matter here")
	set.StringVar(&f.command, "command", "", "the `command` as one text, in place of the words after --")
	set.StringVar(&f.name, "name", "", "the command's name in tables")
	set.BoolVar(&f.shell, "shell", false, "run --command, --setup and similar commands by sh -c")
	set.StringVar(&f.setup, "setup", "", "run this `command` once, before the first sample; what it leaves running lives until\nafter --cleanup")
	set.StringVar(&f.prepare, "prepare", "", "run this `command` before each sample, not timed (gorun help ab)")
	set.StringVar(&f.conclude, "conclude", "", "run this `command` after each sample, not timed")
	set.StringVar(&f.cleanup, "cleanup", "", "run this `command` once, after the last sample")
	set.StringVar(&f.input, "input", "", "a `file` that the command reads as its standard input")
	set.StringVar(&f.output, "output", "", "where stdout goes: null, pipe, inherit, or a `file` (gorun help ab)")
	set.Var(&f.exits, "ignore-failure", "accept exit codes other than 0: any, or with = only these `codes`, by commas;\n128+n is signal n")
	set.Lookup("ignore-failure").NoOptDefVal = anyExit
	set.StringVar(&f.device, "device", "",
		"add CPUs near this `device`, and far from it, to --placements auto: eth0, nvme0 (gorun topo lists them)")
	f.serving.Register(set, "the server that the command uses")
	if f.revisions != nil {
		set.StringVar(&f.revision, "revision", "", "the `revision` of the command")
		set.Lookup("revision").Hidden = true // a group of cells has it
	}
	set.Group("Command")
	set.Rare("bind", "prepare", "preferred-node", "all", "command", "name", "shell", "setup", "conclude", "cleanup", "input", "ignore-failure", "device")
	set.On("device", (*topology.Machine).CompleteDevices)
	set.Lists("placements", append([]string{named.Auto + "\tall that can matter here", "copies\tof --copies"}, named.Completions()...))
	set.Lists("copies", []string{autoCopies})
	experiment.Bound(set, &f.timeout, "timeout", 0, math.MaxInt64)
}

// Arguments parses the command.
func (f *flags) Arguments(argv []string) error {
	switch {
	case len(argv) > 0 && f.command != "":
		return hint.Usagef("--command and words after the flags exclude each other: each is the command")
	case f.command != "":
		return nil
	case len(argv) == 0:
		f.missing = hint.Usage(hint.With(errors.New("no command was given"), "gorun exec --cpus 0 -- COMMAND ARGS…"))
		argv = []string{"true"} // by which the flags are checked
	}
	f.argv = argv
	return nil
}

// split divides the commands that were given as one text into words.
func (f *flags) split() error {
	for _, of := range []struct {
		flag, text string
		to         *[]string
	}{
		{"command", f.command, &f.argv},
		{"setup", f.setup, &f.hooks.Setup},
		{"prepare", f.prepare, &f.hooks.Prepare},
		{"conclude", f.conclude, &f.hooks.Conclude},
		{"cleanup", f.cleanup, &f.hooks.Cleanup},
	} {
		switch {
		case of.text == "":
		case f.shell:
			*of.to = []string{"/bin/sh", "-c", of.text}
		default:
			words, err := shell.Split(of.text)
			if err != nil {
				return hint.Flag(of.flag, of.text, err)
			}
			*of.to = words
		}
	}
	return nil
}

func (f *flags) Validate() error {
	switch {
	case f.placements != "" && f.Placement != "":
		return hint.Usagef("--placement and --placements exclude each other")
	case f.placements != "" && f.Mempolicy != "":
		return hint.Usagef("--placements and --mempolicy exclude each other: a placement has its own")
	case f.all && f.dedicate == "":
		return hint.Usagef("--all is about --dedicate, which was not given")
	case f.Placement != "" && f.dedicates():
		return hint.Usagef("--placement and --dedicate exclude each other: the command runs on the CPU that is dedicated to it")
	case f.placements != "" && f.dedicates():
		return hint.Usage(hint.With(errors.New("--placements and --dedicate exclude each other: the command runs on the CPU that is "+
			"dedicated to it"), "gorun matrix exec --dedicate none,"+f.dedicate+" compares with and without"))
	case f.device != "" && f.placements != named.Auto:
		return hint.Usage(hint.With(errors.New("--device adds to --placements auto, and there is none"),
			fmt.Sprintf("add --placements auto, or name the placements: near-%s, far-%[1]s", f.device)))
	case f.shell && f.command+f.setup+f.prepare+f.conclude+f.cleanup == "":
		return hint.Usage(hint.With(errors.New("--shell is for a command that is one text, and there is none"),
			"--shell --command "+shell.Quote(shell.Join(f.argv))))
	case f.Metric != "" && f.output != "":
		return hint.Usagef("--metric and --output exclude each other: the figure is found in the output")
	case f.Metric == "" && f.Better != "" && f.revisions == nil:
		return hint.Usagef("--better needs --metric")
	}
	return cmp.Or(f.validateCopies(), f.Placing.Validate(), f.serving.Validate(), f.split(), f.parseMetrics())
}

// parseMetrics reads --metric and --better.
func (f *flags) parseMetrics() (err error) {
	f.judged, err = f.Metrics.Parse(func(text string) (experiment.Judged, error) {
		metric, err := printed.New(text)
		f.metrics = append(f.metrics, metric)
		name := printed.Name(text)
		return experiment.Judged{Name: name, Label: cmp.Or(name, fmt.Sprintf("metric %d", len(f.metrics)))}, err
	})
	return hint.Usage(err)
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	defer func() { err = cmp.Or(err, f.missing) }()
	request, err := f.dedicated(m)
	if err != nil {
		return r, err
	}
	if request != nil {
		m.CPUs = cpuset.Of(request.CPU)
	}
	counts, err := f.counts(m)
	if f.copies != "" && err == nil {
		defer func() { r.Resources = experiment.Resources{Copies: slices.Max(counts), Less: "give fewer --copies"} }()
	}
	switch {
	case err != nil:
		return r, err
	case len(counts) > 1:
		return f.scale(m, counts)
	}
	n := counts[0]
	if f.placements != "" {
		return f.compare(m, n)
	}
	p, err := f.placedFor(m, n)
	if err != nil {
		return r, err
	}
	used, err := f.serving.Find(m)
	if err != nil {
		return r, err
	}
	r.Cells = []experiment.Cell[Cell]{f.cell(m, p, n, request, used)}
	r.Placement = r.Cells[0].Do.requested()
	if request != nil {
		r.Placement += ", others moved off"
	}
	spec := spec{
		Command: f.argv, SettingFlags: experiment.FlagsOf(p.Setting), Timeout: f.timeout.Seconds(), Metric: f.Metric, Better: f.Better,
		Name: f.name, Copies: f.copies, Bind: f.bind, Hooks: f.hooks, Input: f.input, Output: f.output, IgnoreFailure: f.exits.String(),
	}
	if request != nil {
		spec.Dedicate, spec.All = &request.CPU, request.All
	}
	r.Spec = spec
	r.Plan = func(plan *result.Plan) {
		plan.CPUs, plan.Lines, plan.Chosen = p.CPUs.String(), r.Cells[0].Lines, p.Chosen
		if request != nil && m.Live {
			if d, err := dedicate.Plan(*request); err == nil { // the run reports the error
				plan.Dedicated = &d
			}
		}
	}
	r.Compared = f.compared()
	r.Warnings = f.withoutEffect(m)
	r.Silent = !f.stat && f.Metric == ""
	plain := f.input+f.output == "" && len(f.exits) == 0 && f.setup+f.prepare+f.conclude+f.cleanup == "" && request == nil && used == nil &&
		f.copies == ""
	if r.Silent && f.timeout == 0 && plain {
		r.Exec = func(environ []string) error { return launch.Exec(p.Setting, f.argv, environ) }
	}
	return r, nil
}

// cell returns the cell of a placement with n processes.
func (f *flags) cell(m experiment.Machine, p named.Placement, n int, request *dedicate.Request, used *server.Server) experiment.Cell[Cell] {
	lines := apply.Lines(p, nil)
	return experiment.Cell[Cell]{
		Do: Cell{
			Revision: f.revision, Name: f.name, Argv: f.argv, Hooks: f.hooks, Input: f.input, Output: f.output, Exits: f.exits,
			Settings: p.Each(n), Copies: f.copies != "", Timeout: f.timeout, Metrics: f.metrics,
			Migrations: f.stat || slices.ContainsFunc([]string{"format", "out", "why", "metrics-listen", "metrics-textfile"}, m.Given),
			Why:        m.Given("why"),
			Dedicate:   request, Server: used,
		},
		Row: experiment.Row{
			Lines: &lines, Chosen: p.Chosen, CPUs: m.CellCPUs(p.Setting),
		},
	}
}

// compare resolves --placements: a cell for each.
func (f *flags) compare(m experiment.Machine, n int) (r experiment.Resolution[Cell], err error) {
	placements, err := f.listed(m.Placements(), n)
	if err != nil {
		return r, err
	}
	if len(placements) == 1 {
		return r, hint.With(fmt.Errorf("nothing to compare: CPUs %s allow only one placement, %s", m.CPUs, placements[0].Name),
			"give more CPUs, or compare other settings by gorun matrix exec")
	}
	used, err := f.serving.Find(m)
	if err != nil {
		return r, err
	}
	for _, p := range placements {
		if p, err = f.PlacedIn(m, p); err != nil {
			return r, err
		}
		cell := f.cell(m, p, n, nil, used)
		cell.Name, cell.Flags = "--placement "+p.Name, map[string]string{"placement": p.Name}
		r.Cells = append(r.Cells, cell)
	}
	r.Compared, r.Warnings = f.compared(), f.withoutEffect(m)
	return r, nil
}

// listed returns the placements of --placements, for n processes.
func (f *flags) listed(of named.Scope, n int) (placements []named.Placement, err error) {
	switch {
	case f.placements == "copies" && f.copies == "":
		return nil, hint.Flag("placements", f.placements, hint.With(errors.New("there are no copies"), "add --copies 2"))
	case f.placements == "copies" || f.placements == named.Auto && n > 1:
		return of.AllOfCopies(n), nil
	case f.placements == named.Auto:
		if placements, err = of.All(f.device); err != nil {
			err = hint.Flag("device", f.device, err)
		}
		return placements, err
	}
	names := strings.Split(f.placements, ",")
	refuse := func(err error) ([]named.Placement, error) { return nil, hint.Flag("placements", f.placements, err) }
	for i, name := range names {
		name = strings.TrimSpace(name)
		if slices.ContainsFunc(placements, func(p named.Placement) bool { return p.Name == name }) {
			return refuse(fmt.Errorf("%s is there twice", name))
		}
		p, err := f.lookup(of, name, n)
		if err != nil {
			return refuse(err)
		}
		if placements = append(placements, p); len(names) == 1 && i == 0 {
			return refuse(hint.With(errors.New("one value cannot be compared"), "give several, joined by commas, or auto"))
		}
	}
	return placements, nil
}

// withoutEffect returns warnings about settings that the kernel accepts but ignores.
func (f *flags) withoutEffect(m experiment.Machine) []result.Warning {
	captured := m.Machine != nil && !m.Live
	if f.PreferredNode() == nil || *f.PreferredNode() < 0 || captured {
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

// spec holds the request by flag name.
type spec struct {
	Command []string `json:"command"`
	experiment.SettingFlags
	Dedicate *int    `json:"dedicate,omitempty"` // the CPU
	All      bool    `json:"all,omitempty"`
	Timeout  float64 `json:"timeout_seconds,omitempty"`
	Metric   string  `json:"metric,omitempty"`
	Better   string  `json:"better,omitempty"`
	Name     string  `json:"name,omitempty"`
	Copies   string  `json:"copies,omitempty"`
	Bind     string  `json:"bind,omitempty"`
	Hooks
	Input         string `json:"input,omitempty"`
	Output        string `json:"output,omitempty"`
	IgnoreFailure string `json:"ignore_failure,omitempty"`
}
