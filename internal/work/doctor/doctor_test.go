package doctor

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/topology"
	"gorun/internal/publish/document"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/show/term"
	"gorun/internal/stats"
)

// recorded returns a machine of testdata/hosts.
func recorded(t *testing.T, name string) Subject {
	t.Helper()
	return subject(t, hosts.Root(t, name))
}

// subject returns the machine that these files are of.
func subject(t *testing.T, root fs.FS) Subject {
	t.Helper()
	m, err := topology.Read(root)
	require.NoError(t, err)
	host, _ := measure.ReadHost(root, m, nil)
	return Subject{Root: root, Machine: m, Host: host}
}

// found returns the condition of this name.
func found(t *testing.T, r *Report, name string) Condition {
	t.Helper()
	i := slices.IndexFunc(r.Conditions, func(c Condition) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return r.Conditions[i]
}

// Every recorded machine can be examined; those with one node are not ready for NUMA, and those with one CPU for nothing.
func TestExamineRecordedMachines(t *testing.T) {
	for _, file := range hosts.Names(t) {
		s := recorded(t, file)
		r := Examine(t.Context(), s)
		assert.Nil(t, r.Trial, file)
		assert.Equal(t, s.Machine.Allowed().Len() > 1, r.Ready, file)
		for _, area := range r.Areas {
			if area.Area == NUMA {
				assert.Equal(t, s.Machine.Counts().Nodes > 1, area.Ready, file)
				assert.Equal(t, !area.Ready, area.Reason != "", file)
			}
		}
		smt := found(t, r, "smt")
		counts := s.Machine.Counts()
		assert.Equal(t, counts.Online > counts.Cores, smt.Level == Note, file)
		offline := s.Machine.Where(func(c topology.CPU) bool { return !c.Online })
		assert.Equal(t, offline.Empty(), found(t, r, "offline cpus").Level == OK, file)
		for _, c := range r.Conditions {
			assert.Contains(t, levels, c.Level, "%s: %s", file, c.Name)
			assert.NotEmpty(t, c.Value, "%s: %s", file, c.Name)
			assert.Equal(t, c.Level == OK, c.Effect == "", "%s: %s: every condition above OK has an effect", file, c.Name)
		}
	}
}

// files are a machine of four CPUs, with two nodes and two threads on a core, and what else is given.
func files(more map[string]string) fs.FS {
	all := map[string]string{
		"sys/devices/system/cpu/present": "0-3", "sys/devices/system/cpu/online": "0-3",
		"sys/devices/system/node/online": "0-1", "sys/devices/system/node/node0/cpulist": "0-1",
		"sys/devices/system/node/node1/cpulist": "2-3",
		"proc/sys/kernel/osrelease":             "6.12", "proc/self/cgroup": "0::/", "proc/self/mountinfo": "",
	}
	maps.Copy(all, more)
	fsys := fstest.MapFS{}
	for name, text := range all {
		fsys[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return fsys
}

// Each condition has its level, its value and its commands from the files that have it.
func TestConditions(t *testing.T) {
	const cpu = "sys/devices/system/cpu/"
	for _, c := range []struct {
		name   string
		files  map[string]string
		level  Level
		value  string
		do     string
		undo   string
		digest string
	}{
		{name: "governor", level: OK, value: "not reported"},
		{name: "governor", files: map[string]string{cpu + "cpu0/cpufreq/scaling_governor": "performance"}, level: OK, value: "performance"},
		{
			name: "governor", files: map[string]string{cpu + "cpu0/cpufreq/scaling_governor": "powersave"}, level: Limit, value: "powersave",
			do:     "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
			undo:   "echo powersave | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
			digest: "governor powersave",
		},
		{
			name: "turbo", files: map[string]string{cpu + "intel_pstate/no_turbo": "0"}, level: Note, value: "on",
			do:   "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo",
			undo: "echo 0 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo", digest: "turbo on",
		},
		{
			name: "turbo", files: map[string]string{cpu + "cpufreq/boost": "1"}, level: Note, value: "on",
			do:   "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
			undo: "echo 1 | sudo tee /sys/devices/system/cpu/cpufreq/boost", digest: "turbo on",
		},
		{name: "turbo", files: map[string]string{cpu + "cpufreq/boost": "0"}, level: OK, value: "off"},
		{
			name: "clock source", level: Limit, value: "hpet", digest: "clock source hpet",
			files: map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet"},
		},
		{
			name: "clock source", level: OK, value: "tsc",
			files: map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc"},
		},
		{
			name: "mitigations", level: Note, value: "1 active, 1 vulnerabilities open",
			files: map[string]string{
				cpu + "vulnerabilities/spectre_v1": "Mitigation: usercopy", cpu + "vulnerabilities/mds": "Vulnerable",
				cpu + "vulnerabilities/l1tf": "Not affected",
			},
		},
		{
			name: "numa balancing", files: map[string]string{"proc/sys/kernel/numa_balancing": "1"}, level: Note,
			value: "1, first scan after 1.00 s of CPU time", do: "sudo sysctl kernel.numa_balancing=0",
			undo: "sudo sysctl kernel.numa_balancing=1", digest: "NUMA balancing on",
		},
		{name: "numa balancing", files: map[string]string{"proc/sys/kernel/numa_balancing": "0"}, level: OK, value: "off"},
		{name: "numa balancing", level: OK, value: "not in this kernel"},
		{
			name: "isolated cpus", files: map[string]string{cpu + "isolated": "2-3", cpu + "nohz_full": "3"}, level: Note,
			value: "isolated 2-3; nohz_full 3", digest: "isolated 2-3; nohz_full 3",
		},
		{
			name: "offline cpus", files: map[string]string{cpu + "online": "0-1,3"}, level: Note, value: "2",
			do:   "echo 1 | sudo tee /sys/devices/system/cpu/cpu2/online",
			undo: "echo 0 | sudo tee /sys/devices/system/cpu/cpu2/online", digest: "CPUs 2 offline",
		},
		{
			name: "sched_ext", level: Note, value: "enabled rusty", digest: "sched_ext rusty",
			files: map[string]string{"sys/kernel/sched_ext/state": "enabled", path.Join("sys/kernel/sched_ext", "root", "ops"): "rusty"},
		},
		{name: "sched_ext", level: OK, value: "none", files: map[string]string{"sys/kernel/sched_ext/state": "disabled"}},
		{
			name: "huge pages", level: Note, value: "transparent always, 0 reserved of 2 MiB free",
			files: map[string]string{
				"sys/kernel/mm/transparent_hugepage/enabled":              "[always] madvise never",
				"sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages": "0",
			},
			do: "sudo sysctl vm.nr_hugepages=64", undo: "sudo sysctl vm.nr_hugepages=0",
		},
		{
			name: "cpu quota", level: Limit, value: "1.50 CPUs (/sys/fs/cgroup/a/cpu.max)", digest: "quota of 1.50 CPUs",
			files: map[string]string{
				"proc/self/cgroup": "0::/a", "sys/fs/cgroup/a/cpu.max": "150000 100000",
				"proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
			},
		},
		{
			name: "cpu quota", level: OK, value: "none visible",
			files: map[string]string{"proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw", "sys/fs/cgroup/cpu.max": "max 100000"},
		},
		{name: "cpu quota", level: Limit, value: "unknown: no control group is visible"},
		{name: "perf events", level: Limit, value: "not in this kernel, or hidden"},
	} {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			s := subject(t, files(c.files))
			is := found(t, Examine(t.Context(), s), c.name)
			assert.Equal(t, c.level, is.Level)
			assert.Equal(t, c.value, is.Value)
			if c.do != "" {
				assert.Equal(t, &Fix{Do: c.do, Undo: c.undo}, is.Fix)
			}
			assert.Equal(t, c.digest, is.Digest)
			if c.digest != "" {
				assert.Contains(t, Digest(s), c.digest)
			}
		})
	}
}

// GOMAXPROCS is compared with the tightest quota that is visible, rounded as the Go runtime does, which reads only the
// innermost one. The machine has four CPUs.
func TestGOMAXPROCS(t *testing.T) {
	v2 := func(leaf, parent string) map[string]string {
		return map[string]string{
			"proc/self/cgroup": "0::/a/b", "proc/self/mountinfo": "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
			"sys/fs/cgroup/a/b/cpu.max": leaf + " 100000", "sys/fs/cgroup/a/cpu.max": parent + " 100000",
		}
	}
	v1 := map[string]string{
		"proc/self/cgroup": "4:cpu:/a/b", "proc/self/mountinfo": "38 25 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu",
		"sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us": "-1",
		"sys/fs/cgroup/cpu/a/cpu.cfs_quota_us":   "250000", "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
	}
	// In a namespace the innermost group is the top: what is above it is not known.
	container := func(quota string) map[string]string {
		return map[string]string{
			"proc/self/mountinfo":   "30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw",
			"sys/fs/cgroup/cpu.max": quota + " 100000",
		}
	}
	const stopped = "a Go program has up to %d threads at work, and is stopped when the quota of %s CPUs is used up"
	innermost := func(is int, quota, file string) string {
		return fmt.Sprintf(stopped, is, quota) + "; the Go runtime reads the quota of the innermost control group only, not " + file
	}
	few := func(is int) string { return fmt.Sprintf("a Go program runs on %d of 4 CPUs at once", is) }
	for name, c := range map[string]struct {
		files   map[string]string
		is      int    // 0: of a captured machine
		environ string // "NAME=VALUE NAME=VALUE"
		level   Level
		value   string
		effect  string
		set     int    // what to set; 0: nothing
		undo    string // "": unset GOMAXPROCS
	}{
		"no quota":                {is: 4, level: OK, value: "4"},
		"ancestor":                {v2("max", "150000"), 4, "", Limit, "4", innermost(4, "1.50", "/sys/fs/cgroup/a/cpu.max"), 2, ""},
		"ancestor, captured":      {v2("max", "250000"), 0, "", Limit, "4 by default", innermost(4, "2.50", "/sys/fs/cgroup/a/cpu.max"), 3, ""},
		"tighter ancestor":        {v2("300000", "100000"), 3, "", Limit, "3", innermost(3, "1.00", "/sys/fs/cgroup/a/cpu.max"), 2, ""},
		"version 1":               {v1, 4, "", Limit, "4", innermost(4, "2.50", "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"), 3, ""},
		"tighter leaf":            {v2("200000", "300000"), 2, "", Note, "2", few(2), 0, ""},
		"rounded":                 {v2("250000", "max"), 3, "", Note, "3, the quota rounded as the Go runtime does", few(3), 0, ""},
		"at least two":            {v2("50000", "max"), 2, "", Note, "2, the quota rounded as the Go runtime does", few(2), 0, ""},
		"ancestor, set right":     {v2("max", "150000"), 2, "GOMAXPROCS=2", Note, "2, the quota rounded as the Go runtime does", few(2), 0, ""},
		"set above the quota":     {v2("150000", "max"), 4, "GOMAXPROCS=4", Limit, "4", fmt.Sprintf(stopped, 4, "1.50"), 2, "export GOMAXPROCS=4"},
		"set above the ancestor":  {v2("max", "150000"), 8, "GOMAXPROCS=8", Limit, "8", fmt.Sprintf(stopped, 8, "1.50"), 2, "export GOMAXPROCS=8"},
		"set below the quota":     {v2("300000", "max"), 1, "GOMAXPROCS=1", Note, "1", few(1), 3, "export GOMAXPROCS=1"},
		"set above the CPUs":      {nil, 8, "GOMAXPROCS=8", Note, "8", "a Go program has more threads that run Go code than its 4 CPUs", 4, "export GOMAXPROCS=8"},
		"set to no number":        {v2("max", "150000"), 4, "GOMAXPROCS=many", Limit, "4", innermost(4, "1.50", "/sys/fs/cgroup/a/cpu.max"), 2, ""},
		"quotas ignored":          {v2("150000", "max"), 4, "GODEBUG=a=1,containermaxprocs=0", Limit, "4", fmt.Sprintf(stopped, 4, "1.50") + "; GODEBUG makes the Go runtime ignore quotas", 2, ""},
		"leaf not read":           {v2("150000", "max"), 4, "", Limit, "4", fmt.Sprintf(stopped, 4, "1.50"), 2, ""},
		"container":               {container("150000"), 2, "", Note, "2, the quota rounded as the Go runtime does", few(2), 0, ""},
		"container without quota": {container("max"), 4, "", OK, "4", "", 0, ""},
		"environment of another":  {v2("200000", "max"), 0, "GOMAXPROCS=2", Note, "2 by default", few(2), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := subject(t, files(c.files))
			want := &Condition{Level: c.level, Value: c.value, Effect: c.effect}
			if c.set > 0 {
				set := fmt.Sprintf("GOMAXPROCS=%d", c.set)
				want.Remedy, want.Fix = "set "+set, &Fix{Do: "export " + set, Undo: cmp.Or(c.undo, "unset GOMAXPROCS")}
			}
			s.Live, s.Host = c.is > 0, result.Host{GOMAXPROCS: c.is, Environment: c.environ}
			assert.Equal(t, want, gomaxprocs(s, nil))
		})
	}
}

// What a trial found decides whether the machine is ready.
func TestTrialDecides(t *testing.T) {
	s := subject(t, files(nil))
	seconds := func(x float64) *float64 { return &x }
	quiet := Trial{RunSeconds: 0.05, Differs: 0.01, Resolution: 0.012, PromisedSeconds: 30}
	quiet.Signals = result.Signals{
		WatchedSeconds: 2, OtherSeconds: seconds(0.01), StealSeconds: seconds(0), ThrottledSeconds: seconds(0),
	}
	for _, c := range []struct {
		change func(*Trial)
		name   string
		level  Level
	}{
		{func(*Trial) {}, "equal runs", OK},
		{func(t *Trial) { t.Resolution = 0.05 }, "equal runs", Limit},
		{func(t *Trial) { t.Resolution = 0.11 }, "equal runs", Unfit},
		{func(t *Trial) { t.Resolution = 0 }, "equal runs", Unfit},
		{func(*Trial) {}, "other programs", OK},
		{func(t *Trial) { t.Signals.OtherSeconds = seconds(0.3) }, "other programs", Limit},
		{func(t *Trial) { t.Signals.OtherSeconds = seconds(3) }, "other programs", Unfit},
		{func(t *Trial) { t.Signals.OtherSeconds = seconds(-0.01) }, "other programs", OK},
		{func(t *Trial) { t.Signals.OtherSeconds = nil }, "other programs", Limit},
		{func(t *Trial) { t.Signals.StealSeconds = seconds(1) }, "steal", Limit},
		{func(t *Trial) { t.Signals.ThrottledSeconds = seconds(0.1) }, "throttling", Unfit},
		{func(t *Trial) { t.Signals.ThrottledSeconds = nil }, "throttling", Note},
	} {
		trial := quiet
		c.change(&trial)
		r := examine(s, &trial)
		assert.Equal(t, c.level, found(t, r, c.name).Level, "%s: %+v", c.name, trial)
		assert.Equal(t, c.level != Unfit, r.Ready, "%s: %+v", c.name, trial)
		assert.Equal(t, r.Ready, strings.HasPrefix(r.answer()[0].Text, "Ready: a run of 30 s can find differences from "), r.answer())
	}
}

// An interval becomes narrower with the square root of the rounds.
func TestResolution(t *testing.T) {
	e := stats.Effect{Ratio: 1, Lo: 1 / 1.21, Hi: 1.21}
	assert.InDelta(t, 0.21, resolution(e, 600, 30./3/600), 1e-9, "as many rounds")
	assert.InDelta(t, 0.1, resolution(e, 150, 30./3/600), 1e-9, "four times as many")
	assert.Zero(t, resolution(stats.Effect{Ratio: 1, Lo: 0, Hi: 1.2}, 150, 0.05), "not bounded")
}

// This machine can be examined without privileges, and what is tried leaves it as it was. The runs of its trial are short.
func TestExamineThisMachine(t *testing.T) {
	defer func(is float64) { runSeconds = is }(runSeconds)
	runSeconds = 0.001
	root := os.DirFS("/")
	m, err := topology.ReadThis(root, func() (cpuset.Set, error) { return linux.GetAffinity(0) })
	require.NoError(t, err)
	before, err := linux.GetAffinity(0)
	require.NoError(t, err)
	host, _ := measure.ReadHost(root, m, os.Environ())
	r := Examine(t.Context(), Subject{Root: root, Machine: m, Live: true, Host: host})
	require.NotNil(t, r.Trial)
	assert.Equal(t, trialRounds, r.Trial.Rounds)
	assert.Positive(t, r.Trial.Differs)
	assert.Positive(t, r.Trial.RunSeconds)
	after, err := linux.GetAffinity(0)
	require.NoError(t, err)
	assert.Equal(t, before.String(), after.String())
	assert.NotEqual(t, Unfit, found(t, r, "placement calls").Level)
	for _, area := range r.Areas {
		if area.Area == Placement {
			assert.Equal(t, m.Allowed().Len() > 1, area.Ready, area.Reason)
		}
	}
}

// Prometheus' own parser reads the text, Markdown has all conditions, and what --fix prints is commands and comments.
func TestFormats(t *testing.T) {
	r := Examine(t.Context(), recorded(t, "qemu-epyc8smt"))
	var markdown, text, fixes bytes.Buffer
	require.NoError(t, document.Show(&markdown, r, "markdown", term.Options{}))
	require.NoError(t, document.Show(&text, r, "prometheus", term.Options{}))
	require.NoError(t, r.Fixes(&fixes))
	assert.True(t, strings.HasPrefix(markdown.String(), "**Ready, as far as files show: no runs were compared.**\n"), markdown.String())
	for _, c := range r.Conditions {
		assert.Contains(t, markdown.String(), "| "+term.EscapeMarkdown(c.Name)+" |")
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&text)
	require.NoError(t, err)
	ready := map[string]float64{}
	for _, m := range families["gorun_doctor_ready"].GetMetric() {
		ready[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
	}
	assert.Equal(t, map[string]float64{"timing": 1, "placement": 1, "numa": 1, "counters": 1}, ready)
	count := 0.0
	for _, m := range families["gorun_doctor_conditions"].GetMetric() {
		count += m.GetGauge().GetValue()
	}
	assert.EqualValues(t, len(r.Conditions), count)
	assert.NotContains(t, families, "gorun_doctor_resolution_ratio")
	for line := range strings.Lines(fixes.String()) {
		assert.Regexp(t, "^(# |sudo |echo )", line)
	}
}
