package fleet

import (
	"encoding/json"
	"fmt"
	"hash/crc64"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
	"gorun/internal/judge/journal"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/render"
	"gorun/internal/publish/report"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/work/command"
	"gorun/internal/work/primes"
)

var hostsViews = render.Views{primes.Experiment, command.Experiment}

// recordedRun reads the journal of a recorded run.
func recordedRun(t testing.TB, name string) *result.Run {
	t.Helper()
	archive, err := txtar.ParseFile("../../../testdata/runs/" + name + ".txtar")
	require.NoError(t, err)
	i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "run.jsonl" })
	path := filepath.Join(t.TempDir(), "run.jsonl")
	require.NoError(t, os.WriteFile(path, archive.Files[i].Data, 0o600))
	recording, err := journal.Read(t.Context(), input.Opener{}, path, hostsViews.Known)
	require.NoError(t, err)
	return recording.Run
}

// onHost returns a copy of a run as that of another host, without samples. It lacks the cells with these values of a flag.
func onHost(t testing.TB, recorded *result.Run, name string, without ...string) report.Input {
	t.Helper()
	text, err := json.Marshal(recorded.Header())
	require.NoError(t, err)
	run := new(result.Run)
	require.NoError(t, json.Unmarshal(text, run))
	run.Host.Hostname, run.Host.BootID, run.Host.Governor = name, "boot of "+name, "performance"
	run.Cells = slices.DeleteFunc(run.Cells, func(c result.Cell) bool { return slices.Contains(without, c.Flags["placement"]) })
	return report.Input{File: name + ".jsonl", Run: run, Ended: true}
}

func judgingOf(t testing.TB, run *result.Run) *matrix.Judging {
	t.Helper()
	columns, _ := hostsViews.Known(run.Experiment)
	judging, err := matrix.NewJudging(run, columns)
	require.NoError(t, err)
	return judging
}

// scaled gives a host the samples of the recorded run, with those of one cell multiplied by a factor, and the verdicts on them.
func scaled(t testing.TB, recorded *result.Run, in report.Input, cell int, factor float64) report.Input {
	t.Helper()
	judging := judgingOf(t, in.Run)
	for _, s := range recorded.Samples.All() {
		if s.Cell == cell {
			s.Seconds *= factor
		}
		in.Run.Samples.Append(s)
		require.NoError(t, judging.Add(*s))
	}
	judging.Judge()
	return in
}

// played gives a host new samples, in this number of rounds, and the verdicts on them. They are copies of recorded samples with other
// times, which scatter by 1%: ratios has the ratios of the cells to the baseline, 1 where a cell is not in it. spoil changes the samples
// of a placement.
func played(t testing.TB, recorded *result.Run, in report.Input, rounds int, ratios map[string]float64,
	spoil ...func(s *result.Sample, placement string),
) report.Input {
	t.Helper()
	run := in.Run
	run.Matrix.Rounds, run.Matrix.Order.First, run.Seed = rounds, nil, crc64.Checksum([]byte(run.Host.Hostname), crc64.MakeTable(crc64.ISO))
	judging := judgingOf(t, run)
	random := rand.New(rand.NewPCG(run.Seed, 1))
	for !judging.Done() && judging.Rounds() < rounds {
		slot := judging.Next()
		s := recorded.Samples.At(0)
		slot.Elapsed = float64(run.Samples.Len())
		s.Index, s.Slot, s.Quality.Signals, s.Answer = run.Samples.Len(), &slot, result.Signals{}, nil
		placement := run.Cells[slot.Cell].Flags["placement"]
		ratio := ratios[placement]
		s.Seconds = 0.1 * math.Exp(0.01*random.NormFloat64())
		if ratio > 0 {
			s.Seconds *= ratio
		}
		for _, change := range spoil {
			change(s, placement)
		}
		run.Samples.Append(s)
		require.NoError(t, judging.Add(*s))
	}
	judging.Judge()
	return in
}

func judgeHosts(t testing.TB, runs ...report.Input) *Hosts {
	t.Helper()
	h, err := JudgeHosts(runs)
	require.NoError(t, err)
	return h
}

// hostsPage shows all that hosts say.
func hostsPage(h *Hosts) string {
	page := view.AnswerBlock(h.answer(), term.Options{Width: 110})
	for _, t := range h.tables() {
		page += "\n" + term.Table(t, term.Options{Width: 110})
	}
	return page + strings.Join(h.Warned, "\n")
}

// hostsTable returns the text of a table.
func hostsTable(t *testing.T, h *Hosts, name string) string {
	t.Helper()
	for _, table := range h.tables() {
		if table.Name == name {
			return term.Table(table, term.Options{Width: 120})
		}
	}
	return ""
}

func hostsAnswer(h *Hosts) string { return view.AnswerBlock(h.answer(), term.Options{Width: 200}) }

// cellOf returns the judgement of a cell.
func cellOf(t *testing.T, h *Hosts, title string) HostsCell {
	t.Helper()
	i := slices.IndexFunc(h.Cells, func(c HostsCell) bool { return c.Title == title })
	require.GreaterOrEqual(t, i, 0, title)
	return h.Cells[i]
}

const playedRounds = 30

// placements are those of exec-placements except these, which leaves few cells.
func placementsBut(kept ...string) []string {
	all := []string{"one-cpu", "smt-siblings", "one-per-core", "one-llc", "spread-nodes", "interleaved", "node-interleaved", "node-remote"}
	return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(kept, name) })
}

// One host of six is slower where the others are faster, and has another governor and microcode.
func TestHostsDisagree(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-placements")
	var runs []report.Input
	for i := 6; i > 0; i-- { // in any order
		name := fmt.Sprintf("n%d", i)
		in := onHost(t, recorded, name, placementsBut("one-cpu", "one-llc", "spread-nodes", "node-remote")...)
		ratios := map[string]float64{"one-llc": 0.85 + 0.004*float64(i), "one-cpu": 3, "spread-nodes": 1.1}
		if i == 4 {
			in.Run.Host.Governor, in.Run.Host.Microcode = "powersave", "0x2"
			ratios["one-llc"], ratios["spread-nodes"] = 1.1, 1.3
		}
		if i == 5 {
			in.Run.Host.Microcode = "0x2"
		}
		runs = append(runs, played(t, recorded, in, playedRounds, ratios))
	}
	h := judgeHosts(t, runs...)
	assert.Equal(t, []string{"one-cpu", "one-llc", "spread-nodes", "node-remote"},
		[]string{h.Cells[0].Title, h.Cells[1].Title, h.Cells[2].Title, h.Cells[3].Title}, "as in the runs")
	type counts struct{ faster, slower, same, undecided int }
	for title, want := range map[string]counts{
		"one-cpu": {0, 6, 0, 0}, "one-llc": {5, 1, 0, 0}, "spread-nodes": {0, 6, 0, 0}, "node-remote": {0, 0, 6, 0},
	} {
		c := cellOf(t, h, title)
		assert.Equal(t, want, counts{c.Faster, c.Slower, c.Same, c.Undecided}, title)
		assert.Equal(t, "unbound", c.Against)
		assert.Empty(t, c.Missing)
		assert.Len(t, c.Verdicts, 6)
	}
	llc := cellOf(t, h, "one-llc").Ratios
	assert.InDelta(t, 0.865, llc.Median, 0.01)
	assert.InDelta(t, 0.854, llc.Least, 0.01)
	assert.InDelta(t, 1.1, llc.Most, 0.01)
	assert.Equal(t, "n4", llc.MostOn)
	assert.Equal(t, 5, llc.Fits)
	assert.InDelta(t, llc.Median, llc.Common, 0.001, "the median is in the intervals of five")

	require.Len(t, h.Disagree, 2)
	for i, d := range h.Disagree {
		assert.Equal(t, "n4", d.Host)
		assert.Equal(t, []string{"one-llc", "spread-nodes"}[i], d.Cell)
		assert.Equal(t, i == 0, d.Opposite, "the other is slower too, but by more than is common")
		assert.Equal(t, []HostDifference{
			{What: "governor", Here: "powersave", Usual: "performance", On: 5, Among: 5},
			{What: "microcode", Here: "0x2", Usual: "0x1", On: 4, Too: 1, Among: 5},
		}, d.Differs, "first what none of the others has")
	}
	assert.Equal(t, []HostCondition{
		{"microcode", []HostValue{{"0x1", []string{"n1", "n2", "n3", "n6"}}, {"0x2", []string{"n4", "n5"}}}},
		{"governor", []HostValue{{"performance", []string{"n1", "n2", "n3", "n5", "n6"}}, {"powersave", []string{"n4"}}}},
	}, h.Conditions)
	assert.Empty(t, h.Warned)

	answer := hostsAnswer(h)
	first, _, _ := strings.Cut(answer, "\n")
	assert.Equal(t, "Faster than unbound on some hosts, slower on others:", first)
	assert.Regexp(t, `one-llc  faster on 5 of 6 hosts, slower on 1: −1\d% in the median, from −1\d% \(n\d\) to \+(9\.\d|10|11)% \(n4\)`, answer)
	assert.Contains(t, answer, "one-cpu       slower on all 6 hosts: ")
	assert.Contains(t, answer, "node-remote  no difference larger than 2% on all 6 hosts")
	assert.Regexp(t, `Host n4 disagrees: one-llc is slower: .*, spread-nodes is slower: .*; governor powersave \(performance on all 5 others\), `+
		`microcode 0x2 \(0x1 on 4 of 5 others, the same on 1\)`, answer)
	assert.Contains(t, hostsTable(t, h, "cells"), "of 6 hosts, expect that up to 0.3 have a false one")
	assert.Contains(t, hostsTable(t, h, "disagree"), "governor powersave (performance on all 5 others)")
	assert.Contains(t, hostsTable(t, h, "conditions"), "microcode  0x1 on 4 hosts; 0x2 on n4, n5")
	assert.Regexp(t, `one-llc +6 +0\.8\d +0\.8\d … 1\.\d+ +n\d +n4 +5`, hostsTable(t, h, "spread"))
}

// Equal hosts do not disagree, also where their best ratios differ by chance. If no condition sets a host apart, the answer says that.
func TestHostsWithoutADifference(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-placements")
	host := func(name string, ratio float64) report.Input {
		in := onHost(t, recorded, name, placementsBut("one-llc")...)
		return played(t, recorded, in, playedRounds, map[string]float64{"one-llc": ratio})
	}
	runs := []report.Input{host("a", 0.9), host("b", 0.9), host("c", 0.9)}
	h := judgeHosts(t, runs...)
	assert.Empty(t, h.Disagree)
	assert.Empty(t, h.Conditions)
	assert.Regexp(t, `^one-llc against unbound: faster on all 3 hosts: −(10|9\.\d)%.*\n$`, hostsAnswer(h))

	h = judgeHosts(t, append(runs, host("d", 1.2))...)
	require.Len(t, h.Disagree, 1)
	assert.Empty(t, h.Disagree[0].Differs)
	assert.Contains(t, hostsAnswer(h), "Host d disagrees: one-llc is slower: ")
	assert.Contains(t, hostsAnswer(h), "; no recorded condition sets it apart")

	h = judgeHosts(t, host("a", 0.9), host("b", 0.9), host("c", 0.94))
	assert.Empty(t, h.Disagree, "each is within 2% of a ratio")
	assert.Equal(t, 3, h.Cells[0].Ratios.Fits)
	h = judgeHosts(t, host("a", 0.9), host("b", 0.9), host("c", 1.0))
	require.Len(t, h.Disagree, 1)
	assert.False(t, h.Disagree[0].Opposite, "without a difference where the others are faster")

	h = judgeHosts(t, host("a", 0.9), host("b", 1.2))
	require.Len(t, h.Disagree, 1, "two hosts have no ratio in common, but the opposite is the opposite")
	assert.Equal(t, "b", h.Disagree[0].Host)

	// Where no ratio fits more than half of them, none of them is the odd one.
	h = judgeHosts(t, host("a", 0.9), host("b", 0.7), host("c", 0.5), host("d", 0.6))
	assert.Empty(t, h.Disagree)
	assert.Equal(t, 1, h.Cells[0].Ratios.Fits)
	assert.Contains(t, hostsAnswer(h), "The hosts do not agree on one-llc: within 2%, one ratio fits no more than 1 of 4")
}

// A cell that a host does not have counts on the others. The host with the most cells gives their order.
func TestHostsWithoutACell(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-placements")
	ratios := map[string]float64{"one-llc": 0.8, "spread-nodes": 1.2}
	small := onHost(t, recorded, "a", placementsBut("spread-nodes")...)
	small.Run.Host.Topology = "other"
	h := judgeHosts(t, played(t, recorded, small, playedRounds, ratios),
		played(t, recorded, onHost(t, recorded, "b", placementsBut("spread-nodes", "one-llc")...), playedRounds, ratios),
		played(t, recorded, onHost(t, recorded, "c", placementsBut("spread-nodes", "one-llc")...), playedRounds, ratios))
	require.Len(t, h.Cells, 2)
	llc, spread := h.Cells[0], h.Cells[1]
	assert.Equal(t, "spread-nodes", spread.Title)
	assert.Equal(t, 3, spread.Slower)
	assert.Empty(t, spread.Missing)
	assert.Equal(t, "one-llc", llc.Title)
	assert.Equal(t, []string{"a"}, llc.Missing)
	assert.Equal(t, 2, llc.Faster)
	assert.Len(t, llc.Verdicts, 2)
	assert.Contains(t, hostsAnswer(h), "one-llc  faster on both hosts")
	assert.Regexp(t, `one-llc +2 +2 +0 +0 +0 +not measured on a`, hostsTable(t, h, "cells"))
	assert.Regexp(t, `topology +a4691b78e6b3 on b, c; other on a`, hostsTable(t, h, "conditions"))
}

// CPUs that are given by number are matched by their relation where the topologies differ, in their order.
func TestHostsOfOtherTopologies(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "matrix")
	host := func(name, topology string, lists ...string) report.Input {
		in := onHost(t, recorded, name)
		in.Run.Host.Topology = topology
		for i, list := range lists {
			c := &in.Run.Cells[i]
			c.Name, c.Flags["method"], c.Flags["pin-cpus"] = "--pin-cpus "+list, "brute", list
			c.CPUs["pin-cpus"] = result.CPUs{List: list, Relation: []string{"1 CPU", "same-core", "same-llc", "same-llc"}[i]}
		}
		return scaled(t, recorded, in, 0, 1)
	}
	h := judgeHosts(t, host("a", "x", "0", "0-1", "0,2", "0,3"), host("b", "y", "0", "0,4", "0-1", "0,2"))
	require.Len(t, h.Cells, 3)
	for i, title := range []string{"--pin-cpus 0-1 (same-core)", "--pin-cpus 0,2 (same-llc)", "--pin-cpus 0,3 (same-llc)"} {
		assert.Equal(t, title, h.Cells[i].Name)
		assert.Len(t, h.Cells[i].Verdicts, 2)
	}
	h = judgeHosts(t, host("a", "x", "0", "0-1", "0,2", "0,3"), host("b", "x", "0", "0,4", "0-1", "0,2"))
	require.Len(t, h.Cells, 4, "in one topology they are not the same")
	assert.Equal(t, []string{"a"}, h.Cells[3].Missing)
	assert.Equal(t, "0,4", strings.TrimPrefix(h.Cells[3].Name, "--pin-cpus "))
}

// Hosts without an interval that holds are undecided, and no part of the spread.
func TestHostsWithoutAnInterval(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-placements")
	ratios := map[string]float64{"one-llc": 0.8}
	host := func(name string, rounds int, spoil func(*result.Sample, string)) report.Input {
		return played(t, recorded, onHost(t, recorded, name, placementsBut("one-llc")...), rounds, ratios, spoil)
	}
	steal := func(s *result.Sample, placement string) {
		stolen := map[string]float64{"unbound": 0.2}[placement]
		s.Quality.Signals = result.Signals{WatchedSeconds: 0.1, StealSeconds: &stolen, CanarySeconds: new(1e-4)}
	}
	none := func(*result.Sample, string) {}
	broken := func(s *result.Sample, placement string) {
		if placement == "one-llc" {
			s.Quality = result.Quality{Grade: result.Invalid, Reasons: []string{"pinned elsewhere"}}
		}
	}
	h := judgeHosts(t, host("a", 60, none), host("b", 60, steal), host("c", 2, none), host("d", 60, broken))
	c := h.Cells[0]
	assert.Equal(t, 1, c.Faster)
	assert.Equal(t, 3, c.Undecided)
	assert.Equal(t, 1, c.Ratios.Hosts)
	assert.Empty(t, h.Disagree)
	assert.Regexp(t, `^one-llc against unbound: faster on 1 of 4 hosts, slower on none, undecided on 3: −\d+% \(a\)\n$`, hostsAnswer(h))
	assert.Contains(t, hostsTable(t, h, "cells"), "confounded on b; invalid on d")

	h = judgeHosts(t, host("c", 2, none), host("d", 60, broken))
	assert.Nil(t, h.Cells[0].Ratios)
	assert.Equal(t, "one-llc against unbound: undecided on both hosts\n", hostsAnswer(h))
}

// Of two runs of a host, the later counts. One machine under two names is two hosts, and is warned of.
func TestHostsTwice(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-placements")
	host := func(name, file, started string, ratio float64) report.Input {
		in := onHost(t, recorded, name, placementsBut("one-llc")...)
		in.File, in.Run.Started = file, started
		return played(t, recorded, in, playedRounds, map[string]float64{"one-llc": ratio})
	}
	late := host("a", "new.jsonl", "2026-11-24T00:00:00Z", 0.8)
	late.Ended = false
	late.Also = []string{"copy.jsonl", "early.jsonl"}
	other := host("a.c.org", "b.jsonl", "2026-11-23T00:00:00Z", 0.8)
	other.Run.Host.BootID = late.Run.Host.BootID
	h := judgeHosts(t, late, host("a", "old.jsonl", "2026-11-23T00:00:00Z", 1.2), other)
	require.Len(t, h.Hosts, 2)
	assert.Equal(t, "new.jsonl", h.Hosts[0].File)
	assert.Equal(t, 2, h.Cells[0].Faster)
	assert.Equal(t, []string{
		"1 run is not counted, since a later run has the same hostname: old.jsonl",
		"2 files hold the run of another file, which counts once: copy.jsonl, early.jsonl",
		"1 run is not complete, and counts for what was measured so far: a",
		"a, a.c.org report the same boot of one machine and the same CPUs: the machine has several names, and is compared with itself, or one of " +
			"them reports what is another's",
	}, h.Warned)
}

// Runs that are not of one matrix are refused, with what differs.
func TestHostsDoNotFit(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-placements")
	measured := onHost(t, recorded, "a")
	for want, change := range map[string]func(run *result.Run){
		"the margin is 2% in the first, and 5% in the second":         func(run *result.Run) { run.Matrix.Margin = 0.05 },
		"the experiment is exec in the first, and pair in the second": func(run *result.Run) { run.Experiment = "pair" },
		"the compared figure is wall time in the first, and cpu_seconds in the second": func(run *result.Run) {
			run.Matrix.Compared = "cpu_seconds"
		},
		"the error rate is 5% in the first, and 1% in the second":             func(run *result.Run) { run.Matrix.Alpha = 0.01 },
		"the better direction is none in the first, and higher in the second": func(run *result.Run) { run.Matrix.Better = "higher" },
		"the baseline is placement=unbound in the first, and placement=one-cpu in the second": func(run *result.Run) {
			run.Matrix.Baseline = 1
		},
		"the baseline of --placement smt-siblings is --placement unbound in the first, and --placement one-cpu in the second": func(run *result.Run) {
			run.Cells[2].Against = new(1)
		},
		"--nice is none in the first, and 5 in the second": func(run *result.Run) {
			for _, c := range run.Cells {
				c.Flags["nice"] = "5"
			}
		},
		"the command is program together 2000 in the first, and program apart in the second": func(run *result.Run) {
			run.Cells[0].Command = result.Argv{"exec", "--", "program", "apart"}
		},
		"they have no cell in common, except the baseline": func(run *result.Run) {
			for i, c := range run.Cells[1:] {
				c.Flags["placement"] = fmt.Sprint("other-", i)
			}
		},
	} {
		other := onHost(t, recorded, "b")
		change(other.Run)
		_, err := JudgeHosts([]report.Input{measured, other})
		assert.EqualError(t, err, "a.jsonl and b.jsonl are not of one matrix: "+want)
	}
	other := onHost(t, recorded, "b")
	other.Run.Matrix.Order.Design = result.Rows
	_, err := JudgeHosts([]report.Input{measured, other})
	assert.EqualError(t, err, "b.jsonl has all samples of a row after each other: its cells are not compared")
	other.Run.Matrix = nil
	_, err = JudgeHosts([]report.Input{measured, other})
	assert.EqualError(t, err, "b.jsonl is not a matrix: its cells are not compared")
	assert.Contains(t, hint.Of(err), "gorun exec --placements")
	other = onHost(t, recorded, "b", placementsBut()...)
	_, err = JudgeHosts([]report.Input{other})
	assert.EqualError(t, err, "b.jsonl compares no cells: it has only the baseline")
	_, err = JudgeHosts(nil)
	assert.EqualError(t, err, "there is no run to judge")
}

func TestOneHost(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "matrix")
	h := judgeHosts(t, scaled(t, recorded, onHost(t, recorded, "a"), 0, 1))
	answer := hostsAnswer(h)
	assert.True(t, strings.HasPrefix(answer, "Slower than --method brute --pin-cpus share:1/2:\n"), answer)
	assert.Contains(t, answer, "There is only one host, a: others are not known")
	require.Len(t, h.tables(), 1)
	assert.Contains(t, hostsTable(t, h, "cells"), "With 95% certainty, all verdicts of a host are true.")
}

// A metric of which more is better is shown as it is, and not as the time that it stands for.
func TestHostsOfAMetric(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-metric")
	host := func(name string, score int) report.Input {
		of := *recorded
		of.Samples = of.Samples.Map(func(_ int, s *result.Sample) {
			if s.Cell == 1 {
				require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"metric":%d}`, score), &s.Values))
			}
		})
		return scaled(t, &of, onHost(t, &of, name), 0, 1)
	}
	h := judgeHosts(t, host("a", 1), host("b", 8), host("c", 6))
	assert.Equal(t, "one-cpu against unbound: faster on 2 of 3 hosts, slower on 1: 3.00 × as much in the median, from 0.5 × as much (a) to "+
		"4.00 × as much (b)\n", strings.SplitAfter(hostsAnswer(h), "\n")[0])
	assert.Regexp(t, `one-cpu +3 +3\.00 +0\.50 … 4\.00 +a +b +1`, hostsTable(t, h, "spread"))
}

// What two hundred hosts say is found at once.
func TestManyHosts(t *testing.T) {
	t.Parallel()
	recorded := recordedRun(t, "exec-placements")
	like := played(t, recorded, onHost(t, recorded, "a"), playedRounds, map[string]float64{"one-llc": 0.8, "one-cpu": 2})
	odd := played(t, recorded, onHost(t, recorded, "b"), playedRounds, map[string]float64{"one-llc": 1.2, "one-cpu": 2})
	var runs []report.Input
	for i := range 200 {
		run := *like.Run
		if i%20 == 7 {
			run = *odd.Run
			run.Host.Kernel = "6.18.0"
		}
		run.Host.Hostname = fmt.Sprintf("n%03d", i)
		run.Host.CommandLine = "console=ttyS0 root=UUID=" + run.Host.Hostname
		runs = append(runs, report.Input{File: run.Host.Hostname, Run: &run, Ended: true})
	}
	h := judgeHosts(t, runs...)
	page := hostsPage(h)
	assert.Len(t, h.Disagree, 10)
	assert.Contains(t, page, "10 hosts disagree with the others, such as:")
	assert.Contains(t, page, "kernel 6.18.0 (6.1.0-56-cloud-amd64 on all 190 others)")
	assert.NotContains(t, page, "UUID", "a value that each host has for itself explains nothing")
	assert.Contains(t, page, "kernel-command-line  200 values, each on one host")
	assert.Contains(t, page, "of 200 hosts, expect that up to 10 have a false one")
	text, err := json.Marshal(h)
	require.NoError(t, err)
	assert.Less(t, len(text), 1<<20)
}
