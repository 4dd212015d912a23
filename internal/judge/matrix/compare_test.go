package matrix_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/base/packed"
	"gorun/internal/judge/matrix"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

const sessionRounds = 40

// measured returns a run as a side of a comparison.
func measured(t *testing.T, file string, run *result.Run, f fake) matrix.Side {
	t.Helper()
	run.Matrix.Rounds = sessionRounds
	f.play(t, run, sessionRounds)
	return matrix.Side{File: file, Run: run}
}

func compare(t *testing.T, a, b matrix.Side, across ...string) *result.Comparison {
	t.Helper()
	c, err := matrix.Compare(a, b, column.Common(), across, false)
	require.NoError(t, err)
	return c
}

// given adds a flag to all cells of a run.
func given(run *result.Run, flag, value string) *result.Run {
	for _, cell := range run.Cells {
		cell.Flags[flag] = value
	}
	return run
}

// The verdict is on B against A, and the relative one on the change beyond that of the baseline.
func TestCompareVerdicts(t *testing.T) {
	type is struct {
		kind  stats.Kind
		ratio float64
	}
	same, open, slow, fast := is{stats.Same, 1}, is{stats.CantTell, 1}, is{stats.Slower, 1.3}, is{stats.Faster, 1 / 1.3}
	slower := fake{session: 5, ratios: map[string]float64{"workers=1": 1.3}}
	slowBase := fake{session: 5, ratios: map[string]float64{"workers=0": 1.3}}
	for name, c := range map[string]struct {
		a, b                         fake
		baseline, absolute, relative is
	}{
		"the same":                  {fake{}, fake{session: 5}, open, open, same},
		"one slower":                {fake{}, slower, open, slow, slow},
		"one faster":                {slower, fake{}, open, fast, fast},
		"both as far":               {slower, slower, open, open, same},
		"all slower":                {fake{}, fake{session: 5, scale: 1.3}, slow, slow, same},
		"the baseline alone slower": {fake{}, slowBase, slow, open, fast},
	} {
		check := func(want is, v *stats.Verdict) {
			require.NotNil(t, v, name)
			assert.Equal(t, want.kind, v.Kind, "%s: %v", name, v)
			assert.InDelta(t, want.ratio, v.Typical.Ratio, 0.02, name)
			require.NotNil(t, v.Total, name)
			assert.InDelta(t, want.ratio, v.Total.Ratio, 0.02, name)
		}
		a, b := measured(t, "a.jsonl", workers(2), c.a), measured(t, "b.jsonl", workers(2), c.b)
		b.Run.Started, b.Run.Tool.Version, a.Run.Tool.Version = "2026-01-02", "v1", "v1"
		got := compare(t, a, b)
		require.Len(t, got.Cells, 2, name)
		assert.Equal(t, "--workers 0", got.Cells[0].A)
		check(c.baseline, &got.Cells[0].Verdict)
		assert.Nil(t, got.Cells[0].Relative, "%s: nothing is relative to itself", name)
		cell := got.Cells[1]
		check(c.absolute, &cell.Verdict)
		check(c.relative, cell.Relative)
		assert.Equal(t, cell.Verdict.String(), cell.Words)
		assert.Equal(t, a.Run.Cells[1].Words, cell.VerdictA)
		assert.Equal(t, b.Run.Cells[1].Words, cell.VerdictB)
		assert.NotEmpty(t, cell.VerdictB)
		assert.InEpsilon(t, b.Run.Cells[1].Summary.Seconds.Median, cell.SecondsB.Median, 1e-9)
		assert.Equal(t, a.Run.Cells[1].Summary.Seconds, cell.SecondsA)
		if name == "all slower" {
			assert.Empty(t, got.Warnings)
		} else {
			require.Len(t, got.Warnings, 1)
			assert.Equal(t, "sessions", got.Warnings[0].Code)
			assert.Regexp(t, `^Two single runs can't tell: .* Differences below \d% stay hidden here\. Run both in turn, 4 times each`, got.Warnings[0].Message)
			assert.Contains(t, got.Warnings[0].Hint,
				"gorun compare a.jsonl b.jsonl a-2.jsonl b-2.jsonl a-3.jsonl b-3.jsonl a-4.jsonl b-4.jsonl")
		}
		assert.Empty(t, append(got.OnlyA, got.OnlyB...))
		assert.Equal(t, result.Schema, got.Schema)
		assert.Equal(t, "primes", got.Experiment)
		assert.Equal(t, result.Origin{File: "a.jsonl", Tool: a.Run.Tool, Samples: 3 * sessionRounds}, got.A)
		assert.Equal(t, "2026-01-02", got.B.Started)
		// The baseline's duplicate is not counted as its sample here.
		assert.Equal(t, sessionRounds, got.Cells[0].Verdict.Rounds)
	}
}

// A disturbance of a whole block does not change a cell's ratio to its baseline, and neither does one of the duplicate.
func TestCompareBlocks(t *testing.T) {
	late := fake{session: 5, spoil: func(s *result.Sample, _ string) {
		if s.Block == 1 || s.Control {
			s.Seconds *= 1.5
		}
	}}
	b := measured(t, "b", workers(10), late)
	b.Run.Matrix.Warmup = 3
	c := compare(t, measured(t, "a", workers(10), fake{}), b)
	assert.Contains(t, c.Warnings, result.Warning{
		Code: "warmup", Message: "executions that each process dropped: 1 in A and 3 in B", Hint: "give both the same --warmup",
	})
	require.Len(t, c.Cells, 10)
	for _, cell := range c.Cells[1:] {
		assert.InDelta(t, 1, cell.Relative.Typical.Ratio, 0.005, cell.A)
		require.NotNil(t, cell.Relative.Total)
		assert.InDelta(t, 1, cell.Relative.Total.Ratio, 0.005, cell.A)
	}
}

// All cells and figures share the probability of a false verdict.
func TestCompareSharesAlpha(t *testing.T) {
	width := func(cells int, of func(*result.Run) *result.Run) float64 {
		f := fake{spoil: uses(nil)}
		a := measured(t, "a", of(workers(cells)), f)
		f.session = 5
		e := compare(t, a, measured(t, "b", of(workers(cells)), f)).Cells[1].Verdict.Typical
		return e.Hi - e.Lo
	}
	alone := func(run *result.Run) *result.Run { return run }
	assert.Greater(t, width(8, alone), width(2, alone))
	assert.Greater(t, width(2, withCPU), width(2, alone))
}

// The CPU time of other programs and the speed of a fixed loop are compared too.
func TestCompareConditionsOfSessions(t *testing.T) {
	signals := func(steal, other, canary float64) fake {
		return fake{spoil: func(s *result.Sample, _ string) {
			s.Quality.Signals = result.Signals{
				WatchedSeconds: 0.1, StealSeconds: &steal, OtherSeconds: &other, CanarySeconds: &canary,
			}
		}}
	}
	for _, c := range []struct {
		b    fake
		want string
	}{
		{signals(0.002, 0.002, 1e-4), "can't tell: −"},
		{signals(0.002, 0.002, 1.1e-4), "the machine itself was 10.0% slower"},
		{signals(0.012, 0.002, 1e-4), "others took 2.0% of the CPU time in A, 7.0% in B"},
		{signals(0.002, 0.012, 1e-4), "others took 2.0% of the CPU time in A, 7.0% in B"},
		{fake{}, "can't tell: −"},
		{fake{spoil: func(s *result.Sample, _ string) { // rounding of ticks alone gives ten times the sample
			steal, other := 0.0, 0.010
			s.Quality.Signals = result.Signals{WatchedSeconds: 0.001, StealSeconds: &steal, OtherSeconds: &other}
		}}, "can't tell: −"},
	} {
		a := measured(t, "a", workers(2), signals(0.002, 0.002, 1e-4))
		for _, cell := range compare(t, a, measured(t, "b", workers(2), c.b)).Cells {
			assert.Contains(t, cell.Words, c.want)
		}
	}
}

// Cells are matched by their varying flags, not by name, position or common flags.
func TestCompareMatches(t *testing.T) {
	// pinned returns a run of cells that are pinned to CPU lists, each given with the relation of its CPUs.
	pinned := func(topology string, baseline int, cells ...string) *result.Run {
		run := design("pin-cpus", cells...)
		run.Host.Topology, run.Matrix.Baseline = topology, baseline
		for i := range run.Cells {
			cell := &run.Cells[i]
			list, relation, _ := strings.Cut(cells[i], " ")
			cell.Name, cell.Flags["pin-cpus"] = "--pin-cpus "+list, list
			cell.CPUs["pin-cpus"] = result.CPUs{List: list, Relation: relation}
		}
		return run
	}
	renamed := func(run *result.Run) *result.Run {
		for i := range run.Cells {
			run.Cells[i].Name = "renamed " + run.Cells[i].Name
		}
		return run
	}
	three := []string{"0,1 same-core", "2,3 same-core", "0,2 same-llc"}
	for name, c := range map[string]struct {
		a, b *result.Run
		want string // a cell of A, and of B, with what both are; * if it is relative to a baseline
	}{
		"names and order differ": {design("workers", "1", "2"), renamed(design("workers", "2", "1")), `
--workers 1 = renamed --workers 1
--workers 2 = renamed --workers 2`},
		"only in one": {design("workers", "1", "2", "3"), design("workers", "1", "4", "3"), `
--workers 1 = --workers 1
--workers 3 = --workers 3 *
--workers 2 =
= --workers 4`},
		"a flag that is not given is as one that is empty": {given(design("workers", "1", "2"), "nice", ""), design("workers", "1", "2"), `
--workers 1 = --workers 1
--workers 2 = --workers 2 *`},
		// The relations on one machine are impossible, but not checked.
		"numbers on one machine": {pinned("x", 0, "0,1 same-core", "0,2 same-llc"), pinned("x", 0, "0,2 same-core", "0,1 same-llc"), `
--pin-cpus 0,1 = --pin-cpus 0,1
--pin-cpus 0,2 = --pin-cpus 0,2`},
		"numbers on two machines": {pinned("x", 0, "0,1 same-core", "0,2 same-llc"), pinned("y", 0, "0,2 same-core", "0,1 same-llc"), `
--pin-cpus 0,1 = --pin-cpus 0,2 (same-core)
--pin-cpus 0,2 = --pin-cpus 0,1 (same-llc) *`},
		"selectors on two machines": {
			pinned("x", 0, "all 8 CPUs", "share:1/2 4 CPUs", "0-3 4 CPUs"),
			pinned("y", 0, "all 2 CPUs", "share:1/2 1 CPU", "0,2,4,6 4 CPUs"), `
--pin-cpus all = --pin-cpus all
--pin-cpus share:1/2 = --pin-cpus share:1/2 *
--pin-cpus 0-3 = --pin-cpus 0,2,4,6 (4 CPUs) *`,
		},
		"another relation": {pinned("x", 0, "0 1 CPU", "0,1 same-core"), pinned("y", 0, "3 1 CPU", "0,1 same-llc"), `
--pin-cpus 0 = --pin-cpus 3 (1 CPU)
--pin-cpus 0,1 =
= --pin-cpus 0,1`},
		"of several alike, the first": {pinned("x", 0, three...), pinned("y", 0, three...), `
--pin-cpus 0,1 = --pin-cpus 0,1 (same-core)
--pin-cpus 0,2 = --pin-cpus 0,2 (same-llc) *
--pin-cpus 2,3 =
= --pin-cpus 2,3`},
		"another cell looks like the baseline": {pinned("x", 1, three...), pinned("y", 0, three...), `
--pin-cpus 0,1 = --pin-cpus 0,1 (same-core)
--pin-cpus 0,2 = --pin-cpus 0,2 (same-llc)
--pin-cpus 2,3 =
= --pin-cpus 2,3`},
	} {
		found, got := compare(t, measured(t, "a", c.a, fake{}), measured(t, "b", c.b, fake{session: 5}), "topology"), ""
		for _, cell := range found.Cells {
			got += "\n" + cell.A + " = " + cell.B
			if cell.Relation != "" {
				got += " (" + cell.Relation + ")"
			}
			if cell.Relative != nil {
				got += " *"
			}
		}
		for _, name := range found.OnlyA {
			got += "\n" + name + " ="
		}
		for _, name := range found.OnlyB {
			got += "\n= " + name
		}
		assert.Equal(t, c.want, got, name)
	}
}

// Nothing is claimed about a cell with too many invalid samples in either run.
func TestCompareInvalid(t *testing.T) {
	torn := fake{ratios: map[string]float64{"workers=1": 2}, spoil: invalidate("workers=1", 30, "pinned elsewhere")}
	never := fake{spoil: invalidate("workers=1", 0, "pinned elsewhere")}
	for want, sides := range map[string][2]fake{
		"can't tell: 3 of 33 samples of the cell in A are invalid: pinned elsewhere": {torn, fake{}},
		"can't tell: 3 of 33 samples of the cell in B are invalid: pinned elsewhere": {fake{}, torn},
		"invalid: in A: pinned elsewhere":                                            {never, fake{}},
	} {
		c := compare(t, measured(t, "a", workers(3), sides[0]), measured(t, "b", workers(3), sides[1]))
		assert.Equal(t, want, c.Cells[1].Words)
		assert.Nil(t, c.Cells[1].Relative)
		assert.Equal(t, stats.Same, c.Cells[2].Relative.Kind)
	}
}

// An unintended difference is refused, with the word that would allow it; with force, every line says so.
func TestCompareDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *result.Run)
		across []string
		refuse string // "": they are compared
		hint   string
	}{
		"kernel": {
			func(b *result.Run) { b.Host.Kernel = "6.12" }, nil,
			"kernel is not known in A and 6.12 in B", "by --across kernel;",
		},
		"kernel, meant": {func(b *result.Run) { b.Host.Kernel = "6.12" }, []string{"kernel"}, "", ""},
		"boot with the kernel": {
			func(b *result.Run) { b.Host.Kernel, b.Host.BootID, b.Host.Mitigations = "6.12", "1", "2" }, []string{"kernel"}, "", "",
		},
		"two": {
			func(b *result.Run) { b.Host.ASLR, b.Host.SMT = "0", "off" },
			[]string{"kernel"},
			"smt is not known in A and off in B; aslr is not known in A and 0 in B", "--across smt,aslr;",
		},
		"one of two": {
			func(b *result.Run) { b.Host.Kernel, b.Host.SMT = "6.12", "off" },
			[]string{"kernel"},
			": smt is not known in A and off in B", "--across smt;",
		},
		"all of a host": {func(b *result.Run) {
			b.Host = result.Host{
				Hostname: "b", BootID: "b", Kernel: "b", CommandLine: "b", Mitigations: "b", Arch: "b", CPUModel: "b",
				Microcode: "b", Hypervisor: true, Topology: "b", SMT: "b", Turbo: "b", Governor: "b", Clocksource: "b",
				THP: "b", NUMABalancing: "b", ASLR: "b", Allowed: "b", GOMAXPROCS: 3, CPUQuota: new(1.5), MemoryLimit: 5,
			}
		}, []string{"host"}, "", ""},
		"a binary is no part of a host": {
			func(b *result.Run) { b.Host.Hostname, b.Tool.SHA256 = "b", "b" }, []string{"host"}, "binary is", "--across binary;",
		},
		"go":     {func(b *result.Run) { b.Tool = result.Tool{Go: "go1.27", SHA256: "b", Version: "v2"} }, []string{"go"}, "", ""},
		"binary": {func(b *result.Run) { b.Tool = result.Tool{SHA256: "b", Version: "v2"} }, []string{"binary"}, "", ""},
		"a flag that all have": {
			func(b *result.Run) { given(b, "limit", "3000") }, nil,
			"flags is --limit 2000 in A and --limit 3000 in B", "--across flags;",
		},
		"a flag that one has": {
			func(b *result.Run) { given(b, "nice", "5") }, nil, "flags is no --nice in A and --nice 5 in B", "--across flags;",
		},
		"flags, meant": {func(b *result.Run) { given(b, "limit", "3000") }, []string{"flags"}, "", ""},
	} {
		a := measured(t, "a.jsonl", given(workers(2), "limit", "2000"), fake{})
		b := measured(t, "b.jsonl", given(workers(2), "limit", "2000"), fake{session: 5})
		c.change(b.Run)
		got, err := matrix.Compare(a, b, nil, c.across, false)
		if c.refuse == "" {
			require.NoError(t, err, name)
			assert.NotEmpty(t, got.Differences, name)
			assert.False(t, got.Forced, name)
			assert.Empty(t, got.Unmeant, name)
			assert.NotContains(t, got.Cells[0].Words, "forced", name)
		} else {
			require.ErrorIs(t, err, matrix.ErrDiffer, name)
			assert.Contains(t, err.Error(), c.refuse, name)
			assert.Contains(t, hint.Of(err), c.hint, name)
			assert.Contains(t, hint.Of(err), "--force", name)
		}
		forced, err := matrix.Compare(a, b, nil, c.across, true)
		require.NoError(t, err, name)
		assert.Equal(t, c.refuse != "", forced.Forced, name)
		assert.Len(t, forced.Cells, 2, name)
	}

	a, b := measured(t, "a", workers(2), fake{}), measured(t, "b", workers(2), fake{session: 5})
	b.Run.Host.Kernel, b.Run.Host.BootID, b.Run.Host.SMT, b.Run.Host.ASLR = "6.12", "1", "off", "0"
	c, err := matrix.Compare(a, b, nil, []string{"kernel"}, true)
	require.NoError(t, err)
	assert.Len(t, c.Differences, 4)
	assert.Equal(t, []string{"smt", "aslr"}, c.Unmeant)
	for _, cell := range c.Cells {
		assert.Regexp(t, `^forced across smt, aslr: can't tell: −\d.*% to \+\d`, cell.Words)
	}
	assert.Subset(t, matrix.Across(), append(result.Conditions(), "flags"))
}

func TestCompareRefuses(t *testing.T) {
	good := func() matrix.Side { return measured(t, "a", workers(2), fake{}) }
	for want, spoil := range map[string]func(*result.Run){
		"b has samples of one setting":               func(r *result.Run) { r.Matrix = nil },
		"a is of gorun primes and b of gorun memory": func(r *result.Run) { r.Experiment = "memory" },
		"no cell of a is in b": func(r *result.Run) {
			for i := range r.Cells {
				r.Cells[i].Flags["workers"] += "0"
			}
		},
	} {
		b := measured(t, "b", workers(2), fake{})
		spoil(b.Run)
		_, err := matrix.Compare(good(), b, nil, nil, true)
		require.ErrorContains(t, err, want, "even with force")
	}
	none := matrix.Side{File: "none", Run: &result.Run{}}
	_, err := matrix.Compare(none, good(), nil, nil, true)
	require.ErrorContains(t, err, "none has samples of one setting")
	assert.Contains(t, hint.Of(err), "gorun matrix --out")
}

// Runs in turn show how far they drift: all samples together find a difference that one run of each cannot show.
func TestCompareInTurn(t *testing.T) {
	slower := map[string]float64{"workers=1": 1.05}
	side := func(file string, f fake) matrix.Side { return measured(t, file, workers(2), f) }
	a, b := side("a1", fake{}), side("b1", fake{session: 5, ratios: slower})
	var more []matrix.Side
	for i := range uint64(3) {
		more = append(more, side(fmt.Sprint("a", i+2), fake{session: 10 * (i + 1)}),
			side(fmt.Sprint("b", i+2), fake{session: 10*(i+1) + 5, ratios: slower}))
	}
	got, err := matrix.Compare(a, b, column.Common(), nil, false, more...)
	require.NoError(t, err)
	cell := got.Cells[1]
	assert.Equal(t, stats.Slower, cell.Verdict.Kind, cell.Words)
	assert.Equal(t, stats.Slower, cell.Relative.Kind)
	assert.Equal(t, 4*sessionRounds, cell.Verdict.Rounds)
	assert.Equal(t, 4*sessionRounds, cell.Relative.Rounds)
	assert.Empty(t, cell.VerdictA+cell.VerdictB, "no run has its own verdict")
	assert.Empty(t, got.Warnings)
	require.Len(t, got.MoreA, 3)
	assert.Equal(t, "a4", got.MoreA[2].File)
	assert.Equal(t, "b2", got.MoreB[0].File)
	assert.Equal(t, stats.CantTell, compare(t, a, b).Cells[1].Verdict.Kind)

	few, err := matrix.Compare(a, b, nil, nil, false, more[:2]...)
	require.NoError(t, err)
	assert.Equal(t, "can't tell: too few samples yet", few.Cells[1].Words)
	require.Len(t, few.Warnings, 1)
	assert.Contains(t, few.Warnings[0].Message, "2 runs of each are too few")
	assert.Contains(t, few.Warnings[0].Hint, "gorun compare a1 b1 a2 b2 a1-3 b1-3 a1-4 b1-4")

	for want, spoil := range map[string]func(*result.Run){
		"b3: the two runs cannot be compared: not a repetition of b1: it has other cells": func(r *result.Run) {
			r.Cells[1].Name = "another"
		},
		"b3: the two runs cannot be compared: not a repetition of b1: kernel is not known there and 6.12 here": func(r *result.Run) {
			r.Host.Kernel = "6.12"
		},
		"b3: the two runs cannot be compared: not a repetition of b1: flags is no --nice there and --nice 5 here": func(r *result.Run) {
			given(r, "nice", "5")
		},
		"b3 has samples of one setting": func(r *result.Run) { r.Matrix = nil },
	} {
		odd := side("b3", fake{session: 5})
		spoil(odd.Run)
		_, err := matrix.Compare(a, b, nil, nil, false, more[0], odd)
		require.ErrorContains(t, err, want)
	}
	torn := side("b2", fake{spoil: invalidate("workers=1", 0, "pinned elsewhere")})
	got, err = matrix.Compare(a, b, nil, nil, false, more[0], torn)
	require.NoError(t, err)
	assert.Equal(t, "invalid: in B2: pinned elsewhere", got.Cells[1].Words)
}

// A pair counts if both of its runs are new. Capitals are longer states of the same run.
func TestDistinct(t *testing.T) {
	for given, c := range map[string]struct{ kept, warning, err string }{
		"a b":             {kept: "a b"},
		"a b c d":         {kept: "a b c d"},
		"a b a b a b":     {kept: "a b", warning: "left out: 2 of 3 pairs, since a run of each is in an earlier pair; the first is a and b"},
		"a b c b a d e f": {kept: "a b e f", warning: "left out: 2 of 4 pairs, since a run of each is in an earlier pair; the first is c and b"},
		"a b c b c d":     {kept: "a b c d", warning: "left out: 1 of 3 pairs, since a run of each is in an earlier pair; the first is c and b"},
		"a b A b":         {kept: "A b", warning: "left out: 1 of 2 pairs, since a run of each is in an earlier pair; the first is A and b"},
		"a a":             {err: "a and a hold the same run, once as A and once as B"},
		"a A":             {err: "a and A hold the same run, once as A and once as B"},
		"a b c a":         {err: "a and a hold the same run, once as A and once as B"},
	} {
		var sides []matrix.Side
		for _, file := range strings.Fields(given) {
			run := &result.Run{Started: strings.ToLower(file), Samples: packed.Of(result.Sample{})}
			if run.Started != file {
				run.Samples.Append(&result.Sample{})
			}
			sides = append(sides, matrix.Side{File: file, Run: run})
		}
		once, warning, err := matrix.Distinct(sides)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, given)
			continue
		}
		require.NoError(t, err, given)
		var kept []string
		for _, side := range once {
			kept = append(kept, side.File)
		}
		assert.Equal(t, c.kept, strings.Join(kept, " "), given)
		assert.Equal(t, c.warning != "", warning != nil, given)
		if warning != nil {
			assert.Equal(t, c.warning, warning.Message, given)
			assert.Equal(t, result.SameRun, warning.Code)
		}
	}
}
