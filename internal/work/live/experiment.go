// Package live is `gorun live`: placements of a program that keeps running, such as a server, switched in blocks of time and judged by
// its own figures or by those of a load. Package program switches it.
package live

import (
	"fmt"
	"os"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/place/named"
	"gorun/internal/place/subject"
	"gorun/internal/show/apply"
)

// Experiment shows runs of `gorun live`. Of returns the one that takes samples.
var Experiment = Of(&Source{})

// Of returns the experiment that switches the program of a source.
func Of(source *Source) experiment.Experiment {
	return experiment.Define(experiment.Definition[Cell]{
		Text: experiment.Text{
			Name:       "live",
			Outlasting: true,
			Args:       "--pid N | --cgroup PATH | --unit NAME  --vary placement=auto  --metric FIGURE",
			Short:      "Compare placements for a program that keeps running, such as a server",
			Long: "The threads of the program are switched between settings in blocks of time, in a random order, and each setting is\n" +
				"judged against the first one. Before each block another setting is given briefly, so that all blocks follow a\n" +
				"switch; then the program settles and is measured. At the end, also if gorun is killed, each thread has again what\n" +
				"it had. gorun help server has a whole example.",
			Example: "  gorun live --pid 4711 --vary placement=auto --metric 'rps=([0-9.]+)' --better higher --load './client'\n" +
				"  gorun live --pid 4711 --children --vary placement=unbound,one-llc --metric process:run-queue --with-pid 4712\n" +
				"  gorun live --unit app --vary placement=as-is,node:0 --metric-url http://localhost:9113/metrics \\\n" +
				"      --metric app_requests_total --metric 'histogram_quantile(0.99, app_seconds)' --better higher,lower\n" +
				"  gorun live --restore",
		},
		Traits: experiment.Traits{
			Place:   experiment.Lasting,
			Columns: columns,
			View:    &shown,
		},
		New: func() experiment.Flags[Cell] { return &flags{source: source} },
		Open: func(s experiment.Environment, cells []Cell) (experiment.Sampler[Cell], error) {
			return newSampler(s, source, cells), nil
		},
	})
}

// Cell is a setting of the program.
type Cell struct {
	Name    string // as it was given
	Setting subject.Setting
}

// flags are those of a cell.
type flags struct {
	source    *Source
	placement string
	nice      *int
	sched     *linux.Sched
	nodes     string
}

func (f *flags) Register(set *experiment.FlagSet) {
	set.StringVar(&f.placement, "placement", "", "a `placement` of gorun exec by its name, CPUs such as node:0 or 0-3, or\n"+
		named.AsIs+": what each thread had")
	set.Nice(&f.nice, "")
	set.Sched(&f.sched, "")
	set.StringVar(&f.nodes, "mems", "", "memory `nodes` of the program, by its cpuset")
	set.On("placement", func(m *topology.Machine, text string) []string {
		return append([]string{named.AsIs + "\twhat each thread had"}, named.Complete(m, text)...)
	})
	set.Group("Settings")
}

func (f *flags) Resolve(m experiment.Machine) (r experiment.Resolution[Cell], err error) {
	cell := experiment.Cell[Cell]{}
	given := !m.CPUs.Equal(m.Allowed())
	if !given {
		m.CPUs = f.source.allowed(m.Machine)
	}
	var of named.Placement
	switch f.placement {
	case named.AsIs:
	case "":
		if given {
			of.CPUs = m.CPUs
		}
	default:
		if of, err = running(m).Lookup(f.placement); err != nil {
			return r, hint.Flag("placement", f.placement, err)
		}
	}
	of.Nice, of.Sched = f.nice, f.sched
	if f.nodes != "" {
		of.Mempolicy = linux.MempolicyBind
		if of.Nodes, err = m.SelectMemory(f.nodes); err != nil {
			return r, hint.Flag("mems", f.nodes, err)
		}
	}
	set := subject.Setting{Setting: of.Setting, Pages: f.source.pages && f.nodes != ""}
	lines := apply.Lines(of, f.source.running())
	cell.Lines, cell.Chosen, cell.CPUs = &lines, of.Chosen, m.CellCPUs(of.Setting)
	cell.Do = Cell{Name: title(f.placement, set), Setting: set}
	cell.Program = f.source.identity()
	r.Cells = []experiment.Cell[Cell]{cell}
	r.Placement = set.String()
	r.Compared = f.source.compared
	return r, nil
}

// title returns the name of a setting as it was given: with the name of its placement instead of the CPUs.
func title(placement string, of subject.Setting) string {
	if placement == "" {
		return of.String()
	}
	if of.CPUs = (cpuset.Set{}); of.String() != (subject.Setting{}).String() {
		placement += ", " + of.String()
	}
	return placement
}

// allowed returns the CPUs that the program may use, whatever gorun may.
func (s *Source) allowed(m *topology.Machine) cpuset.Set {
	if s.found == nil {
		return m.Allowed()
	}
	return s.found.Allowed.Intersect(m.Online())
}

// running says how the program that runs can be given a setting; nil: there is none, as for a captured machine.
func (s *Source) running() *apply.Running {
	if s.found == nil {
		return nil
	}
	who := s.found.Who
	r := apply.Running{PID: who.PID, Children: who.Children, Group: who.Group}
	keeper := cgroup.KeeperOf(who.Group)
	if who.PID != 0 {
		keeper = cgroup.Keeps(os.DirFS("/"), who.PID)
	}
	r.Unit, r.User, r.Container = keeper.Unit, keeper.User, keeper.Container
	return &r
}

// identity is what a run must not continue without.
func (s *Source) identity() string {
	if s.found == nil {
		return ""
	}
	return strings.TrimSpace(fmt.Sprint(s.found.Who, " ", s.found.Who.Start))
}

// Defaults of the blocks.
const (
	defaultBlock   = 200 * time.Millisecond
	defaultWashout = 200 * time.Millisecond
	// goWashout is the washout of a Go program whose GOMAXPROCS follows its mask, once a second (runtime.SetDefaultGOMAXPROCS, Go 1.25).
	goWashout = 1200 * time.Millisecond
)
