package fleet

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

// namesOfSlow returns the nodes that are named in a measure, and why no line drains them.
func namesOfSlow(j *Judgement) map[string]string {
	names := map[string]string{}
	for _, s := range j.Slow {
		names[s.Node+" "+s.Measure] = s.Unsure
	}
	return names
}

// What a node alone measures, or two others with it, makes no other node harder to name.
func TestHypotheses(t *testing.T) {
	for liars, few := range map[int]int{0: 0, 1: 0, 2: 1800, 3: 2700} {
		m := fleetOf(20, 20).slowed(7, "latency", 1.2)
		m.change = func(node, visit int, lines []Line) []Line {
			if node >= liars || visit > 0 {
				return lines
			}
			for i := range 900 {
				lines = append(lines, Line{Measure: &Measure{Name: fmt.Sprint("c2c-", i), Unit: "ns", Better: result.Lower, Figure: 1}})
			}
			return lines
		}
		j := judgeDir(t, m.write(t), options())
		assert.Equal(t, Family{40, 800}, j.Family, liars)
		assert.Equal(t, few, j.Few.Hypotheses, liars)
		assert.Equal(t, map[string]string{"n7 latency": ""}, namesOfSlow(j), liars)
		if liars == 1 {
			assert.Equal(t, []string{"n0 has measures that no other node of its class has, which are not judged: c2c-0, c2c-1, c2c-10, c2c-100, c2c-101, c2c-102, c2c-103 and 893 more"}, j.Warnings)
			assert.Len(t, j.Classes[0].Measures, 2)
		}
	}
}

// Of a measure that this gorun does not know, most nodes of a class say the unit and the direction; where as many say something else, it
// is not judged. A node has one vote, however many visits it has.
func TestUnits(t *testing.T) {
	for others, want := range map[int]struct {
		named   map[string]string
		warning string
	}{
		0: {map[string]string{"n7 new": ""}, ""},
		1: {map[string]string{"n7 new": ""}, "n0 has figures in another unit or direction than most nodes of its class, which are not judged: new"},
		4: {map[string]string{}, "nodes that are alike do not agree on the unit or direction of measures, which are not judged: new"},
	} {
		m := fleetOf(8, 20).slowed(7, "new", 1.2)
		m.measures = []string{"latency", "new"}
		at := m.at
		m.at = func(node, visit int) time.Time {
			if node == 0 {
				return begin.Add(-time.Duration(visit) * 10 * time.Minute) // before all others
			}
			return at(node, visit)
		}
		m.change = func(node, _ int, lines []Line) []Line {
			if node < others {
				lines[2].Measure.Unit, lines[2].Measure.Better, lines[2].Measure.Figure = "GB/s", result.Higher, 1
			}
			return lines
		}
		j := judgeDir(t, m.write(t), options())
		assert.Equal(t, want.named, namesOfSlow(j), others)
		assert.Equal(t, want.warning, strings.Join(j.Warnings, "; "), others)
	}
}

// Where one node that reports itself fast would be enough, the other is named, and a comment says why no line drains it.
func TestFewPeers(t *testing.T) {
	for nodes := 2; nodes <= 3; nodes++ {
		j := judgeDir(t, fleetOf(nodes, 20).slowed(1, "latency", 1.2).write(t), options())
		assert.Zero(t, j.Hypotheses)
		assert.Equal(t, Family{2 * nodes, float64(2*nodes) / 0.05}, j.Few)
		require.Len(t, j.Slow, 1)
		assert.Equal(t, []any{"n1", nodes - 1}, []any{j.Slow[0].Node, j.Slow[0].Peers})
		for _, format := range []string{"slurm", "kubernetes"} {
			assert.Regexp(t, `^# no line for n1 \(latency (19|20)(\.\d)?% slower \(CPU 1\)\): fewer than 3 nodes like it were visited in the same slot, .*\n$`, shown(t, j, format))
		}
		assert.Contains(t, shown(t, j, "table"), "Not certain enough to drain n1: fewer than 3 nodes")
	}
	m := fleetOf(6, 20).slowed(1, "latency", 1.2)
	m.host = func(node int, h *result.Host) {
		if node < 2 {
			h.Microcode = "0x2"
		}
	}
	m = m.slowed(3, "latency", 1.2)
	assert.Contains(t, shown(t, judgeDir(t, m.write(t), options()), "table"),
		"At most 5% of the names with 3 peers or more are expected to be false, and at most 5% of those with fewer")
}

// A name that rests on the figures of one peer has no line: three nodes are as they are, and a fourth reports itself fast.
func TestRestsOnOnePeer(t *testing.T) {
	figures := func(liar float64) made {
		m := fleetOf(4, 20)
		m.figure = func(node, _ int, _ string) float64 { return []float64{100, 105, 106, liar}[node] }
		return m
	}
	assert.Empty(t, judgeDir(t, figures(105).write(t), options()).Slow)
	j := judgeDir(t, figures(50).write(t), options())
	require.NotEmpty(t, j.Slow)
	for name, unsure := range namesOfSlow(j) {
		assert.Contains(t, unsure, "it is not certain without the figures of ", name)
		assert.Contains(t, unsure, "n3", name)
	}
	assert.NotContains(t, shown(t, j, "slurm"), "nodename=")
}

// With the names that a node gives itself in many measures, others need less. Such a name has no line yet.
func TestNamesOfAnother(t *testing.T) {
	m := fleetOf(20, 12).slowed(7, "m0", 1.5)
	m.measures = nil
	for i := range 11 {
		m.measures = append(m.measures, fmt.Sprint("m", i))
		m = m.slowed(3, fmt.Sprint("m", i), 2)
	}
	j := judgeDir(t, m.write(t), options())
	names := namesOfSlow(j)
	assert.Equal(t, "it is not certain without the figures of n3", names["n7 m0"])
	assert.Len(t, names, 12)
	assert.Equal(t, 1, strings.Count(shown(t, j, "slurm"), "nodename="), "n3, as it says itself")
}

// A node that is not in --expect is warned of, drained by no line, nobody's peer, and makes no other harder to name.
func TestUnexpectedNodes(t *testing.T) {
	m := fleetOf(30, 20)
	figure := m.figure
	m.figure = func(node, visit int, measure string) float64 {
		if node >= 12 { // made up: all others are to look slow
			return figure(node, visit, measure) / 2
		}
		return figure(node, visit, measure)
	}
	m = m.slowed(7, "latency", 1.2).slowed(14, "latency", 9)
	m.change = func(node, _ int, lines []Line) []Line {
		if node == 15 {
			lines[1].Measure.Wrong = []string{"wrong"}
			lines[0].Visit.Settings = map[string]string{"swap": "in use"}
		}
		return lines
	}
	o := options()
	for node := range 12 {
		o.Expect = append(o.Expect, name(node))
	}
	j := judgeDir(t, m.write(t), o)
	assert.Equal(t, map[string]string{"n7 latency": ""}, namesOfSlow(j))
	assert.Equal(t, map[State]int{Judged: 12, Unexpected: 18}, j.States)
	assert.Equal(t, 24, j.Hypotheses)
	assert.Equal(t, 360, j.Visits.Unexpected)
	assert.Empty(t, j.Settings)
	assert.Equal(t, []string{"not in --expect, and so not judged: n12, n13, n14, n15, n16, n17, n18 and 11 more"}, j.Warnings)
	slurm := shown(t, j, "slurm")
	assert.Equal(t, 1, strings.Count(slurm, "nodename="))
	assert.Contains(t, slurm, "\n# no line for n15 (wrong result at 2026-01-05T00:00:15Z): it is not in --expect\n")
	assert.Contains(t, slurm, "\n# warning: not in --expect, and so not judged: n12,")
}

// liarsFleet has six equal nodes, of which n3 is slow.
func liarsFleet() made { return fleetOf(6, 20).slowed(3, "latency", 1.3) }

// FuzzLiar writes what it likes into the folder of a node, n1, and as much as it likes: no other node gets a line for it, the one that is
// slow keeps its own, and nothing hangs.
func FuzzLiar(f *testing.F) {
	dir := liarsFleet().write(f)
	folder := filepath.Join(dir, "n1")
	require.NoError(f, os.RemoveAll(folder))
	var line string
	for text := range strings.Lines(shown(f, judgeDir(f, dir, options()), "slurm")) {
		line = text
	}
	require.Contains(f, line, "nodename=n3 ")

	for _, node := range []string{"n1", "n5", "ALL", "n[1-9999]", "--selector=a", "", "n1\nscontrol update nodename=n5"} {
		f.Add([]byte(nil), "a/b.jsonl", node, "boot-5", "latency", "ns", 1.0, 1.0, int64(0), uint8(0))
	}
	for _, raw := range []string{"", "\x00\x00", "{", "{\"header\":{", `{"visit":{`, `{"visit":{}}` + "\n", strings.Repeat(`{"missing":{"name":"a","wrong":["b"]}}`+"\n", 99)} {
		f.Add([]byte(raw), "a/b.jsonl", "n1", "boot-3", "latency", "B/s", 1e308, 1e-308, int64(0), uint8(0))
	}
	for odd := range uint8(8) {
		f.Add([]byte("x"), "n5/boot/b.jsonl", "n1", "boot-1", "new", "ns", 1e100, 1e-100, int64(odd)*3600, odd)
	}
	for _, figures := range [][2]float64{{0.01, 0.01}, {1e9, 1e9}, {1e99, 1e-99}, {0, -1}, {math.Inf(1), math.NaN()}} {
		f.Add([]byte(nil), "../b.jsonl", "n1", "", "compute-one", "s", figures[0], figures[1], int64(250_000_000_000), uint8(1))
	}

	f.Fuzz(func(t *testing.T, raw []byte, at, node, boot, measure, unit string, even, odd float64, ahead int64, kind uint8) {
		require.NoError(t, os.RemoveAll(folder))
		require.NoError(t, os.MkdirAll(filepath.Join(folder, "boot-1"), 0o777))
		// Its own visits, with figures that depend on the hour, and a measure more.
		m := liarsFleet()
		for visit := range m.visits {
			figure := even
			if visit%2 == 1 {
				figure = odd
			}
			start := m.at(1, visit).Add(time.Duration(ahead) * time.Second)
			lines := fmt.Sprintf(`{"visit":{"schema":%q,"node":%q,"started":%q,"budget_seconds":%g,"tool":{"version":"v1"},"host":{"cpu_model":"CPU 9000","microcode":"0x1","allowed":"0-7","memory_bytes":%d,"topology":"t1","boot_id":%q}}}`+"\n",
				Schema, node, start.Format(time.RFC3339Nano), even, 64<<30, boot)
			for _, of := range [][2]string{{"latency", "ns"}, {"compute-one", "s"}, {measure, unit}} {
				lines += fmt.Sprintf(`{"measure":{"name":%q,"unit":%q,"better":"lower","figure":%g,"part":%q}}`+"\n", of[0], of[1], figure*100, raw)
			}
			for i := range int(kind) * 4 {
				lines += fmt.Sprintf(`{"measure":{"name":"%s%d","unit":"s","better":"higher","figure":1}}`+"\n", measure, i)
			}
			lines += fmt.Sprintf(`{"end":{"ended":%q}}`+"\n", start.Add(40*time.Second).Format(time.RFC3339Nano))
			path := filepath.Join(folder, "boot-1", fmt.Sprintf("%d.jsonl", visit))
			require.NoError(t, os.WriteFile(path, []byte(lines), 0o666))
		}
		// And a file of any kind, anywhere in its folder.
		path := filepath.Join(folder, filepath.Clean("/"+at))
		if filepath.IsLocal("."+filepath.Clean("/"+at)) && os.MkdirAll(filepath.Dir(path), 0o777) == nil {
			switch kind % 8 {
			case 0:
				_ = os.WriteFile(path, raw, 0o666)
			case 1:
				_ = syscall.Mkfifo(path, 0o666)
			case 2:
				_ = os.Symlink("/dev/zero", path)
			case 3:
				if os.WriteFile(path, raw, 0o666) == nil {
					_ = os.Truncate(path, 20<<30)
				}
			case 4:
				_ = os.Symlink(dir, path)
			case 5:
				_ = os.Mkdir(path, 0)
			case 6:
				_ = os.Symlink(filepath.Join(dir, "n5", "boot-5", "20260105T000005.jsonl"), path)
			case 7:
				_ = os.WriteFile(path, bytes.Repeat(raw, 1000), 0o666)
			}
		}
		j, journals, err := Judge(t.Context(), []string{dir}, options())
		require.NoError(t, err)
		require.Nil(t, journals)
		kept := false
		for text := range strings.Lines(shown(t, j, "slurm")) {
			if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "scontrol update nodename=n1 state=drain ") {
				continue
			}
			require.Regexp(t, `^scontrol update nodename=n3 state=drain 'reason=gorun: latency [0-9.]+% slower \(CPU 1\)'\n$`, text)
			kept = true
		}
		require.True(t, kept, "n3 has no line")
		for _, format := range []string{"table", "json"} {
			shown(t, j, format)
		}
	})
}
