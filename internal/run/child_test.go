package run

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/start/launch"
	"gorun/internal/stats"
)

// fake is an experiment whose cells define its behaviour.
type fake struct {
	Fails  string    `json:"fails"`  // the error of its samples
	Wrong  string    `json:"wrong"`  // the error of its opening
	Takes  []float64 `json:"takes"`  // reported seconds of each execution; the last one repeats
	Warn   string    `json:"warn"`   // the code of a warning of its preparation
	Silent bool      `json:"silent"` // it ends without an answer
	Waits  bool      `json:"waits"`  // its first execution runs until it is cut
}

type fakeFigures struct {
	Executed int `json:"executed"`
	CPUs     int `json:"cpus"`
	Procs    int `json:"procs"`
}

var fakeExperiment = experiment.Define(experiment.Definition[fake]{
	Text: experiment.Text{Name: "fake"},
	Open: func(_ experiment.Environment, cells []fake) (experiment.Sampler[fake], error) {
		if cells[0].Wrong != "" {
			return nil, hint.With(errors.New(cells[0].Wrong), "yes")
		}
		return &fakeSampler{fake: cells[0]}, nil
	},
})

type fakeSampler struct {
	fake
	executed int
}

func (s *fakeSampler) Prepare(context.Context) (warnings []result.Warning, err error) {
	if s.Warn != "" {
		warnings = []result.Warning{{Code: s.Warn, Message: "m"}}
	}
	return warnings, nil
}

func (s *fakeSampler) Sample(ctx context.Context, _ fake) (sample result.Sample, err error) {
	if s.Waits && s.executed == 0 {
		<-ctx.Done()
		s.executed++
		return sample, ctx.Err()
	}
	if s.Silent {
		os.Exit(0)
	}
	if s.Fails != "" {
		return sample, errors.New(s.Fails)
	}
	mask, err := linux.GetAffinity(0)
	sample.Placement.Verified = true
	sample.Seconds = s.Takes[min(s.executed, len(s.Takes)-1)]
	s.executed++
	sample.Values = result.FiguresOf(&fakeFigures{s.executed, mask.Len(), runtime.GOMAXPROCS(0)})
	return sample, err
}

func (s *fakeSampler) Close() error { return nil }

// The test's own binary is the child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == SampleCommand {
		err := Child(context.Background(), []experiment.Experiment{fakeExperiment}, os.Stdin, os.Stdout)
		if err != nil {
			launch.Report(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// freshDriver returns a driver whose samples are taken by children.
func freshDriver(t *testing.T, cells ...fake) *driver {
	t.Helper()
	m, err := openMachine(os.DirFS("/"), "")
	require.NoError(t, err)
	run := &result.Run{Matrix: &result.Matrix{Warmup: 2}}
	d := &driver{
		plan:    plan{x: fakeExperiment, machine: m, kind: matrixRun, run: run},
		options: &Options{budget: 100 * tests.Hang},
		session: &session{run: run, env: Env{
			Root: os.DirFS("/"), Self: launch.Self{Path: "/proc/self/exe", Argv: []string{"gorun"}}, Environ: os.Environ,
		}},
	}
	for _, cell := range cells {
		d.cells = append(d.cells, experiment.Cell[any]{Do: cell})
		d.needs = append(d.needs, need{cpus: cpuset.Of(m.Allowed().First())})
	}
	return d
}

// A sample comes from a process that dropped its warm-ups, has the CPUs of its cell, and passes on its warnings once.
func TestChildSamples(t *testing.T) {
	d := freshDriver(t, fake{Takes: []float64{9, 8, 5}, Warn: "w"})
	for range 2 {
		sample, err := d.sampleInChild(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, 5.0, sample.Seconds)
		assert.NotNil(t, sample.Quality.Signals.CanarySeconds)
		assert.NotEmpty(t, sample.Quality.Grade)
		figures, ok := result.Typed[fakeFigures](&sample)
		require.True(t, ok)
		want := fakeFigures{Executed: 3, CPUs: 1, Procs: runtime.GOMAXPROCS(0)}
		if d.machine.Allowed().Len() > 1 {
			want.Procs = 1
		}
		assert.Equal(t, want, *figures)
	}
	own := slices.DeleteFunc(codes(d.session.run), func(code string) bool { return code != "w" }) // without those about counters that this machine lacks
	assert.Equal(t, []string{"w"}, own)
}

// A failure of a child makes its sample invalid, with the child's own error and hint, and does not end the run.
func TestChildFails(t *testing.T) {
	for reason, cell := range map[string]fake{
		"no":       {Fails: "no"},
		"no (yes)": {Wrong: "no"},
		"gorun sample: cannot read its result: unexpected end of JSON input": {Silent: true},
	} {
		sample, err := freshDriver(t, cell).sampleInChild(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, result.Quality{Grade: result.Invalid, Reasons: []string{reason}}, sample.Quality)
	}
	d := freshDriver(t, fake{Takes: []float64{1}})
	d.needs[0].Threads = 1 << 30
	sample, err := d.sampleInChild(t.Context(), 0)
	require.NoError(t, err)
	assert.Contains(t, sample.Quality.Reasons[0], "threads that are needed")
}

// The pilot finds how many executions are slower than those after them.
func TestChildPilot(t *testing.T) {
	d := freshDriver(t, fake{Takes: []float64{9, 9, 5, 5, 5}})
	d.session.run.Matrix.Warmup = -1
	_, err := d.pilot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, d.session.run.Matrix.Warmup)

	d = freshDriver(t, fake{Wrong: "no"})
	d.session.run.Matrix.Warmup = -1
	_, err = d.pilot(t.Context())
	require.EqualError(t, err, "the baseline cannot be measured: no")
	assert.Equal(t, "yes", hint.Of(err))
}

// If a part of an execution is enough, the pilot, and then each child, cuts it after that time.
func TestChildPilotFindsAPart(t *testing.T) {
	d := freshDriver(t, fake{Takes: []float64{0.1}})
	d.session.run.Matrix.Warmup = -1
	_, err := d.pilot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, d.session.run.Matrix.Warmup)
	assert.Equal(t, 0.02, d.session.run.Matrix.WarmupSeconds)

	d = freshDriver(t, fake{Takes: []float64{9, 9, 5}, Waits: true})
	d.session.run.Matrix.Warmup, d.session.run.Matrix.WarmupSeconds = 1, 0.02
	sample, err := d.sampleInChild(t.Context(), 0)
	require.NoError(t, err)
	assert.NotEqual(t, result.Invalid, sample.Quality.Grade, "a cut warm-up is not a fault: %v", sample.Quality)
	assert.Equal(t, 9.0, sample.Seconds, "of the execution after it")
}

// A child returns an error for an unknown request.
func TestChildRefuses(t *testing.T) {
	for _, request := range []any{childRequest{Experiment: "none"}, childRequest{Experiment: "fake", Do: json.RawMessage(`[]`)}} {
		var a childAnswer
		_, err := freshDriver(t).self().Ask(t.Context(), []string{SampleCommand}, request, &a)
		require.Error(t, err)
	}
}

// built returns a gorun binary, which starts faster than the test's binary.
func built(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "gorun")
	out, err := exec.CommandContext(b.Context(), "go", "build", "-o", path, "gorun/cmd/gorun").CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

// BenchmarkChild measures the cost of a child in addition to its samples, in turn with a program that does nothing.
func BenchmarkChild(b *testing.B) {
	gorun := launch.Self{Path: built(b), Argv: []string{"gorun"}, Env: measure.Environment(os.Environ())}
	request := childRequest{
		Experiment: "primes", CPUs: cpuset.Of(0), Inherited: cpuset.Of(0), Threads: 1, Samples: 1, Warmup: matrix.Warmup{Executions: 1},
		Do: json.RawMessage(`{"Limit": 1000, "Method": "brute", "Kernel": "auto", "Workers": 1, "Split": "contiguous",` +
			` "plan": {"Workers": 1, "CPUs": "0"}, "cpu_limit": 1}`),
	}
	var children, nothing []float64
	for b.Loop() {
		begun := time.Now()
		var a childAnswer
		_, err := gorun.Ask(b.Context(), []string{SampleCommand}, request, &a)
		require.NoError(b, err)
		children = append(children, 1e3*(time.Since(begun).Seconds()-2*a.Samples[0].Seconds))
		begun = time.Now()
		_, err = launch.Self{Path: "/bin/true", Argv: []string{"true"}}.Ask(b.Context(), nil, nil, new(any))
		require.Error(b, err, "true answers nothing")
		nothing = append(nothing, 1e3*time.Since(begun).Seconds())
	}
	b.ReportMetric(stats.Median(children), "ms/child")
	b.ReportMetric(stats.Median(nothing), "ms/true")
	b.ReportMetric(0, "ns/op")
}

// The pilot retries a failed execution as often as a cell is tried, but not after an interrupt.
func TestRetry(t *testing.T) {
	broken := errors.New("broken")
	for fails := range matrix.GivenUpAfter + 1 {
		tried := 0
		err := retry(t.Context(), func() error {
			if tried++; tried <= fails {
				return broken
			}
			return nil
		})
		assert.Equal(t, fails == matrix.GivenUpAfter, err != nil)
		assert.Equal(t, min(fails+1, matrix.GivenUpAfter), tried)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tried := 0
	require.ErrorIs(t, retry(ctx, func() error { tried++; return broken }), broken)
	assert.Equal(t, 1, tried)
}
