package fleet

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/publish/document"
	"gorun/internal/publish/report"
	"gorun/internal/show/rendertest"
	"gorun/internal/show/term"
)

// shown shows a judgement in a format.
func shown(t testing.TB, d document.Document, format string) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, document.Show(&out, d, format, term.Options{Width: 120}))
	return out.String()
}

// twoSlow judges a fleet in which two nodes are slow, one of them in two measures.
func twoSlow(t *testing.T) *Judgement {
	t.Helper()
	o := options()
	for node := range 20 {
		o.Expect = append(o.Expect, name(node))
	}
	o.Expect = append(o.Expect, "n99")
	return judgeDir(t, fleetOf(20, 24).slowed(7, "latency", 1.06).slowed(3, "latency", 1.2).slowed(3, "compute-one", 1.1).write(t), o)
}

func TestAnswer(t *testing.T) {
	var texts []string
	for _, s := range twoSlow(t).answer() {
		texts = append(texts, s.Text)
	}
	require.Len(t, texts, 3)
	assert.Regexp(t, `^2 of 21 nodes are slower than others like them by more than 2%: n3 \(latency (19|20)(\.\d)?% slower\), n7 \(latency [56]\.\d% slower\)$`, texts[0])
	assert.Equal(t, "At most 5% of such names are expected to be false", texts[1])
	assert.Equal(t, "Nodes: 20 judged, 1 never reported", texts[2])

	few := judgeDir(t, fleetOf(20, 3).slowed(3, "latency", 1.2).write(t), options())
	assert.Equal(t, "Of 20 nodes, none is certain to be slower than others like it by more than 2%", few.answer()[0].Text)
	assert.Equal(t, "Too few visits yet: a slow node needs at least 12 that count, and no node has more than 3", few.answer()[1].Text)

	soon := judgeDir(t, fleetOf(20, 9).slowed(3, "latency", 1.2).write(t), options())
	near := `^Nearest: n3 \(latency (19|20)(\.\d)?% slower\), e-value \d+\.\d of 800; about \d more visits$`
	assert.Regexp(t, near, soon.answer()[2].Text)
	for _, format := range []string{"table", "markdown", "html"} {
		assert.Regexp(t, `(?s)Nearest: n3 .*Nearest to being named.*n3.*latency.*Not known to be slow`, shown(t, soon, format), format)
	}

	alone := judgeDir(t, fleetOf(1, 3).write(t), options())
	assert.Equal(t, "No node was judged: a node needs others like it, visited in the same 1 h", alone.answer()[0].Text)
}

// Each format has the named nodes.
func TestFormats(t *testing.T) {
	j := twoSlow(t)
	for _, format := range document.For[*Judgement]().Names() {
		text := shown(t, j, format)
		assert.Contains(t, text, "n3", format)
		assert.Contains(t, text, "latency", format)
		assert.Equal(t, text, shown(t, j, format), "%s is the same each time", format)
	}
	assert.Contains(t, shown(t, j, "html"), "<svg")
	assert.Contains(t, shown(t, j, "prometheus"), `gorun_fleet_slow_ratio{measure="compute-one",node="n3"} 1.`)
	assert.Contains(t, shown(t, j, "prometheus"), `gorun_fleet_nodes{state="never reported"} 1`)

	var read Judgement
	require.NoError(t, json.Unmarshal([]byte(shown(t, j, "json")), &read))
	assert.Equal(t, j.Slow, read.Slow)
	assert.Len(t, read.Nodes, 21)

	rows, err := csv.NewReader(strings.NewReader(shown(t, j, "csv"))).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"node", "class", "state", "measure", "figure", "visits", "e", "ratio", "slow"}, rows[0])
	assert.Len(t, rows, 1+2*20+1)
	slow := 0
	for _, row := range rows {
		if row[8] == "true" {
			slow++
		}
	}
	assert.Equal(t, 3, slow)
}

// The map has the names of nodes and measures. A cell of a rate has less of it where the node is slower.
func TestMap(t *testing.T) {
	m := fleetOf(5, 3)
	m.figure = func(node, _ int, measure string) float64 {
		if node == 4 && measure == "bandwidth" {
			return 150
		}
		return 200
	}
	m.measures = []string{"compute-one", "bandwidth"}
	svg := judgeDir(t, m.write(t), options()).Drawings()[0].SVG
	for _, text := range []string{">n4</text>", ">compute-one</text>", ">bandwidth</text>", "n4, bandwidth: 25% less<", ">0.75</text>", "n4, compute-one: 0.0%<", ">equal</text>"} {
		assert.Contains(t, svg, text)
	}
	assert.NotContains(t, svg, "1.33")
}

// The lines that drain nodes are a shell's, one for each node, with all reasons.
func TestDrainLines(t *testing.T) {
	j := twoSlow(t)
	slurm := strings.Split(strings.TrimSpace(shown(t, j, "slurm")), "\n")
	require.Len(t, slurm, 2)
	// A shell sees five words of each.
	script := "scontrol() { echo $#; echo \"$4\"; }\n" + slurm[0]
	out, err := exec.Command("bash", "-c", script).Output()
	require.NoError(t, err)
	assert.Regexp(t, `^4\nreason=gorun: latency \d+(\.\d)?% slower \(CPU 1\), compute-one \d+\.\d% slower \(CPU 0\)\n$`, string(out))
	assert.Regexp(t, `^kubectl cordon -- n3 # gorun: latency`, shown(t, j, "kubernetes"))

	healthy := judgeDir(t, fleetOf(3, 1).write(t), options())
	assert.Equal(t, "# no node is named\n", shown(t, healthy, "slurm"))
}

// A node is drained for the first of its wrong results, and for all in which it is slow. A comment says why another has no line.
func TestDrainReasons(t *testing.T) {
	slow := Standing{Node: "n1", Measure: "latency", Ratio: 1.2, Part: "CPU 1"}
	unsure := Slow{Standing: slow, Unsure: "few peers"}
	unsure.Node = "n3"
	j := &Judgement{
		Nodes: []Node{{Name: "n2", State: Unexpected}}, Slow: []Slow{{Standing: slow}, unsure}, Warnings: []string{"odd"},
		Wrong: []Wrong{{Node: "n1", Time: "noon"}, {Node: "n1", Time: "night"}, {Node: "n2", Time: "noon"}},
	}
	assert.Equal(t, "kubectl cordon -- n1 # gorun: wrong result at noon, latency 20% slower (CPU 1)\n"+
		"# no line for n2 (wrong result at noon): it is not in --expect\n# no line for n3 (latency 20% slower (CPU 1)): few peers\n"+
		"# warning: odd\n", shown(t, j, "kubernetes"))
}

// A text that a stranger wrote into a file changes neither the terminal nor a shell.
func TestHostileTexts(t *testing.T) {
	m := fleetOf(20, 20).slowed(3, "latency", 1.2)
	m.change = func(_, _ int, lines []Line) []Line {
		lines[2].Measure.Part = "<script>\n$(reboot)\x1b[31m"
		return lines
	}
	j := judgeDir(t, m.write(t), options())
	require.Len(t, j.Slow, 1)
	for _, format := range document.For[*Judgement]().Names() {
		text := shown(t, j, format)
		assert.NotContains(t, text, "\x1b[31m", format)
		assert.NotContains(t, text, "<script>\n", format)
		if format == "slurm" {
			assert.Contains(t, text, "'reason=", format)
		}
		if format == "slurm" || format == "kubernetes" {
			assert.Equal(t, 1, strings.Count(text, "\n"), format)
		}
	}
}

// Whatever a document has for a text, a terminal gets only what can be printed, and a page only text.
func TestHostileDocuments(t *testing.T) {
	j := judgeDir(t, fleetOf(20, 20).slowed(3, "latency", 1.2).write(t), options())
	soiled := rendertest.Soiled(t, j)
	drawn := rendertest.Soiled(t, j)
	for i := range drawn.Nodes {
		drawn.Nodes[i].State = j.Nodes[i].State
	}
	require.NotEmpty(t, drawn.Drawings())
	rendertest.XML(t, term.Clean(drawn).Drawings()[0].SVG)
	run := recordedRun(t, "exec-placements")
	hosts, err := JudgeHosts([]report.Input{onHost(t, run, "a"), onHost(t, run, "b"), onHost(t, run, "c")})
	require.NoError(t, err)
	for name, d := range map[string]document.Document{"all": soiled, "drawn": drawn, "hosts": rendertest.Soiled(t, hosts)} {
		for _, format := range document.For[*Judgement]().Names() {
			var page strings.Builder
			if err := document.Show(&page, d, format, term.Options{}); err != nil {
				continue // not of such documents
			}
			if format == "html" {
				rendertest.Page(t, page.String())
				continue
			}
			safe := string(hint.Escape([]byte(page.String()))) // as stdout does
			assert.False(t, strings.ContainsFunc(safe, func(r rune) bool { return hint.Acts(r) && r != '\n' }), "%s %s", name, format)
		}
	}
}
