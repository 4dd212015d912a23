package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/experiment"
	"gorun/internal/place/subject"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/sample/printed"
	"gorun/internal/sample/server"
)

// Source finds the program and has what is the same for all cells. Its settings are those that --vary and the flags of a cell list.
type Source struct {
	pid      int
	group    string
	unit     string
	children bool
	pages    bool
	vary     []string
	auto     bool // one of these asks for the placements that can matter

	experiment.Metrics
	url      string
	load     string
	log      string
	perBlock bool
	abort    string

	block, washout time.Duration
	given          struct{ block, washout func() bool }

	serving server.Flags
	server  *server.Server // nil: there is none

	loadArgv []string
	metrics  []metric
	compared experiment.ComparedBy
	abortIf  condition
	found    *subject.State // nil: there is none, as for a captured machine
	program  *subject.Subject
}

// Register implements experiment.Source.
func (s *Source) Register(set *experiment.FlagSet) {
	set.IntVar(&s.pid, "pid", 0, "the program: all threads of the process with this `PID`")
	set.BoolVar(&s.children, "children", false, "with --pid: also its descendants")
	set.StringVar(&s.group, "cgroup", "", "the program: the processes of the control group in this `directory`")
	set.StringVar(&s.unit, "unit", "", "the program: the processes of this `unit` of systemd")
	set.BoolVar(&s.pages, "migrate-pages", false, "with --vary mems=…: also move the pages that the program has (cpuset(7), memory migration)")
	set.Group("Program")
	set.StringArrayVar(&s.vary, "vary", nil, "compare these `settings`, the first is the baseline: placement=as-is,one-cpu, or\n"+
		"placement=auto for all that can matter here; cpus=0,1; nice=0,5; sched=other,batch; mems=0,1\n(repeatable: all combinations)")
	set.DurationVar(&s.block, "block", defaultBlock, "time in which a setting is measured")
	set.DurationVar(&s.washout, "washout", defaultWashout, "time after a switch that is not measured; without it, longer where a pilot finds so")
	set.StringVar(&s.abort, "abort-if", "", "put everything back and stop when a figure is beyond a bound: a `condition` such as 'metric>5'")
	set.Group("Blocks")
	s.Metrics.Register(set, "a `figure` to judge: a regex for lines of --load with a group (the figure of a line)\n"+
		"or none (lines a second), a metric of --metric-url, or process:run-queue (repeatable: all are judged)", "figures")
	set.StringVar(&s.url, "metric-url", "", "a Prometheus endpoint at this `URL`, whose metrics are NAME{label=\"value\"}: a gauge, the\n"+
		"rate of a counter, or histogram_quantile(0.99, NAME); rate(NAME) and gauge(NAME) say how to read it")
	set.StringVar(&s.load, "load", "", "a load generator: a `command` that runs throughout")
	set.StringVar(&s.log, "load-log", "", "the figures are in lines that the load appends to these `files` (a pattern)")
	set.BoolVar(&s.perBlock, "load-per-block", false, "run the load once in each block, which ends with it; the figure is in its whole output")
	s.serving.Register(set, "a load that runs elsewhere, or of what else the program needs")
	set.Group("Figures")
	set.Rare("migrate-pages", "load-log", "load-per-block", "abort-if")
	set.Neutral("pid", "abort-if") // which program it is, is compared
	experiment.Bound(set, &s.block, "block", time.Millisecond, math.MaxInt64)
	experiment.Bound(set, &s.washout, "washout", 0, math.MaxInt64)
	s.given.block = func() bool { return set.Changed("block") }
	s.given.washout = func() bool { return set.Changed("washout") }
}

// Open implements experiment.Source.
func (s *Source) Open(_ context.Context, o experiment.Opening) (f experiment.Found, err error) {
	if err := s.validate(o); err != nil {
		return f, hint.Usage(err)
	}
	f.One = o.One
	if err := s.continues(o.Recorded); err != nil {
		return f, err
	}
	f.Common = map[string]string{"block": s.block.String(), "metric": strings.ReplaceAll(s.Metric, "\n", ", ")}
	if s.load != "" {
		f.Common["load"] = s.load
	}
	if s.url != "" {
		f.Common["metric-url"] = s.url
	}
	lacks := s.lacks(o)
	if !o.Captured && lacks == nil {
		if err := s.find(); err != nil {
			return f, err
		}
	}
	few, err := s.settings(o)
	f.Missing = hint.Usage(cmp.Or(lacks, few))
	if err != nil || o.Captured || f.Missing != nil {
		return f, hint.Usage(err)
	}
	if s.server, err = s.serving.Find(experiment.Machine{CPUs: o.Machine.Allowed(), Root: os.DirFS("/"), Live: true}); err != nil {
		return f, err
	}
	if s.server != nil {
		pid, err := s.program.Shared(s.server.Who)
		if err == nil && pid > 0 {
			err = fmt.Errorf("process %d is part of the program itself", pid)
		}
		if err != nil {
			return f, s.serving.Refuse(err)
		}
	}
	f.Common["program"] = fmt.Sprintf("%s, %v", s.found.Name, s.found.Who)
	f.Plan = s.plan
	f.Within = Budget
	return f, nil
}

// Budget is the default budget. A verdict needs eight rounds, which take a quarter of a minute.
const Budget = 2 * time.Minute

// continues takes over the lengths that the pilot of the run found which is to be continued, if there is one.
func (s *Source) continues(run *result.Run) (err error) {
	if run == nil {
		return nil
	}
	done, _ := run.Spec.(map[string]any)
	for name, length := range map[string]*time.Duration{"block": &s.block, "washout": &s.washout} {
		if text, is := done[name].(string); is && done["washout"] != nil { // older journals have only what was asked for
			if *length, err = time.ParseDuration(text); err != nil {
				return fmt.Errorf("--out: %s of the run: %w", name, err)
			}
			s.given.block, s.given.washout = fixed, fixed
		}
	}
	return nil
}

func fixed() bool { return true }

// Settled implements experiment.Settler.
func (s *sampler) Settled() map[string]string {
	return map[string]string{"block": s.block.String(), "washout": s.washout.String()}
}

// Close implements experiment.Source.
func (s *Source) Close() error {
	if s.program == nil {
		return nil
	}
	err := s.program.Close()
	s.program = nil
	return err
}

// validate checks the flags that need no program.
func (s *Source) validate(o experiment.Opening) error {
	if len(o.Args) > 0 {
		return hint.With(fmt.Errorf("gorun live takes no arguments, but got %q", o.Args[0]), "a load generator is given as --load 'COMMAND'")
	}
	switch {
	case s.pid < 0:
		return hint.Flag("pid", strconv.Itoa(s.pid), errors.New("a PID is a positive number"))
	case s.children && s.pid == 0:
		return errors.New("--children is about --pid, which was not given")
	case s.pages && s.pid != 0:
		return hint.With(errors.New("--migrate-pages needs a cpuset"), "name the program's control group by --cgroup")
	case s.perBlock && s.load == "":
		return errors.New("--load-per-block needs --load")
	case s.log != "" && s.load == "":
		return errors.New("--load-log is about --load, which was not given")
	case s.serving.Validate() != nil:
		return s.serving.Validate()
	case s.log != "" && s.perBlock:
		return errors.New("--load-log and --load-per-block exclude each other")
	}
	for _, text := range s.vary {
		if name, _, named := strings.Cut(text, "="); !named || !slices.Contains(varied, name) {
			return hint.Flag("vary", text, hint.With(errors.New("it names no setting and its values"),
				"settings are "+strings.Join(varied, ", ")+", as in --vary nice=0,5"))
		}
	}
	if s.load != "" {
		words, err := shell.Split(s.load)
		if err != nil {
			return hint.Flag("load", s.load, err)
		}
		s.loadArgv = words
	}
	if s.url != "" {
		if _, err := metrics.NewEndpoint(s.url); err != nil {
			return hint.Flag("metric-url", s.url, err)
		}
	}
	return cmp.Or(s.parseMetrics(), s.parseAbort())
}

// lacks returns an error for a flag that was not given and is needed.
func (s *Source) lacks(o experiment.Opening) error {
	named := 0
	for _, is := range []bool{s.pid != 0, s.group != "", s.unit != ""} {
		if is {
			named++
		}
	}
	switch {
	case named > 1:
		return hint.With(errors.New("--pid, --cgroup and --unit exclude each other: each names a program"), "give one of them")
	case named == 0 && !o.Captured:
		return hint.With(errors.New("which program?"), "give one of --pid, --cgroup and --unit")
	case len(s.vary) == 0 && !slices.ContainsFunc(varied, func(flag string) bool { return len(o.Values(flag)) > 0 }):
		return hint.With(errors.New("say what to compare: --vary"), compareAuto)
	case s.Metric == "" && !o.One:
		return hint.With(errors.New("say what to measure: --metric"),
			"--metric REGEX --load 'COMMAND', or --metric NAME --metric-url URL, or --metric process:run-queue")
	}
	return nil
}

// find finds the program.
func (s *Source) find() (err error) {
	who := subject.Who{PID: s.pid, Children: s.children}
	flag, value := "pid", strconv.Itoa(s.pid)
	switch {
	case s.group != "":
		flag, value = "cgroup", s.group
		who.Group, err = groupDir(s.group)
	case s.unit != "":
		flag, value = "unit", s.unit
		who.Group, err = unitDir(s.unit)
	}
	if err == nil {
		s.program, err = subject.Open(who)
	}
	if errors.Is(err, subject.ErrEnded) {
		err = errors.New("it has no process")
	}
	if err == nil {
		s.found, err = s.program.Look()
	}
	if err == nil {
		err = s.found.InUse()
	}
	if err != nil {
		return hint.Flag(flag, value, err)
	}
	return nil
}

// cgroupMount is where control groups are mounted (file-hierarchy(7)).
const cgroupMount = "/sys/fs/cgroup"

// groupDir returns the directory of a control group: a path, or one below the mount of the cpuset controller or of cgroup v2.
func groupDir(name string) (string, error) {
	places := []string{name}
	if !filepath.IsAbs(name) {
		places = []string{filepath.Join(cgroupMount, name), filepath.Join(cgroupMount, "cpuset", name)}
	}
	for _, dir := range places {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Clean(dir)), "cgroup.procs")); err != nil {
			return "", errors.New("it is the root of its hierarchy, which holds the whole machine")
		}
		return filepath.Clean(dir), nil
	}
	return "", hint.With(errors.New("there is no such control group"), "a directory with a file cgroup.procs, as /sys/fs/cgroup/system.slice/nginx.service")
}

// unitDir returns the control group of a unit of systemd: the directory of its name, in the hierarchy that systemd uses.
func unitDir(unit string) (string, error) {
	if !strings.Contains(unit, ".") {
		unit += ".service"
	}
	for _, mount := range []string{cgroupMount, filepath.Join(cgroupMount, "systemd"), filepath.Join(cgroupMount, "unified")} {
		for _, pattern := range []string{"*.slice", "*.slice/*.slice", "user.slice/*/user@*.service/*.slice"} {
			dirs, _ := filepath.Glob(filepath.Join(mount, pattern, unit, "cgroup.procs"))
			if len(dirs) > 0 {
				return filepath.Dir(dirs[0]), nil
			}
		}
	}
	return "", hint.With(errors.New("no unit of this name runs"), "systemctl status shows units, and --cgroup takes a directory")
}

// plan adds the program to a plan.
func (s *Source) plan(plan *result.Plan) {
	of := &result.PlanProgram{Who: s.found.Who.String(), By: subject.How(s.found.Who)}
	pids := map[int]bool{}
	for _, t := range s.found.Threads {
		pids[t.PID] = true
		of.Threads = append(of.Threads, result.PlanThread{
			PID: t.PID, TID: t.TID, Name: t.Name, CPUs: t.CPUs.String(), Nice: t.Nice, Sched: t.Sched.String(),
		})
	}
	of.Processes = len(pids)
	plan.Program = of
}

// parseMetrics reads --metric and --better.
func (s *Source) parseMetrics() (err error) {
	s.compared, err = s.Metrics.Parse(func(text string) (experiment.Judged, error) {
		m, err := s.parseMetric(text)
		m.text = text
		s.metrics = append(s.metrics, m)
		return m.Judged, err
	})
	if err != nil || s.metrics == nil || slices.ContainsFunc(s.metrics, func(m metric) bool { return m.quantile == 0 }) {
		return err
	}
	return hint.With(errors.New("a latency quantile needs a rate beside it"), fmt.Sprintf(
		"add --metric %s --better higher: a histogram has no time that requests wait before the handler", s.metrics[0].series.Name+"_count"))
}

// condition is that of --abort-if.
type condition struct {
	column string
	above  bool
	bound  units.Printed // without a unit, in that of the first sample
}

var conditionText = lazy.Regexp(`^\s*([a-z0-9_]+)\s*([<>])\s*(\S+)\s*$`)

// parseAbort reads --abort-if.
func (s *Source) parseAbort() error {
	if s.abort == "" {
		return nil
	}
	refuse := func(err error) error { return hint.Flag("abort-if", s.abort, err) }
	parts := conditionText().FindStringSubmatch(s.abort)
	if parts == nil {
		return refuse(errors.New("a column, < or >, and a number are needed, as in 'metric>5'"))
	}
	bound, err := printed.Parse(parts[3])
	if err != nil {
		return refuse(err)
	}
	if _, known := columns.Find(parts[1]); !known {
		return refuse(hint.With(fmt.Errorf("there is no column %s", parts[1]), "metric is the first --metric, metric_2 the second; gorun help figures lists all"))
	}
	s.abortIf = condition{parts[1], parts[2] == ">", bound}
	return nil
}

// holds reports whether a sample is beyond the bound. A run has these units, by column.
func (c condition) holds(sample *result.Sample, of map[string]string) (bool, error) {
	column, _ := columns.Find(c.column)
	figure, known := column.Number(sample)
	if !known {
		return false, nil
	}
	unit, first := sample.Units[c.column], cmp.Or(c.bound.Unit, of[c.column])
	bound := c.bound.Value
	if first != "" { // else it is the first
		is, err := units.Printed{Value: figure, Unit: unit}.In(first)
		if err != nil {
			return false, err
		}
		figure = is.Value
	}
	return c.above && figure > bound || !c.above && figure < bound, nil
}
