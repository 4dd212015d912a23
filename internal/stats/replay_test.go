package stats

import (
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

// recorded is one sample of a recording; testdata/noise/README.md has the columns.
type recorded struct {
	round      int
	label      string
	wall, wait float64 // seconds
	canary     float64 // seconds
	others     float64 // share of the CPUs that it may run on: CPU 1, or both where it is not pinned
}

// withReplays runs a test with few replays, which take less than a second, and by `make ci-long` with all. Replays give the same
// result on every machine.
func withReplays(t *testing.T, few, all int, test func(t *testing.T, replays int)) {
	t.Parallel()
	t.Run("few", func(t *testing.T) { test(t, few) })
	t.Run("all", func(t *testing.T) {
		tests.Target(t, "ci-long")
		test(t, all)
	})
}

// recordings returns those whose file names match.
func recordings(t testing.TB, pattern string) [][]recorded {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("../../testdata/noise", pattern))
	require.NoError(t, err)
	require.NotEmpty(t, paths, pattern)
	var all [][]recorded
	for _, path := range paths {
		all = append(all, recordingAt(t, path))
	}
	return all
}

// read are the recordings that were read so far, by path.
var read sync.Map

// recordingAt returns the recording in a file.
func recordingAt(t testing.TB, path string) []recorded {
	t.Helper()
	recording, again := read.Load(path)
	if !again {
		recording = readRecording(t, path)
		read.Store(path, recording)
	}
	return slices.Clone(recording.([]recorded))
}

func readRecording(t testing.TB, path string) []recorded {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	column := func(row []string, name string) float64 {
		at := slices.Index(rows[0], name)
		if at < 0 { // not recorded
			return 0
		}
		v, err := strconv.ParseFloat(row[at], 64)
		require.NoError(t, err)
		return v
	}
	cpus := []string{"1"}
	if strings.Contains(path, ".sequ.") {
		cpus = []string{"0", "1"}
	}
	var samples []recorded
	for _, row := range rows[1:] {
		taken := -column(row, "thr") / 1e9
		for _, cpu := range cpus {
			taken += (column(row, "busy"+cpu) + column(row, "steal"+cpu)) / 100 // ticks
		}
		samples = append(samples, recorded{
			round:  int(column(row, "i")),
			label:  row[slices.Index(rows[0], "lab")],
			wall:   column(row, "wall") / 1e9,
			wait:   column(row, "wait") / 1e9,
			canary: column(row, "can") / 1e9,
			others: taken / (column(row, "wall") / 1e9 * float64(len(cpus))),
		})
	}
	return samples
}

// labelled returns the pairs of a recording, label A first.
func labelled(recording []recorded) (pairs [][2]recorded) {
	for pair := range slices.Chunk(recording[:len(recording)/2*2], 2) {
		p := [2]recorded(pair)
		if p[0].label == "B" {
			p[0], p[1] = p[1], p[0]
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// noise replays the seconds of equal work from a given place, and starts again at the end.
type noise struct {
	seconds []float64
	at      int
	power   float64    // see wider
	places  *rand.Rand // see wider
}

func (n *noise) next() float64 {
	s := n.seconds[n.at%len(n.seconds)]
	n.at++
	return s
}

// wider gives cells other than the baseline a multiple of the noise's spread: each of their samples is multiplied by a power of the ratio of
// two neighbours, at a random place and in a random order. So the typical time stays that of the baseline, and no cell always has the
// first sample of a process.
func (n *noise) wider(multiple float64, seed uint64) *noise {
	n.power, n.places = math.Sqrt((multiple*multiple-1)/2), rand.New(rand.NewPCG(seed, 11))
	return n
}

// Of returns the next sample: of the baseline or its duplicate, or of another cell.
func (n *noise) Of(other bool) float64 {
	s := n.next()
	if !other || n.power == 0 {
		return s
	}
	a := n.places.IntN(len(n.seconds) - 1)
	b := a + 1
	if n.places.IntN(2) == 0 {
		a, b = b, a
	}
	return s * math.Pow(n.seconds[a]/n.seconds[b], n.power)
}

// Mean returns the mean time of another cell, in that of the baseline.
func (n *noise) Mean() float64 {
	sum := 0.0
	for i, s := range n.seconds[1:] {
		sum += math.Cosh(n.power * math.Log(s/n.seconds[i]))
	}
	return sum / float64(len(n.seconds)-1)
}

// Trace is a recording of equal work.
type Trace struct {
	Name    string
	Seconds []float64
}

// Replay returns the noise of one of several replays, which begin at different places. multiple: see wider.
func (t Trace) Replay(replay, replays int, multiple float64) *noise {
	return start([][]float64{t.Seconds}, replay, replays).wider(multiple, uint64(replay))
}

// equalWork returns the recordings of equal work; for few replays, only the first three. GORUN_NOISE names another directory of recordings.
func equalWork(t testing.TB, replays int) (all []Trace) {
	t.Helper()
	directory := "../../testdata/noise"
	if other := os.Getenv("GORUN_NOISE"); other != "" {
		directory = other
	}
	paths, err := filepath.Glob(filepath.Join(directory, "*.csv"))
	require.NoError(t, err)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".csv")
		if strings.HasPrefix(name, "nice.") || strings.Contains(name, ".ab2.") {
			continue
		}
		of := Trace{Name: name}
		for _, s := range recordingAt(t, path) {
			of.Seconds = append(of.Seconds, s.wall)
		}
		all = append(all, of)
	}
	require.NotEmpty(t, all, directory)
	if replays < 40 {
		return all[:min(3, len(all))]
	}
	return all
}

// traces returns the recordings of equal work, in seconds.
func traces(t testing.TB, pattern string) [][]float64 {
	var all [][]float64
	for _, recording := range recordings(t, pattern) {
		var seconds []float64
		for _, s := range recording {
			seconds = append(seconds, s.wall)
		}
		all = append(all, seconds)
	}
	return all
}

// start returns the noise of a replay: each takes the next trace, and the next place in it when all traces were used.
func start(traces [][]float64, replay, replays int) *noise {
	trace := traces[replay%len(traces)]
	return &noise{seconds: trace, at: replay * len(trace) / replays}
}

// design returns the defaults of a run.
func design(seed uint64, cells int) Design {
	d := Design{Seed: seed, Alpha: 0.05, Margin: 0.02, Precision: 0.02, Until: Until{Answers: true}}
	for i := range cells {
		d.Cells = append(d.Cells, "cell "+strconv.Itoa(i))
	}
	return d
}

func newRace(t testing.TB, d Design) *Judge {
	t.Helper()
	r, err := NewJudge(d)
	require.NoError(t, err)
	return r
}

// runRound gives a round of the noise to a judge. ratios are the true ratios of the cells; the control's is 1.
func runRound(t testing.TB, r *Judge, n *noise, ratios []float64) (seconds float64) {
	t.Helper()
	round := r.Next()
	var samples []float64
	for _, block := range round {
		for _, cell := range block {
			s := n.Of(cell != r.design.Baseline && cell != r.Control())
			if cell < len(ratios) {
				s *= ratios[cell]
			}
			samples = append(samples, s)
			seconds += s
		}
	}
	require.NoError(t, r.Add(round, samples))
	return seconds
}

// run gives rounds to a judge until it is done or budget seconds of samples are used.
func run(t testing.TB, r *Judge, n *noise, ratios []float64, budget float64) {
	t.Helper()
	for !r.Done() && budget > 0 {
		budget -= runRound(t, r, n, ratios)
	}
}

// equal returns the ratios of cells that do the same work.
func equal(cells int) []float64 { return slices.Repeat([]float64{1}, cells) }

// drawn returns random ratios between 0.93 and 1.08; the baseline's is 1.
func drawn(seed uint64, cells int) []float64 {
	source := rand.New(rand.NewPCG(seed, 0))
	ratios := equal(cells)
	for i := 1; i < cells; i++ {
		ratios[i] = 0.93 + 0.15*source.Float64()
	}
	return ratios
}

// count returns how many of n replays have a property.
func count(n int, has func(replay int) bool) (having int) {
	for replay := range n {
		if has(replay) {
			having++
		}
	}
	return having
}

func (e Effect) holds(truth float64) bool { return e.Lo <= truth && truth <= e.Hi }

// claims reports whether a verdict says that the cell differs.
func claims(v Verdict) bool { return v.Kind == Slower || v.Kind == Faster || v.Kind == Mixed }
