package run

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/result"
)

// fake is an experiment of some cells, each sample of which takes a second of a clock that nothing else moves.
type fake struct {
	cells int
	order experiment.Order

	now   time.Time
	taken []int // the cell of each execution
}

func (f *fake) Register(*experiment.FlagSet) {}
func (f *fake) Validate() error              { return nil }

func (f *fake) Resolve(experiment.Machine) (r experiment.Resolution[int], err error) {
	r.Schedule.Order = f.order
	for cell := range f.cells {
		r.Cells = append(r.Cells, experiment.Cell[int]{Do: cell, Name: strconv.Itoa(cell)})
	}
	return r, nil
}

func (f *fake) Sample(_ context.Context, cell int) (result.Sample, error) {
	f.taken = append(f.taken, cell)
	f.now = f.now.Add(time.Second)
	return result.Sample{
		Seconds: 1, Placement: result.Placement{Verified: true}, Values: result.Values{"cell": float64(cell)},
	}, nil
}
func (f *fake) Close() error { return nil }

// row is the experiment's row.
func (f *fake) row(datum string) experiment.Experiment {
	return experiment.Define(experiment.Definition[int]{
		Text: experiment.Text{Name: "fake"}, Sampling: experiment.Sampling{Samples: 1}, Datum: datum,
		Place: experiment.Started,
		New:   func() experiment.Flags[int] { return f },
		Open:  func(experiment.Setting, []int) (experiment.Sampler[int], error) { return f, nil },
	})
}

// run executes a command line of the experiment, and returns the result and the cell of each of its samples.
func (f *fake) run(t *testing.T, datum string, args ...string) (run result.Run, cells []int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a run is of a Linux machine")
	}
	var out, log bytes.Buffer
	c, set := New(Env{
		Root: os.DirFS("/"), Stdout: &out, Stderr: &log, Now: func() time.Time { return f.now }, Environ: os.Environ,
		Args: args,
	}, f.row(datum))
	require.NoError(t, set.Parse(append(args, "--format", "json", "--quiet")))
	require.NoError(t, c.Run(t.Context(), set.Args()), log.String())
	require.NoError(t, json.Unmarshal(out.Bytes(), &run))
	for _, s := range run.Samples {
		cell, _ := s.Values.Number("cell")
		cells = append(cells, int(cell))
	}
	return run, cells
}

// The warm-ups and the first lap are in the cells' order, and what follows is shuffled as the seed has it; the samples
// of the result are in the cells' order.
func TestShuffledLaps(t *testing.T) {
	const cells, laps = 8, 4
	lap := func(taken []int, i int) []int { return taken[i*cells : (i+1)*cells] }
	inOrder := []int{0, 1, 2, 3, 4, 5, 6, 7}
	order := func(seed string) []int {
		f := &fake{cells: cells, order: experiment.Shuffled}
		run, kept := f.run(t, "", "--samples", "3", "--warmup", "1", "--seed", seed)
		require.Len(t, f.taken, laps*cells)
		assert.Len(t, run.Warmups, cells)
		assert.Equal(t, inOrder, lap(f.taken, 0), "warm-ups")
		assert.Equal(t, inOrder, lap(f.taken, 1), "the first lap")
		for i := range laps {
			assert.ElementsMatch(t, inOrder, lap(f.taken, i))
		}
		assert.NotEqual(t, inOrder, lap(f.taken, 2))
		assert.NotEqual(t, lap(f.taken, 2), lap(f.taken, 3))
		for i, cell := range kept {
			assert.Equal(t, i/3, cell)
		}
		assert.Nil(t, run.Summary, "nothing sums up different cells")
		return f.taken
	}
	seven := order("7")
	assert.Equal(t, seven, order("7"))
	assert.NotEqual(t, seven, order("8"))
}

// Laps in order stay in order, and the budget ends them in the midst of one.
func TestLapsInOrder(t *testing.T) {
	f := &fake{cells: 3}
	run, kept := f.run(t, "", "--samples", "4", "--budget", "5s")
	assert.Equal(t, []int{0, 1, 2, 0, 1}, f.taken)
	assert.Equal(t, f.taken, kept)
	require.Len(t, run.Warnings, 1)
	assert.Equal(t, "budget", run.Warnings[0].Code)
}

// The wall times of one cell are summed up, unless it has a figure that matters more.
func TestSummaryOfOneCell(t *testing.T) {
	run, _ := (&fake{cells: 1}).run(t, "", "--samples", "2")
	require.NotNil(t, run.Summary)
	assert.Equal(t, 2, run.Summary.Samples)
	run, _ = (&fake{cells: 1}).run(t, "ns", "--samples", "2")
	assert.Nil(t, run.Summary)
}
