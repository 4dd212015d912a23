package command

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/placement"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
	"gorun/internal/stats"
)

// Each copy has its own setting; the other flags hold for all of them.
func TestResolveCopies(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	for _, c := range []struct {
		args, want string
		cpus       []string // of each copy
	}{
		{"--copies 2", "none", []string{"", ""}},
		{"--copies 1 --nice 5", "nice 5", []string{""}},
		{"--copies 3 --bind", "copies 0,2 on CPUs 0-3, copy 1 on CPU 7", []string{"0-3", "7", "0-3"}}, // node:0 7
		{"--copies 2 --placement packed --nice 3", "copy 0 on CPU 0, copy 1 on CPU 1, nice 3", []string{"0", "1"}},
		{"--copies 2 --placement cross-node", "copy 0 on CPU 0, copy 1 on CPU 4", []string{"0", "4"}},
		{"--copies 2 --placement one-llc", "copies 0-1 on CPUs 0-3", []string{"0-3", "0-3"}},
	} {
		args := strings.Fields(c.args)
		if args[len(args)-1] == "--bind" {
			args = append(args, "node:0 7")
		}
		r, err := resolve(t, m, append(args, "x")...)
		require.NoError(t, err, c.args)
		assert.Equal(t, c.want, r.Placement, c.args)
		assert.Equal(t, len(c.cpus), r.Resources.Copies, c.args)
		var cpus []string
		for _, s := range r.Cells[0].Do.Settings {
			cpus = append(cpus, s.CPUs.String())
		}
		assert.Equal(t, c.cpus, cpus, c.args)
		assert.Nil(t, r.Exec)
	}
	r, err := resolve(t, m, "--copies", "auto", "x")
	require.NoError(t, err)
	var counts []int
	for _, c := range r.Cells {
		counts = append(counts, len(c.Do.Settings))
	}
	assert.Equal(t, []int{1, 2, 4, 8}, counts)
	m.CPUs = cpuset.Of(0, 1, 2)
	r, err = resolve(t, m, "--copies", "auto", "x")
	require.NoError(t, err)
	assert.Len(t, r.Cells, 3, "1, 2 and 3")
}

func TestResolveCopiesRefused(t *testing.T) {
	m := recorded(t, "qemu-numa2")
	for args, want := range map[string]string{
		"--copies 0":                             "--copies 0: \"0\" is not a number from 1 to 1024",
		"--copies 2,x":                           "--copies 2,x: \"x\" is not a number from 1 to 1024",
		"--copies 2,2":                           "--copies 2,2: 2 is there twice",
		"--bind 0":                               "--bind is for copies",
		"--copies 2 --bind 99":                   "--bind 99: ",
		"--copies 2 --bind 0 --placement packed": "--bind and placements exclude each other",
		"--copies 2,4 --placements packed,unbound": "either the numbers of copies are compared",
		"--copies 2 --dedicate 1":                  "--copies and --dedicate exclude each other",
		"--copies 2 --output out.txt":              "all copies would write the file",
		"--copies 3 --placement same-core":         "3 copies cannot be placed same-core here",
		"--copies 2 --placement same-node":         "2 copies cannot be placed same-node here",
		"--placement packed":                       "packed is a placement of several copies",
		"--placements copies":                      "there are no copies",
		"--copies 2 --placements packed,packed":    "packed is there twice",
		"--copies 9 --placement one-per-core":      "9 copies cannot be placed one-per-core here",
	} {
		_, err := resolve(t, m, append(strings.Fields(args), "x")...)
		require.Error(t, err, args)
		assert.Contains(t, err.Error(), want, args)
	}
	one := m
	one.CPUs = cpuset.Of(0)
	_, err := resolve(t, one, "--copies", "auto", "x")
	assert.ErrorContains(t, err, "the run has one CPU")
}

// The number of a copy stands in its words, its files and the environment.
func TestCopiesOfACell(t *testing.T) {
	r, err := resolve(t, experiment.Machine{}, "--copies", "2", "--input", "/dev/null", "x", "a{copy}b{copy}", "{other}")
	require.NoError(t, err)
	files := opened{}
	defer func() { files.close() }()
	of := &sampler{}
	of.Environ = []string{"A=1", "PORT=80{copy}"}
	var copies [2]launch.Member
	for i := range copies {
		copies[i], err = files.member(t.Context(), of, r.Cells[0].Do, i, true)
		require.NoError(t, err)
	}
	assert.Equal(t, launch.Texts{"x", "a1b1", "{other}"}, copies[1].Argv)
	assert.Equal(t, launch.Texts{"PORT=801"}, copies[1].Environ)
	assert.NotSame(t, copies[0].Stdin, copies[1].Stdin)
}

// What a run of several numbers of copies says, by what it measured.
func TestScaling(t *testing.T) {
	ratio := func(r, lo, hi float64) stats.Effect { return stats.Effect{Ratio: r, Lo: lo, Hi: hi} }
	because := func(cause string) *result.Why { return &result.Why{Cause: cause} }
	one := step{n: 1, ratio: ratio(1, 1, 1), use: 1, cpus: 2}
	two := step{n: 2, ratio: ratio(1.02, 1, 1.04), use: 2, cpus: 2}
	for name, c := range map[string]struct {
		steps []step
		want  []string
	}{
		"none is slower": {
			[]step{one, two},
			[]string{"Up to 2 copies, the most that were tried, none is more than 10% slower: they do 1.96 × (1.92 to 2.00) as much as one"},
		},
		"CPUs": {
			[]step{one, two, {n: 4, ratio: ratio(2, 1.9, 2.1), time: 2, use: 2, cpus: 2, why: because(result.WhyWaiting)}},
			[]string{
				"Up to 2 copies, which do 1.96 × (1.92 to 2.00) as much as one, none is more than 10% slower. From 4 copies on, they slow each other down: the last ends after " +
					"2.00 × (1.90 to 2.10) the time of one, and all do 2.00 × (1.90 to 2.11) as much",
				"The copies lack CPUs: together they keep 2.0 of 2 busy",
			},
		},
		"caches or memory": {
			[]step{one, {n: 2, ratio: ratio(1.5, 1.4, 1.6), time: 1.5, use: 2, cpus: 2, why: because(result.WhyUser)}},
			[]string{
				"From 2 copies on, they slow each other down: the last ends after 1.50 × (1.40 to 1.60) the time of one, and all do 1.33 × (1.25 to 1.43) as much",
				"The copies share a core, a cache or memory bandwidth",
			},
		},
		"a lock": {
			[]step{
				{n: 1, ratio: ratio(1, 1, 1), use: 0.2, cpus: 2},
				{n: 2, ratio: ratio(1.9, 1.8, 2), use: 0.2, cpus: 2, why: because(result.WhyBlocked)},
			},
			[]string{
				"From 2 copies on, they slow each other down: the last ends after 1.90 × (1.80 to 2.00) the time of one, and all do 1.05 × (1.00 to 1.11) as much",
				"The copies wait for something else that they share, such as a disk, a lock or a server",
			},
		},
		"several threads, all CPUs in use": {
			[]step{
				{n: 1, ratio: ratio(1, 1, 1), use: 2, cpus: 2},
				{n: 2, ratio: ratio(2, 1.9, 2.1), use: 2, cpus: 2, why: because(result.WhyBlocked)},
			},
			[]string{
				"From 2 copies on, they slow each other down: the last ends after 2.00 × (1.90 to 2.10) the time of one, and all do 1.00 × (0.95 to 1.05) as much",
				"The copies lack CPUs: together they keep 2.0 of 2 busy",
			},
		},
		"several threads, which wait": {
			[]step{one, {n: 2, ratio: ratio(2, 1.9, 2.1), use: 1, cpus: 2, why: because(result.WhyOthersWaiting)}},
			[]string{
				"From 2 copies on, they slow each other down: the last ends after 2.00 × (1.90 to 2.10) the time of one, and all do 1.00 × (0.95 to 1.05) as much",
				"The copies lack CPUs: together they keep 1.0 of 2 busy",
			},
		},
		"a quota": {
			[]step{one, {n: 2, ratio: ratio(2, 1.9, 2.1), use: 1, cpus: 2, why: because("throttled_seconds")}},
			[]string{
				"From 2 copies on, they slow each other down: the last ends after 2.00 × (1.90 to 2.10) the time of one, and all do 1.00 × (0.95 to 1.05) as much",
			},
		},
		"too wide": {
			[]step{one, {n: 2, ratio: ratio(1.1, 0.9, 1.4)}},
			[]string{"Can't tell whether 2 copies slow each other down: the last ends after 1.10 × (0.90 to 1.40) the time of one"},
		},
		"not known": {[]step{one, {n: 2}}, []string{"Can't tell yet whether 2 copies slow each other down"}},
		"doubt before": {
			[]step{one, {n: 2, ratio: ratio(1.1, 0.9, 1.4)}, {n: 4, ratio: ratio(2, 1.9, 2.1)}},
			[]string{
				"From 4 copies on, they slow each other down: the last ends after 2.00 × (1.90 to 2.10) the time of one, and all do 2.00 × (1.90 to 2.11) as much",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for i := range c.steps {
				c.steps[i].than = 1
			}
			for _, s := range scaling(c.steps, c.steps[0]) {
				got = append(got, s.Text)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// A run compares numbers of copies only if nothing else differs.
func TestSteps(t *testing.T) {
	run := &result.Run{Matrix: &result.Matrix{}, Cells: []result.Cell{
		{Flags: map[string]string{"copies": "1", "nice": "5"}}, {Flags: map[string]string{"copies": "2", "nice": "5"}},
	}}
	_, base, ok := steps(run)
	assert.True(t, ok)
	assert.Equal(t, 1, base.n)
	run.Cells[1].Flags["nice"] = "0"
	_, _, ok = steps(run)
	assert.False(t, ok)
	run.Cells[1].Flags = map[string]string{"nice": "5"}
	_, _, ok = steps(run)
	assert.False(t, ok)
}

// No file of an execution stays open, of a lone command or of copies.
func TestExecutionClosesFiles(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a finalizer would close them
	open := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(files)
	}
	s := &sampler{Environment: experiment.Environment{Self: launch.Self{Path: "/proc/self/exe", Argv: []string{"gorun"}}, Environ: os.Environ()}}
	defer func() { assert.NoError(t, s.Close()) }()
	run := func(c Cell) {
		c.Argv, c.Input = []string{"true"}, os.DevNull
		sample, err := s.execute(t.Context(), c, false)
		require.NoError(t, err)
		require.Empty(t, sample.Doubts)
	}
	one := Cell{Settings: make([]placement.Setting, 1)}
	run(one) // starts the supervisor
	before := open()
	run(one)
	run(Cell{Settings: make([]placement.Setting, 3), Copies: true})
	assert.Equal(t, before, open())
}

// A search in order says how far it came, and why no further; each number is shown against the one before it.
func TestScalingInOrder(t *testing.T) {
	run := &result.Run{Experiment: "exec", Matrix: &result.Matrix{Margin: 0.02, Steps: []result.Step{{Cell: 1, Work: 2}, {Cell: 2, Work: 2}}, Reached: new(1)}}
	for i, n := range []string{"1", "2", "4"} {
		run.Cells = append(run.Cells, result.Cell{Name: "--copies " + n, Flags: map[string]string{"copies": n}})
		if i > 0 {
			run.Cells[i].Against = new(i - 1)
		}
	}
	verdict := func(kind stats.Kind, ratio, lo, hi float64) *stats.Verdict {
		return &stats.Verdict{Kind: kind, Typical: stats.Effect{Ratio: ratio, Lo: lo, Hi: hi}, Rounds: 9, Margin: 0.02, Step: 0.001, Scale: 2 / 1.02}
	}
	run.Cells[1].Verdict, run.Cells[2].Verdict = verdict(stats.Scales, 1.1, 1, 1.25), verdict(stats.Stops, 2.2, 2, 2.5)
	of, base, ok := steps(run)
	require.True(t, ok)
	assert.InEpsilon(t, 2/1.1, of[1].output().Ratio, 1e-9)
	assert.InEpsilon(t, 2/2.2, of[2].output().Ratio, 1e-9, "against two copies")
	assert.Contains(t, scalingTable(of, base).Title, "each number against the one before it")
	said := found(run, of)
	assert.Equal(t, "Scales to 2 copies; not from 2 to 4 copies: 0.800–1.00 × as much", said[0].Text)
	waiting := result.Part{Name: result.WhyWaiting, Label: "waiting for a CPU", Unit: result.WhySeconds, Shift: stats.Shift{Typical: 1.1}}
	of[2].why = &result.Why{Cause: result.WhyWaiting, Parts: []result.Part{waiting}}
	run.Cells[2].Why = of[2].why
	said = found(run, of)
	assert.Contains(t, said[1].Text, "Why: waiting for a CPU +1.10 s")
	assert.Contains(t, said[2].Text, "The copies lack CPUs")
	run.Cells[2].Verdict.Kind = stats.CantTell
	for _, s := range found(run, of) {
		assert.NotContains(t, s.Text, "Why")
	}
}
