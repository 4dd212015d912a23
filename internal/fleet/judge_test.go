package fleet

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/input"
	"gorun/internal/result"
)

// made is a fleet whose visits are written into a directory.
type made struct {
	nodes, visits int
	measures      []string
	host          func(node int) result.Host
	figure        func(node, visit int, measure string) float64 // a time, in ns
	at            func(node, visit int) time.Time
	change        func(node, visit int, lines []Line) []Line // nil: none
}

// begin is the time of the first visits.
var begin = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// later is when all slots have ended.
var later = begin.AddDate(1, 0, 0)

func name(node int) string { return fmt.Sprintf("n%d", node) }

// fleetOf returns a fleet of equal nodes, which are visited every hour and have noise of half a percent.
func fleetOf(nodes, visits int) made {
	random := rand.New(rand.NewPCG(1, 2))
	return made{
		nodes: nodes, visits: visits, measures: []string{"compute-one", "latency"},
		host: func(int) result.Host {
			return result.Host{CPUModel: "CPU 9000", Microcode: "0x1", Allowed: "0-7", MemoryBytes: 64 << 30, Topology: "t1", Governor: "performance", Kernel: "6.1"}
		},
		figure: func(int, int, string) float64 { return 100 * (1 + 0.005*random.NormFloat64()) },
		at: func(node, visit int) time.Time {
			return begin.Add(time.Duration(visit)*time.Hour + time.Duration(node%3000)*time.Second)
		},
	}
}

// slowed makes a node slow in a measure.
func (m made) slowed(node int, measure string, ratio float64) made {
	figure := m.figure
	m.figure = func(n, visit int, of string) float64 {
		x := figure(n, visit, of)
		if n == node && of == measure {
			x *= ratio
		}
		return x
	}
	return m
}

// write writes the visits, and returns the directory.
func (m made) write(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for node := range m.nodes {
		host := m.host(node)
		host.BootID = fmt.Sprint("boot-", node)
		at := filepath.Join(dir, name(node), host.BootID)
		require.NoError(t, os.MkdirAll(at, 0o777))
		for visit := range m.visits {
			start := m.at(node, visit)
			lines := []Line{{Visit: &Header{
				Schema: Schema, Node: name(node), Started: start.Format(time.RFC3339Nano), Budget: 45, Tool: result.Tool{Version: "v1"}, Host: host,
			}}}
			for i, measure := range m.measures {
				lines = append(lines, Line{Measure: &Measure{
					Name: measure, Unit: "ns", Better: result.Lower, Figure: m.figure(node, visit, measure), Part: fmt.Sprint("CPU ", i), Parts: 8,
				}})
			}
			lines = append(lines, Line{End: &End{Ended: start.Add(40 * time.Second).Format(time.RFC3339Nano), Seconds: 40}})
			if m.change != nil {
				lines = m.change(node, visit, lines)
			}
			path := filepath.Join(at, start.Format("20060102T150405")+".jsonl")
			writeLines(t, path, lines)
			require.NoError(t, os.Chtimes(path, start, start.Add(40*time.Second)))
		}
	}
	return dir
}

func writeLines(t testing.TB, path string, lines []Line) {
	t.Helper()
	var text []byte
	for _, line := range lines {
		one, err := json.Marshal(line)
		require.NoError(t, err)
		text = append(append(text, one...), '\n')
	}
	require.NoError(t, os.WriteFile(path, text, 0o666))
}

func options() Options {
	return Options{Margin: 0.02, FDR: 0.05, Slot: time.Hour, Now: later}
}

func judgeDir(t testing.TB, dir string, o Options) *Judgement {
	t.Helper()
	files, err := Files([]string{dir})
	require.NoError(t, err)
	require.True(t, AreVisits(files))
	return Judge(files, o)
}

// A slow node is named, in the measure in which it is slow, with its ratio and the part that was the worst.
func TestJudge(t *testing.T) {
	j := judgeDir(t, fleetOf(30, 20).slowed(7, "latency", 1.06).write(t), options())
	require.Len(t, j.Slow, 1)
	s := j.Slow[0]
	assert.Equal(t, "n7", s.Node)
	assert.Equal(t, "latency", s.Measure)
	assert.Equal(t, "CPU 1", s.Part)
	assert.InDelta(t, 1.06, s.Ratio, 0.005)
	assert.GreaterOrEqual(t, s.Lo, 1.02)
	require.NotNil(t, s.Hi)
	assert.Greater(t, *s.Hi, 1.06)
	assert.Equal(t, 20, s.Bets)
	assert.InDelta(t, 106, s.Figure, 1)
	assert.InDelta(t, 100, s.Median, 1)
	assert.Equal(t, 60, j.Hypotheses)
	assert.Equal(t, map[State]int{Judged: 30}, j.States)
	assert.Equal(t, Visits{Read: 600, Judged: 600}, j.Visits)
	require.Len(t, j.Classes, 1)
	assert.Equal(t, 30, j.Classes[0].Nodes)
	assert.Empty(t, j.Settings)
	assert.Empty(t, j.Clocks)
	assert.Empty(t, j.Warnings)
}

// Nodes of other hardware or another gorun are no peers: if all nodes of a class are slow, none stands out, and its medians show it.
func TestClasses(t *testing.T) {
	for what, change := range map[string]func(*result.Host){
		"microcode": func(h *result.Host) { h.Microcode = "0x2" },
		"model":     func(h *result.Host) { h.CPUModel = "CPU 8000" },
		"memory":    func(h *result.Host) { h.MemoryBytes = 32 << 30 },
		"topology":  func(h *result.Host) { h.Topology = "t2" },
		"cpuset":    func(h *result.Host) { h.Allowed = "0-3" },
	} {
		m := fleetOf(20, 20)
		host, figure := m.host, m.figure
		m.host = func(node int) result.Host {
			h := host(node)
			if node < 8 {
				change(&h)
			}
			return h
		}
		m.figure = func(node, visit int, measure string) float64 {
			if node < 8 {
				return 1.5 * figure(node, visit, measure)
			}
			return figure(node, visit, measure)
		}
		j := judgeDir(t, m.write(t), options())
		assert.Empty(t, j.Slow, what)
		require.Len(t, j.Classes, 2, what)
		assert.Equal(t, []int{12, 8}, []int{j.Classes[0].Nodes, j.Classes[1].Nodes}, what)
		assert.InDelta(t, 1.5, j.Classes[1].Measures[0].Median/j.Classes[0].Measures[0].Median, 0.01, what)
		assert.Equal(t, 40, j.Hypotheses, what)
	}
}

// What the kernel itself takes of the memory does not divide a class.
func TestEqualMemory(t *testing.T) {
	m := fleetOf(4, 1)
	host := m.host
	m.host = func(node int) result.Host {
		h := host(node)
		h.MemoryBytes -= uint64(node) * 100 << 20
		return h
	}
	assert.Len(t, judgeDir(t, m.write(t), options()).Classes, 1)
}

// Each node has a state.
func TestStates(t *testing.T) {
	m := fleetOf(5, 3)
	host, at := m.host, m.at
	m.host = func(node int) result.Host {
		h := host(node)
		if node == 3 {
			h.Microcode = "0x3" // the only one
		}
		return h
	}
	m.at = func(node, visit int) time.Time {
		if node == 4 {
			return later.Add(-time.Duration(visit) * time.Minute)
		}
		return at(node, visit)
	}
	o := options()
	o.Now = later.Add(time.Minute)
	o.Expect = []string{"n0", "n77"}
	j := judgeDir(t, m.write(t), o)
	states := map[string]State{}
	for _, n := range j.Nodes {
		states[n.Name] = n.State
	}
	assert.Equal(t, map[string]State{"n0": Judged, "n1": Judged, "n2": Judged, "n3": NoPeers, "n4": NoPeers, "n77": Silent}, states)
	assert.Equal(t, 1, j.Visits.Pending, "the hour has not ended")
	o.Since = later.Add(-time.Minute)
	j = judgeDir(t, m.write(t), o)
	assert.Equal(t, 13, j.Visits.Earlier)
	assert.Equal(t, 2, j.Visits.Read)
}

// Killed visits lose nothing: what they measured counts, a torn line does not, and the judgement says how many there are.
func TestKilledVisits(t *testing.T) {
	m := fleetOf(10, 16).slowed(3, "compute-one", 1.1)
	m.change = func(node, visit int, lines []Line) []Line {
		if node == 3 {
			return lines[:2]
		}
		return lines
	}
	dir := m.write(t)
	paths, err := filepath.Glob(filepath.Join(dir, "n3", "*", "*"))
	require.NoError(t, err)
	require.Len(t, paths, 16)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path+partial, append(text, `{"measure":{"name":"late`...), 0o666))
		require.NoError(t, os.Remove(path))
	}
	j := judgeDir(t, dir, options())
	assert.Empty(t, j.Warnings)
	assert.Equal(t, 16, j.Visits.Cut)
	require.Len(t, j.Slow, 1)
	assert.Equal(t, "n3", j.Slow[0].Node)
	assert.Equal(t, 16, j.Slow[0].Bets)
}

// A file that is damaged is named and left out, and the others count.
func TestDamagedFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "it has no whole first line",
		"{\"visit\":{}}\n":          "line 1: it names no node",
		"nonsense\n":                "line 1: it is no line of a visit",
		"{\"end\":{\"ended\":1}}\n": "line 1: a visit begins with its header, and has one",
		"{\"end\":{}}\n":            "line 1: a visit begins with its header, and has one",
		`{"visit":{"node":"n9","schema":"gorun-fleet/v9"}}` + "\n":                       "its schema is gorun-fleet/v9",
		`{"visit":{"node":"n9","schema":"` + Schema + `","started":"yesterday"}}` + "\n": `"yesterday" is no time`,
		`{"visit":{"node":"n9","schema":"` + Schema + `","started":"2026-01-05T00:00:00Z"}}` + "\n" +
			`{"measure":{"name":"latency","figure":-1}}` + "\n": "line 2: a figure is a number above 0",
		`{"visit":{"node":"n9","schema":"` + Schema + `","started":"2026-01-05T00:00:00Z"}}` + "\n" +
			`{"measure":{"name":"latency","figure":1,"unit":"B/s","better":"higher"}}` + "\n": "latency has the unit B/s here, and ns in other visits",
		`{"visit":{"node":"n9","schema":"` + Schema + `","started":"2026-01-05T00:00:00Z"}}` + "\n": "it has no last line, although its name says that it ended",
	} {
		dir := fleetOf(4, 2).write(t)
		path := filepath.Join(dir, "z.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		files, err := Files([]string{dir})
		require.NoError(t, err)
		runtimeOne(t)
		j := Judge(files, options())
		require.Len(t, j.Warnings, 1, text)
		assert.Contains(t, j.Warnings[0], path)
		assert.Contains(t, j.Warnings[0], want)
		assert.Equal(t, 8, j.Visits.Judged)
	}
}

// runtimeOne makes files be read in their order.
func runtimeOne(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// Two visits on the same CPUs of one machine at once disturb each other, and do not count; on different CPUs they do.
func TestOverlappingVisits(t *testing.T) {
	for cpus, overlapped := range map[string]int{"0-7": 6, "8-15": 0} {
		m := fleetOf(4, 3)
		host := m.host
		m.host = func(node int) result.Host {
			h := host(node)
			if node == 1 {
				h.Allowed = cpus
			}
			return h
		}
		m.change = func(node, _ int, lines []Line) []Line {
			if node < 2 {
				lines[0].Visit.Host.BootID = "one machine"
			}
			return lines
		}
		m.at = func(node, visit int) time.Time {
			return begin.Add(time.Duration(visit)*time.Hour + time.Duration(node)*10*time.Second)
		}
		j := judgeDir(t, m.write(t), options())
		assert.Equal(t, overlapped, j.Visits.Overlapped, cpus)
		assert.Equal(t, 12-overlapped, j.Visits.Judged, cpus)
	}
}

// A killed visit lasted until its file was last written, which may seem to be a moment before it began: later ones on the same CPUs
// count.
func TestKilledVisitsDoNotOverlap(t *testing.T) {
	m := fleetOf(2, 3)
	m.change = func(_, _ int, lines []Line) []Line {
		lines[0].Visit.Host.BootID = "one machine"
		return lines[:1]
	}
	m.at = func(node, visit int) time.Time { return begin.Add(time.Duration(2*visit+node) * 10 * time.Second) }
	dir := m.write(t)
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	require.NoError(t, err)
	require.Len(t, paths, 6)
	for _, path := range paths {
		start, err := time.Parse("20060102T150405", strings.TrimSuffix(filepath.Base(path), ".jsonl"))
		require.NoError(t, err)
		require.NoError(t, os.Rename(path, path+partial))
		require.NoError(t, os.Chtimes(path+partial, start, start.Add(-4*time.Millisecond)))
	}
	assert.Equal(t, 0, judgeDir(t, dir, options()).Visits.Overlapped)
}

// A node has one bet in a slot.
func TestRepeatedVisits(t *testing.T) {
	m := fleetOf(4, 6)
	m.at = func(node, visit int) time.Time {
		return begin.Add(time.Duration(visit)*20*time.Minute + time.Duration(node)*time.Second)
	}
	j := judgeDir(t, m.write(t), options())
	assert.Equal(t, Visits{Read: 24, Judged: 8, Repeated: 16}, j.Visits)
	assert.Equal(t, 2, j.Nodes[0].Measures[0].Bets)
}

// A clock that is an hour off loses nothing, and is reported: by the times of the files, or since the visit is from the future.
func TestWrongClocks(t *testing.T) {
	for off, want := range map[time.Duration]float64{time.Hour: 3600, -time.Hour: -3600, time.Second: 0} {
		dir := fleetOf(6, 3).write(t)
		paths, err := filepath.Glob(filepath.Join(dir, "n2", "*", "*"))
		require.NoError(t, err)
		for _, path := range paths {
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Chtimes(path, begin, info.ModTime().Add(-off)))
		}
		j := judgeDir(t, dir, options())
		assert.Equal(t, 18, j.Visits.Judged)
		if want == 0 {
			assert.Empty(t, j.Clocks)
		} else {
			assert.Equal(t, []Clock{{"n2", want}}, j.Clocks)
		}
	}
	// Files that were copied later say nothing about clocks.
	dir := fleetOf(6, 3).write(t)
	paths, err := filepath.Glob(filepath.Join(dir, "*", "*", "*"))
	require.NoError(t, err)
	for _, path := range paths {
		require.NoError(t, os.Chtimes(path, later, later))
	}
	assert.Empty(t, judgeDir(t, dir, options()).Clocks)
	o := options()
	o.Now = begin.Add(90 * time.Minute)
	j := judgeDir(t, dir, o)
	assert.Equal(t, Visits{Read: 18, Judged: 6, Pending: 6, Future: 6}, j.Visits)
}

// A visit that arrives after its slot was judged changes the result of its own node alone, now and later.
func TestLateVisits(t *testing.T) {
	dir := fleetOf(12, 14).slowed(5, "latency", 1.2).write(t)
	late := filepath.Join(t.TempDir(), "n5")
	require.NoError(t, os.Rename(filepath.Join(dir, "n5"), late))
	first := judgeDir(t, dir, options())
	assert.Empty(t, first.Slow)
	before := map[string]Node{}
	for _, n := range first.Nodes {
		before[n.Name] = n
	}
	require.NoError(t, os.Rename(late, filepath.Join(dir, "n5")))
	path := filepath.Join(t.TempDir(), "settled.json")
	for _, j := range []*Judgement{first} {
		file, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, j.Settled.Write(file))
		require.NoError(t, file.Close())
	}
	o := options()
	for range 2 { // late visits stay late
		var err error
		o.Settled, err = ReadSettled(t.Context(), input.Opener{}, path, time.Hour)
		require.NoError(t, err)
		j := judgeDir(t, dir, o)
		for _, n := range j.Nodes {
			if n.Name != "n5" {
				assert.Equal(t, before[n.Name], n)
			}
		}
		assert.Equal(t, 14, j.Visits.Late)
		require.Len(t, j.Slow, 1)
		assert.Equal(t, "n5", j.Slow[0].Node)
		file, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, j.Settled.Write(file))
		require.NoError(t, file.Close())
	}
	_, err := ReadSettled(t.Context(), input.Opener{}, path, time.Minute)
	require.ErrorContains(t, err, "slots of 3600 seconds")
	require.NoError(t, os.WriteFile(path, []byte("{}"), 0o666))
	_, err = ReadSettled(t.Context(), input.Opener{}, path, time.Hour)
	require.ErrorContains(t, err, "no earlier judgement wrote this file")
	none, err := ReadSettled(t.Context(), input.Opener{}, filepath.Join(t.TempDir(), "none"), time.Hour)
	require.NoError(t, err)
	assert.Nil(t, none)
}

// A visit of a slot that had not ended when the others were judged is not late.
func TestNewSlotsAreNotLate(t *testing.T) {
	dir, o := fleetOf(4, 6).write(t), options()
	o.Now = begin.Add(3 * time.Hour)
	o.Settled = judgeDir(t, dir, o).Settled
	o.Now = later
	assert.Equal(t, Visits{Read: 24, Judged: 24}, judgeDir(t, dir, o).Visits)
}

// A node is judged by the visits of the hardware and the gorun that it has now.
func TestChangedNode(t *testing.T) {
	m := fleetOf(4, 6)
	m.change = func(node, visit int, lines []Line) []Line {
		if node == 2 && visit < 4 {
			lines[0].Visit.Tool.Version = "v0"
		}
		return lines
	}
	j := judgeDir(t, m.write(t), options())
	assert.Equal(t, Visits{Read: 24, Judged: 20, Other: 4}, j.Visits)
	require.Len(t, j.Classes, 1)
	assert.Equal(t, 2, j.Nodes[2].Measures[0].Bets)
}

// A setting in which few nodes differ is reported; one in which the fleet is divided is not.
func TestSettings(t *testing.T) {
	m := fleetOf(10, 1)
	host := m.host
	m.host = func(node int) result.Host {
		h := host(node)
		switch {
		case node == 4:
			h.Governor, h.Microcode = "powersave", "0x0"
		case node == 5:
			h.Kernel = "5.15"
		}
		h.SMT = map[bool]string{true: "on", false: "off"}[node%2 == 0]
		return h
	}
	m.change = func(node, _ int, lines []Line) []Line {
		if node == 6 {
			lines[0].Visit.Settings = map[string]string{"swap": "in use"}
		}
		return lines
	}
	j := judgeDir(t, m.write(t), options())
	assert.Equal(t, []Setting{
		{"doctor: swap", "in use", "as it should be", []string{"n6"}},
		{"governor", "powersave", "performance", []string{"n4"}},
		{"kernel", "5.15", "6.1", []string{"n5"}},
		{"microcode", "0x0", "0x1", []string{"n4"}},
	}, j.Settings)
}

// Wrong results are named, of whichever visit.
func TestWrongResults(t *testing.T) {
	m := fleetOf(4, 2)
	m.change = func(node, visit int, lines []Line) []Line {
		if node == 2 && visit == 1 {
			lines[1].Measure.Wrong = []string{"CPU 3 counted 5 primes instead of 4"}
			lines = append(lines, lines[len(lines)-1])
			lines[len(lines)-2] = Line{Missing: &Missing{Name: "bandwidth", Reason: "wrong", Wrong: []string{"CPU 4 computed a wrong sum"}}}
		}
		return lines
	}
	j := judgeDir(t, m.write(t), options())
	require.Len(t, j.Wrong, 2)
	assert.Equal(t, "n2", j.Wrong[0].Node)
	assert.Equal(t, "compute-one: CPU 3 counted 5 primes instead of 4", j.Wrong[0].What)
	assert.Equal(t, "bandwidth: CPU 4 computed a wrong sum", j.Wrong[1].What)
	assert.Contains(t, j.Answer()[0].Text, "Wrong results were computed on 1 node: n2")
}

// The node nearest to being named is named after the forecast number of visits like those so far, and not before.
func TestNearest(t *testing.T) {
	after := func(visits int, ratios ...float64) *Judgement {
		m := fleetOf(20, visits)
		m.figure = func(int, int, string) float64 { return 100 }
		for node, ratio := range ratios {
			m = m.slowed(node, "latency", ratio)
		}
		return judgeDir(t, m.write(t), options())
	}
	assert.Empty(t, after(8).Nearest)
	assert.Empty(t, after(2, 1, 1.5).Nearest, "by luck, many win as much")
	j := after(8, 1, 1.5)
	require.Len(t, j.Nearest, 1)
	n := j.Nearest[0]
	assert.Equal(t, "n1 latency 50% slower", n.Node+" "+n.words())
	assert.Equal(t, []float64{800, 8, 150, 100}, []float64{n.Needed, float64(n.Bets), n.Figure, n.Median})
	assert.Greater(t, n.E, math.Sqrt(n.Needed))
	assert.Empty(t, after(8+n.More-1, 1, 1.5).Slow)
	named := after(8+n.More, 1, 1.5)
	assert.Len(t, named.Slow, 1)
	assert.Empty(t, named.Nearest)
}

// A rate is better if it is higher. A lower one is less, not slower.
func TestRates(t *testing.T) {
	m := fleetOf(20, 20).slowed(4, "latency", 1/1.07).slowed(5, "latency", 1.07)
	m.change = func(_, _ int, lines []Line) []Line {
		lines[2].Measure.Better, lines[2].Measure.Unit = result.Higher, "B/s"
		return lines
	}
	j := judgeDir(t, m.write(t), options())
	require.Len(t, j.Slow, 1)
	assert.Equal(t, "n4", j.Slow[0].Node)
	assert.InDelta(t, 1.07, j.Slow[0].Ratio, 0.01)
	assert.Regexp(t, `^1 of 20 nodes is slower than others like it by more than 2%: n4 \([67]\.\d% less latency\)$`, j.Answer()[0].Text)
	assert.Regexp(t, `^−[78]\.\d% to −[2-6]\.\d%$`, j.Slow[0].interval())
	s := Slow{Standing: Standing{Ratio: 2.5, Better: result.Higher, Measure: "bandwidth"}, Lo: 2}
	assert.Equal(t, "0.4 × as much bandwidth", s.words())
	assert.Equal(t, "at most 0.50 × as much", s.interval())
}

// After years of visits an e-value is still a number.
func TestGreatWealth(t *testing.T) {
	j := judgeDir(t, fleetOf(2, 1100).slowed(1, "latency", 2).write(t), options())
	require.Len(t, j.Slow, 1)
	assert.Less(t, j.Slow[0].E, math.MaxFloat64)
	assert.Contains(t, shown(t, j, "json"), `"node": "n1"`)
}
