package fleet

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/files/input"
	"gorun/internal/files/jsonl"
	"gorun/internal/record/result"
)

// made is a fleet whose visits are written into a directory.
type made struct {
	nodes, visits int
	measures      []string
	host          func(node int, h *result.Host) // nil: all are as usual
	figure        func(node, visit int, measure string) float64
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
		host := result.Host{
			CPUModel: "CPU 9000", Microcode: "0x1", Allowed: "0-7", MemoryBytes: 64 << 30, Topology: "t1", Governor: "performance", Kernel: "6.1",
			BootID: fmt.Sprint("boot-", node),
		}
		if m.host != nil {
			m.host(node, &host)
		}
		at := filepath.Join(dir, name(node), host.BootID)
		require.NoError(t, os.MkdirAll(at, 0o777))
		for visit := range m.visits {
			start := m.at(node, visit)
			lines := []Line{{Visit: &Header{
				Schema: Schema, Node: name(node), Started: start.Format(time.RFC3339Nano), Budget: 45, Tool: result.Tool{Version: "v1"}, Host: host,
			}}}
			for i, measure := range m.measures {
				unit, better := "ns", result.Lower
				if row, _ := rowOf(measure); row != nil {
					unit, better = string(row.unit), row.better()
				}
				lines = append(lines, Line{Measure: &Measure{
					Name: measure, Unit: unit, Better: better, Figure: m.figure(node, visit, measure), Part: fmt.Sprint("CPU ", i), Parts: 8,
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
		one, err := jsonl.Marshal(line)
		require.NoError(t, err)
		text = append(text, one...)
	}
	require.NoError(t, os.WriteFile(path, text, 0o666))
}

func options() Options {
	return Options{Margin: 0.02, FDR: 0.05, Slot: time.Hour, Now: later}
}

func judgeDir(t testing.TB, dir string, o Options) *Judgement {
	t.Helper()
	j, journals, err := Judge(t.Context(), []string{dir}, o)
	require.NoError(t, err)
	require.Nil(t, journals)
	return j
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
		figure := m.figure
		m.host = func(node int, h *result.Host) {
			if node < 8 {
				change(h)
			}
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
	m.host = func(node int, h *result.Host) {
		h.MemoryBytes -= uint64(node) * 100 << 20
	}
	assert.Len(t, judgeDir(t, m.write(t), options()).Classes, 1)
}

// Each node has a state.
func TestStates(t *testing.T) {
	m := fleetOf(5, 3)
	at := m.at
	m.host = func(node int, h *result.Host) {
		if node == 3 {
			h.Microcode = "0x3" // the only one
		}
	}
	m.at = func(node, visit int) time.Time {
		if node == 4 {
			return later.Add(-time.Duration(visit) * time.Minute)
		}
		return at(node, visit)
	}
	o := options()
	o.Now = later.Add(time.Minute)
	o.Expect = []string{"n0", "n1", "n2", "n3", "n4", "n77"}
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
	paths := tests.Glob(t, filepath.Join(dir, "n3", "*", "*"))
	require.Len(t, paths, 16)
	for _, path := range paths {
		text := tests.Read(t, path)
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

// A file that is damaged, or that cannot be right, is named and left out, and the others count.
func TestDamagedFiles(t *testing.T) {
	header := func(node, started, more string) string {
		return `{"visit":{"node":"` + node + `","schema":"` + Schema + `","started":"` + started + `"` + more + "}}\n"
	}
	good := header("n9", "2026-01-05T00:00:00Z", "")
	for text, want := range map[string]string{
		"":                                       "it has no whole first line",
		strings.Repeat("\x00", 4096):             "it has no whole first line",
		strings.Repeat("\x00", 4096) + "\n":      "line 1 is broken: it has no checksum",
		"{\"visit\":{}}\n":                       "line 1: it names no node",
		"nonsense\n":                             "line 1 is broken: it has no checksum",
		"{\"visit\":[]}\n":                       "line 1: it is no line of a visit",
		"{\"end\":{\"ended\":1}}\n":              "line 1: a visit begins with its header, and has one",
		"{\"end\":{}}\n":                         "line 1: a visit begins with its header, and has one",
		good + good:                              "line 2: a visit begins with its header, and has one",
		good:                                     "it has no last line, although its name says that it ended",
		good + strings.Repeat("x", mostBytes):    "it is larger than 1 MiB",
		header("n9", "yesterday", ""):            `"yesterday" is no time`,
		header("n9", "9999-01-01T00:00:00Z", ""): "ahead of this machine's clock by more than a day",
		header("n9", "0000-01-01T00:00:00Z", ""): "is before 1970",
		header("n9", "2026-01-05T00:00:00Z", `,"budget_seconds":1e300`):                              "its budget of 1e+300 s cannot be right",
		header("n9", "2026-01-05T00:00:00Z", `,"budget_seconds":-1`):                                 "its budget of -1 s cannot be right",
		header("n5", "2026-01-05T00:00:00Z", ""):                                                     "it lies in the folder of n9, and names n5 as its node",
		header("ALL", "2026-01-05T00:00:00Z", ""):                                                    "it lies in the folder of n9, and names ALL as its node",
		`{"visit":{"node":"n9","schema":"gorun-fleet/v9"}}` + "\n":                                   "its schema is gorun-fleet/v9",
		good + `{"end":{"ended":"9999-01-01T00:00:00Z"}}` + "\n":                                     "line 2: 9999-01-01T00:00:00Z is ahead of this machine's clock",
		good + `{"measure":{"name":"latency","figure":-1}}` + "\n":                                   "line 2: a figure is a number above 0",
		good + `{"measure":{"name":"latency","figure":1e308}}` + "\n":                                "line 2: a figure is a number above 0",
		good + `{"measure":{"name":"latency","figure":1e-308}}` + "\n":                               "line 2: a figure is a number above 0",
		good + `{"measure":{"name":"latency","figure":1,"unit":"B/s","better":"higher"}}` + "\n":     "line 2: latency is in B/s there, and the higher the better, instead of ns and lower",
		good + `{"measure":{"name":"c2c-same-llc","figure":1,"unit":"ns","better":"higher"}}` + "\n": "instead of ns and lower",
		good + strings.Repeat(`{"measure":{"name":"m","figure":1}}`+"\n", mostItems+1):               "line 1002: it has more than 1000 measures",
	} {
		dir := fleetOf(4, 2).write(t)
		path := filepath.Join(dir, "n9", "boot", "a.jsonl")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
		j := judgeDir(t, dir, options())
		require.Len(t, j.Warnings, 1, "%.100s", text)
		assert.Contains(t, j.Warnings[0], path+" is left out: ")
		assert.Contains(t, j.Warnings[0], want, "%.100s", text)
		assert.Equal(t, 8, j.Visits.Judged)
		assert.Len(t, j.Nodes, 4)
	}
}

// A line that was changed, or whose checksum was removed, is found. Visits of an older gorun have no checksums (testdata/fleet).
func TestChangedLine(t *testing.T) {
	for want, change := range map[string]func(line string) string{
		"line 3 is broken: its checksum is": func(line string) string { return strings.Replace(line, `"parts":8`, `"parts":9`, 1) },
		"line 3: it has no checksum":        func(line string) string { return line[:strings.LastIndex(line, `,"crc32"`)] + "}\n" },
	} {
		dir := fleetOf(4, 2).write(t)
		paths := tests.Glob(t, filepath.Join(dir, "n1", "*", "*"))
		text := tests.Read(t, paths[0])
		lines := strings.SplitAfter(string(text), "\n")
		changed := change(lines[2])
		require.NotEqual(t, lines[2], changed)
		lines[2] = changed
		require.NoError(t, os.WriteFile(paths[0], []byte(strings.Join(lines, "")), 0o666))
		j := judgeDir(t, dir, options())
		require.Len(t, j.Warnings, 1)
		assert.Contains(t, j.Warnings[0], paths[0]+" is left out: "+want)
		assert.Equal(t, 7, j.Visits.Read)
	}
}

// A visit counts only in DIR/NODE/BOOT, where DIR is what is named, and where NODE can be a name. Of a folder, one file is named.
func TestFolders(t *testing.T) {
	for at, want := range map[string]string{
		"a.jsonl":             "it does not lie in DIR/NODE/BOOT",
		"n1/a.jsonl":          "it does not lie in DIR/NODE/BOOT",
		"n1/n5/boot/a.jsonl":  "it does not lie in DIR/NODE/BOOT",
		"ALL/boot/a.jsonl":    "its folder ALL has no name of a node",
		"all/boot/a.jsonl":    "its folder all has no name of a node",
		"-x/boot/a.jsonl":     "its folder -x has no name of a node",
		"n[1-9]/boot/a.jsonl": "its folder n[1-9] has no name of a node",
		"bad,n1/boot/a.jsonl": "its folder bad,n1 has no name of a node",
		"a\nb/boot/a.jsonl":   "has no name of a node",
	} {
		dir := fleetOf(4, 2).write(t)
		for _, file := range []string{"a", "b", "c"} {
			path := filepath.Join(dir, filepath.Dir(at), file+".jsonl")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
			writeLines(t, path, []Line{
				{Visit: &Header{Schema: Schema, Node: "n5", Started: begin.Format(time.RFC3339)}},
				{Measure: &Measure{Name: "latency", Unit: "ns", Better: "lower", Figure: 1, Wrong: []string{"wrong"}}},
				{End: &End{Ended: begin.Format(time.RFC3339)}},
			})
		}
		j := judgeDir(t, dir, options())
		require.Len(t, j.Warnings, 1, at)
		assert.Contains(t, j.Warnings[0], filepath.Join(dir, at)+" is left out: line 1: ")
		assert.Contains(t, j.Warnings[0], want)
		assert.Contains(t, j.Warnings[0], "; so are 2 other files of its folder")
		assert.Len(t, j.Nodes, 4, at)
		assert.Empty(t, j.Wrong)
	}
}

// What a directory holds beside regular files is named, and neither opened nor followed. A link that the user names is followed.
func TestOddFiles(t *testing.T) {
	dir := fleetOf(4, 2).write(t)
	at := filepath.Join(dir, "n9", "boot")
	require.NoError(t, os.MkdirAll(filepath.Join(at, "dir.jsonl"), 0o777))
	require.NoError(t, syscall.Mkfifo(filepath.Join(at, "fifo.jsonl"), 0o666))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(at, "zero.jsonl")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "n0", "boot-0", begin.Format("20060102T150405")+".jsonl"), filepath.Join(at, "n0.jsonl")))
	sparse := filepath.Join(at, "sparse.jsonl")
	require.NoError(t, os.WriteFile(sparse, nil, 0o666))
	require.NoError(t, os.Truncate(sparse, 20<<30))
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(dir, link))
	for _, dir := range []string{dir, link} {
		j := judgeDir(t, dir, options())
		assert.Equal(t, Visits{Read: 8, Judged: 8}, j.Visits)
		assert.Equal(t, []string{
			filepath.Join(dir, "n9", "boot", "fifo.jsonl") + " is left out: it is not a regular file; so are 2 other files of its folder",
			filepath.Join(dir, "n9", "boot", "sparse.jsonl") + " is left out: it is larger than 1 MiB",
		}, j.Warnings)
	}
	for _, file := range []string{"fifo.jsonl", "zero.jsonl"} { // as the only file, and named
		_, journals, err := Judge(t.Context(), []string{filepath.Join(at, file)}, options())
		require.NoError(t, err)
		assert.Len(t, journals.Files, 1, "what it is, is for the reader of journals")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := Judge(ended, []string{dir}, options())
	require.ErrorIs(t, err, context.Canceled)
}

// Two visits that one folder has of the same CPUs at once disturb each other, and do not count; on different CPUs they do.
func TestOverlappingVisits(t *testing.T) {
	for cpus, want := range map[string]Visits{"0-7": {Read: 24, Judged: 18, Overlapped: 6}, "8-15": {Read: 24, Judged: 21, Repeated: 3}} {
		m := fleetOf(4, 6)
		m.at = func(node, visit int) time.Time {
			if node == 1 {
				return begin.Add(time.Duration(visit/2)*time.Hour + time.Duration(visit%2)*10*time.Second)
			}
			return begin.Add(time.Duration(visit) * time.Hour)
		}
		m.change = func(_, visit int, lines []Line) []Line {
			if visit%2 == 1 {
				lines[0].Visit.Host.Allowed = cpus
			}
			return lines
		}
		assert.Equal(t, want, judgeDir(t, m.write(t), options()).Visits, cpus)
	}
}

// A node that reports the boot of another silences neither: both are named in a warning, unless they have different CPUs, as n2 has.
func TestSameBoot(t *testing.T) {
	for cpus, warnings := range map[string]int{"0-7": 1, "8-15": 0} {
		m := fleetOf(4, 3)
		m.host = func(node int, h *result.Host) {
			if node == 1 {
				h.Allowed = cpus
			} else if node == 2 {
				h.Allowed = "16-23"
			}
		}
		m.change = func(node, _ int, lines []Line) []Line {
			if node < 3 {
				lines[0].Visit.Host.BootID = "one machine"
			}
			return lines
		}
		j := judgeDir(t, m.write(t), options())
		assert.Equal(t, Visits{Read: 12, Judged: 12}, j.Visits, cpus)
		require.Len(t, j.Warnings, warnings)
		if warnings > 0 {
			assert.Equal(t, "n0, n1 report the same boot of one machine and the same CPUs: the machine has several names, and is compared with "+
				"itself, or one of them reports what is another's", j.Warnings[0])
		}
	}
}

// A copy of a visit does not count, and silences nothing. Of several files of a visit, the fullest counts, and of equal ones that which
// was written when the visit ended.
func TestCopies(t *testing.T) {
	for name, c := range map[string]struct {
		kept, copied int           // lines; 0: all
		late         time.Duration // the copy was written so much later
		cut          int
	}{
		"whole":                     {late: time.Hour},
		"copied while it lasted":    {copied: 1, late: -time.Second},
		"killed, and copied before": {kept: 2, copied: 1, late: -time.Second, cut: 3},
	} {
		dir := fleetOf(4, 3).write(t)
		paths := tests.Glob(t, filepath.Join(dir, "n1", "*", "*"))
		for _, path := range paths {
			text := tests.Read(t, path)
			write := func(path string, lines int, at time.Time) {
				if lines > 0 {
					path, text = path+partial, []byte(strings.Join(strings.SplitAfter(string(text), "\n")[:lines], ""))
				}
				require.NoError(t, os.WriteFile(path, text, 0o666))
				require.NoError(t, os.Chtimes(path, at, at))
			}
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
			write(path, c.kept, info.ModTime())
			write(filepath.Join(filepath.Dir(path), "0"+filepath.Base(path)), c.copied, info.ModTime().Add(c.late))
		}
		j := judgeDir(t, dir, options())
		assert.Equal(t, Visits{Read: 12, Judged: 12, Copies: 3, Cut: c.cut}, j.Visits, name)
		assert.Empty(t, j.Clocks, name)
		assert.NotEmpty(t, j.Nodes[1].Measures, name)
	}
}

// A killed visit lasted until its file was last written, which may seem to be a moment before it began: later ones on the same CPUs
// count.
func TestKilledVisitsDoNotOverlap(t *testing.T) {
	m := fleetOf(1, 6)
	m.change = func(_, _ int, lines []Line) []Line { return lines[:1] }
	m.at = func(_, visit int) time.Time { return begin.Add(time.Duration(visit) * 10 * time.Second) }
	dir := m.write(t)
	paths := tests.Glob(t, filepath.Join(dir, "*", "*", "*"))
	require.Len(t, paths, 6)
	for _, path := range paths {
		start, err := time.Parse("20060102T150405", strings.TrimSuffix(filepath.Base(path), ".jsonl"))
		require.NoError(t, err)
		require.NoError(t, os.Rename(path, path+partial))
		require.NoError(t, os.Chtimes(path+partial, start, start.Add(-4*time.Millisecond)))
	}
	assert.Equal(t, 0, judgeDir(t, dir, options()).Visits.Overlapped)
}

// A clock that is an hour off loses nothing, and is reported: by the times of the files, or since the visit is from the future.
func TestWrongClocks(t *testing.T) {
	for off, want := range map[time.Duration]float64{time.Hour: 3600, -time.Hour: -3600, time.Second: 0} {
		dir := fleetOf(6, 3).write(t)
		paths := tests.Glob(t, filepath.Join(dir, "n2", "*", "*"))
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
	paths := tests.Glob(t, filepath.Join(dir, "*", "*", "*"))
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
	settle := func(j *Judgement) {
		file, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, j.Settled.Write(file))
		require.NoError(t, file.Close())
	}
	settle(first)
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
		settle(j)
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
	m.host = func(node int, h *result.Host) {
		switch {
		case node == 4:
			h.Governor, h.Microcode = "powersave", "0x0"
		case node == 5:
			h.Kernel = "5.15"
		}
		h.SMT = map[bool]string{true: "on", false: "off"}[node%2 == 0]
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
	assert.Contains(t, j.answer()[0].Text, "Wrong results were computed on 1 node: n2")
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
	m := fleetOf(20, 20).slowed(4, "bandwidth", 1/1.07).slowed(5, "bandwidth", 1.07)
	m.measures = []string{"compute-one", "bandwidth"}
	j := judgeDir(t, m.write(t), options())
	require.Len(t, j.Slow, 1)
	assert.Equal(t, "n4", j.Slow[0].Node)
	assert.InDelta(t, 1.07, j.Slow[0].Ratio, 0.01)
	assert.Regexp(t, `^1 of 20 nodes is slower than others like it by more than 2%: n4 \([67]\.\d% less bandwidth\)$`, j.answer()[0].Text)
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
