package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/shell"
	"gorun/internal/units"
)

// signal is something that disturbs samples.
type signal struct {
	name string
	show func(x float64) string
	of   func(s *result.Signals) *float64
	each bool // a sum over samples is meaningless
}

// signals are the rows of the table of disturbances. To add one, add its row.
var signals = [...]signal{
	{"steal by the hypervisor", milliseconds, func(s *result.Signals) *float64 { return s.StealSeconds }, false},
	{"other programs", milliseconds, func(s *result.Signals) *float64 { return s.OtherSeconds }, false},
	{"waiting for a CPU", milliseconds, func(s *result.Signals) *float64 { return s.RunQueueSeconds }, false},
	{"throttled by the quota", milliseconds, func(s *result.Signals) *float64 { return s.ThrottledSeconds }, false},
	{"CPU pressure", milliseconds, func(s *result.Signals) *float64 { return s.CPUPressureSeconds }, false},
	{"stopped by a signal", milliseconds, func(s *result.Signals) *float64 { return s.StoppedSeconds }, false},
	{"machine suspended", milliseconds, func(s *result.Signals) *float64 { return s.SuspendedSeconds }, false},
	{"migrations", units.Count, func(s *result.Signals) *float64 { return number(s.Migrations) }, false},
	{"voluntary switches", units.Count, func(s *result.Signals) *float64 { return number(s.VoluntarySwitches) }, false},
	{
		"involuntary switches", units.Count,
		func(s *result.Signals) *float64 { return number(s.InvoluntarySwitches) }, false,
	},
	{"minor page faults", units.Count, func(s *result.Signals) *float64 { return number(s.MinorFaults) }, false},
	{"major page faults", units.Count, func(s *result.Signals) *float64 { return number(s.MajorFaults) }, false},
	{"a fixed loop before the sample", milliseconds, func(s *result.Signals) *float64 { return s.CanarySeconds }, true},
	{"clock, MHz", units.Digits, func(s *result.Signals) *float64 { return s.MHz }, true},
}

func number(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

// milliseconds is how disturbances are shown, so that all their times have one unit.
func milliseconds(seconds float64) string { return units.Digits(1e3*seconds) + " ms" }

// disturbances summarises the disturbances of the samples. Those that no sample has, and those that are not known, are named
// below the table.
func disturbances(run *result.Run) table {
	t := table{
		Name: "disturbances", Caption: "What disturbed the samples",
		Head: headings("disturbance", "#median of a sample", "#greatest", "#in all", "#samples that know it"),
	}
	var none, unknown []string
	negative := false
	for _, signal := range signals {
		var all []float64
		sum := 0.0
		for i := range run.Samples {
			if x := signal.of(&run.Samples[i].Quality.Signals); x != nil {
				all = append(all, *x)
				sum += *x
			}
		}
		if len(all) == 0 {
			unknown = append(unknown, signal.name)
			continue
		}
		d := result.Distribute(all)
		if d.Min == 0 && d.Max == 0 && len(all) == len(run.Samples) {
			none = append(none, signal.name)
			continue
		}
		negative = negative || d.Min < 0
		row := []cell{words(signal.name), figured(d.Median, signal.show), figured(d.Max, signal.show), {}, counted(len(all))}
		if !signal.each {
			row[3] = figured(sum, signal.show)
		}
		t.Rows = append(t.Rows, row)
	}
	if len(none) > 0 {
		t.Notes = append(t.Notes, "None: "+strings.Join(none, ", ")+".")
	}
	if len(unknown) > 0 {
		t.Notes = append(t.Notes, "Not known: "+strings.Join(unknown, ", ")+".")
	}
	if negative {
		t.Notes = append(t.Notes, "A time below zero is within the error of the kernel's accounts.")
	}
	return t
}

// quality counts the samples by verdict, and the reasons.
func quality(run *result.Run) []table {
	counts := table{Name: "quality", Caption: "Samples by verdict", Head: headings("verdict", "#samples")}
	reasons := table{
		Name: "reasons", Caption: "Why samples are not valid", Head: headings("reason", "verdict", "#samples"),
	}
	for _, verdict := range []result.Verdict{result.Valid, result.Suspect, result.Invalid} {
		n := 0
		for i := range run.Samples {
			if run.Samples[i].Quality.Verdict == verdict {
				n++
			}
		}
		counts.Rows = append(counts.Rows, []cell{words(string(verdict)), counted(n)})
		for _, reason := range view.Reasons(run.Samples, verdict) {
			text := reason.Text
			if reason.CPUs.Len() > 1 {
				text += " (CPUs " + reason.CPUs.String() + ")"
			}
			reasons.Rows = append(reasons.Rows, []cell{words(text), words(string(verdict)), counted(reason.Samples)})
		}
	}
	if len(run.Warmups) > 0 {
		counts.Rows = append(counts.Rows, []cell{words("warm-ups, dropped"), counted(len(run.Warmups))})
	}
	if len(reasons.Rows) == 0 {
		return []table{counts, disturbances(run)}
	}
	return []table{counts, reasons, disturbances(run)}
}

// hidden are the fields of a host that only a program can compare: hashes.
var hidden = []string{"topology", "mitigations"}

// called are the names of a host's fields, where these differ from their keys.
var called = map[string]string{
	"os": "operating system", "arch": "architecture", "cpu_model": "processor", "cpus": "CPUs", "online": "CPUs online",
	"llcs": "last-level caches", "nodes": "NUMA nodes", "allowed": "CPUs allowed", "gomaxprocs": "GOMAXPROCS",
	"cpu_quota": "CPU quota, CPUs", "memory_bytes": "memory", "memory_limit_bytes": "memory limit of the cgroup",
	"transparent_hugepage": "transparent huge pages", "numa_balancing": "NUMA balancing",
	"migration_cost_ns": "migration cost of the scheduler, ns", "boot_id": "boot", "smt": "SMT", "aslr": "ASLR",
}

// environment returns the known fields of the host, and the tool.
func environment(in Input) table {
	run := in.Run
	t := table{Name: "environment", Caption: "Where, when and by what it was measured", Head: headings("what", "value")}
	add := func(name, value string) {
		if value != "" {
			t.Rows = append(t.Rows, []cell{words(name), words(value)})
		}
	}
	add("file", filepath.Base(in.File))
	add("started", run.Started)
	host := reflect.ValueOf(run.Host)
	for i := range host.NumField() {
		key, _, _ := strings.Cut(host.Type().Field(i).Tag.Get("json"), ",")
		field := reflect.Indirect(host.Field(i))
		if !field.IsValid() || field.IsZero() || slices.Contains(hidden, key) {
			continue
		}
		value := fmt.Sprint(field)
		if strings.HasSuffix(key, "_bytes") {
			value = units.Bytes(field.Uint())
		}
		if list, ok := field.Interface().([]string); ok {
			value = strings.Join(list, ", ")
		}
		add(cmp.Or(called[key], strings.ReplaceAll(key, "_", " ")), value)
	}
	add("tool", strings.TrimSpace(run.Tool.Name+" "+run.Tool.Version))
	add("commit", run.Tool.Commit)
	add("Go", run.Tool.Go)
	add("seed", fmt.Sprint(run.Seed))
	return t
}

// options returns the requested options, by flag name.
func options(run *result.Run) table {
	t := table{Name: "options", Caption: "What was asked", Head: headings("option", "value")}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return t
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(text, &values) != nil {
		return t
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := string(values[name])
		var plain string
		if json.Unmarshal(values[name], &plain) == nil {
			value = plain
		}
		if value != "" && value != "null" && value != "false" {
			t.Rows = append(t.Rows, []cell{words(strings.ReplaceAll(name, "_", " ")), words(value)})
		}
	}
	return t
}

// commands returns the command that repeats one sample of each cell.
func commands(run *result.Run) table {
	t := table{Name: "commands", Caption: "What repeats a sample of each cell", Cells: true, Head: headings("cell", "command")}
	for i, title := range view.CellTitles(run) {
		if len(run.Cells[i].Command) > 0 {
			t.Rows = append(t.Rows, []cell{words(title), {Text: shell.Join(append([]string{"gorun"}, run.Cells[i].Command...)), Class: "code"}})
		}
	}
	return t
}
