// Package command is the experiment of `gorun exec` and `gorun ab`: the user's command in a placement, or in all placements that
// can make a difference on a machine, with what is measured of it. Package launch runs it.
package command

import (
	"context"
	"strings"
	"time"

	"gorun/internal/experiment"
	"gorun/internal/guard/dedicate"
	"gorun/internal/judge/matrix"
	"gorun/internal/machine/topology"
	"gorun/internal/place/placement"
	"gorun/internal/record/column"
	"gorun/internal/sample/printed"
	"gorun/internal/sample/server"
	"gorun/internal/start/launch"
)

// Experiment is `gorun exec`.
var Experiment = Of(nil)

// Revisions has the folders in which revisions of a program run.
type Revisions interface {
	// Dir returns that of a revision, which is built when it is asked for first.
	Dir(ctx context.Context, revision string) (string, error)
}

// Of returns the experiment whose cells may be revisions; nil: they are not.
func Of(revisions Revisions) experiment.Experiment {
	d := definition
	d.New = func() experiment.Flags[Cell] { return &flags{revisions: revisions} }
	d.Open = func(s experiment.Environment, cells []Cell) (experiment.Sampler[Cell], error) {
		if s.PassThrough {
			launch.PassOn()
		}
		return &sampler{Environment: s, cells: cells, revisions: revisions, dirs: map[string]string{}}, nil
	}
	return experiment.Define(d)
}

var definition = experiment.Definition[Cell]{
	Text: experiment.Text{
		Name:         "exec",
		Outlasting:   true,
		Args:         "[flags] -- COMMAND [ARGS…]",
		TakesCommand: true,
		Short:        "Run your own command in a placement, or compare placements for it",
		Question:     "How long does this command take, and what does it use?",
		Long: "The command runs with the CPUs, memory policy, scheduling policy, nice value and GOMAXPROCS that the flags request,\n" +
			"each read back first. gorun replaces itself by the command, so that input, output, signals and exit code are its\n" +
			"own; with --stat gorun waits for it and prints on stderr what it used.\n\n" +
			"--placements auto runs the command in turns in every placement that can matter on this machine, and reports\n" +
			"which is faster, and how to apply it. gorun matrix exec compares other settings.",
		Example: "  gorun exec --placement one-llc -- sort -o /dev/null /etc/services\n" +
			"  gorun exec --cpus 0 --nice 5 --stat -- sleep 0.1\n" +
			"  gorun exec --copies 1,2,4 -- gzip -c /etc/services\n" +
			"  gorun exec --placements auto --metric 'per second: *([0-9.]+)' --better higher -- sysbench cpu run",
		Matrix: "  gorun matrix exec --cpus '0 1' -- sort -o /dev/null /etc/services\n" +
			"  gorun matrix exec --nice 0,5 --gomaxprocs 1,2 --out nice.jsonl -- gzip --version",
	},
	Traits: experiment.Traits{
		Place:       experiment.Started,
		SharedFlags: []string{"stat", "placements", "device"},
		Once: &experiment.Once{
			Unless: "placements",
			Several: func(text func(flag string) string) bool {
				return text("placements") != "" || severalCounts(text("copies"))
			},
			Needs: func(text func(flag string) string) bool {
				_, nodes, _ := strings.Cut(text("mempolicy"), ":")
				return text("placement")+text("bind")+text("dedicate")+text("with-pid")+text("with-cgroup") != "" || topology.SelectsDevice(nodes)
			},
		},
		AlsoJudged: column.List{column.CPU},
		Scaling:    matrix.Scaling{"copies": true, "gomaxprocs": false},
		Second:     column.List{peakMemory},
		Columns:    columns,
		View:       &shown,
	},
	Candidates: candidates,
}

// Cell is a command and the setting in which it is started.
type Cell struct {
	Revision string `json:",omitempty"` // in whose folder it runs; "": in gorun's
	Name     string // in tables; "": the command's words
	Argv     []string
	Hooks
	Input      string              // file that is the command's standard input; "": /dev/null, or gorun's own
	Output     string              // where its output goes, by --output; "": the default
	Exits      exits               // exit codes that are not failures
	Settings   []placement.Setting // of each process that runs the command, at least one
	Copies     bool                `json:",omitempty"` // the processes begin at the same time, and have figures of their own, also if there is one
	Timeout    time.Duration       // 0: none
	Metrics    []printed.Metric    // figures that the command prints
	Migrations bool                // count moves between CPUs
	Why        bool                `json:",omitempty"` // look at the processes while they run, and count events of the CPU

	Dedicate *dedicate.Request `json:",omitempty"` // nil: no thread is moved off the CPU
	Server   *server.Server    `json:",omitempty"` // nil: the command uses none
}

// candidates returns those of a cell. Copies have none: what takes their wait away is fewer copies, which --copies compares.
func candidates(m experiment.Machine, c Cell, pinned string) (of []experiment.Candidate[Cell]) {
	if c.Copies {
		return nil
	}
	for _, candidate := range m.Candidates(c.Settings[0], pinned) {
		changed := c
		changed.Settings = []placement.Setting{candidate.Do}
		of = append(of, experiment.Candidate[Cell]{Do: changed, Candidate: candidate.Candidate})
	}
	return of
}
