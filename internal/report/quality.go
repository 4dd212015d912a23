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

	"gorun/internal/column"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/shell"
	"gorun/internal/table"
	"gorun/internal/units"
)

// signal is something that disturbs samples.
type signal struct {
	name string
	unit column.Unit
	of   func(s *result.Signals) *float64
	each bool // a sum over samples is meaningless
}

// signals are the rows of the table of disturbances. To add one, add its row.
var signals = [...]signal{
	{"steal by the hypervisor", column.Seconds, func(s *result.Signals) *float64 { return s.StealSeconds }, false},
	{"other programs", column.Seconds, func(s *result.Signals) *float64 { return s.OtherSeconds }, false},
	{"waiting for a CPU", column.Seconds, func(s *result.Signals) *float64 { return s.RunQueueSeconds }, false},
	{"throttled by the quota", column.Seconds, func(s *result.Signals) *float64 { return s.ThrottledSeconds }, false},
	{"CPU pressure", column.Seconds, func(s *result.Signals) *float64 { return s.CPUPressureSeconds }, false},
	{"stopped by a signal", column.Seconds, func(s *result.Signals) *float64 { return s.StoppedSeconds }, false},
	{"machine suspended", column.Seconds, func(s *result.Signals) *float64 { return s.SuspendedSeconds }, false},
	{"migrations", column.Count, func(s *result.Signals) *float64 { return number(s.Migrations) }, false},
	{"voluntary switches", column.Count, func(s *result.Signals) *float64 { return number(s.VoluntarySwitches) }, false},
	{
		"involuntary switches", column.Count,
		func(s *result.Signals) *float64 { return number(s.InvoluntarySwitches) }, false,
	},
	{"minor page faults", column.Count, func(s *result.Signals) *float64 { return number(s.MinorFaults) }, false},
	{"major page faults", column.Count, func(s *result.Signals) *float64 { return number(s.MajorFaults) }, false},
	{"a fixed loop before the sample", column.Seconds, func(s *result.Signals) *float64 { return s.CanarySeconds }, true},
	{"clock, MHz", column.None, func(s *result.Signals) *float64 { return s.MHz }, true},
}

func number(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

// disturbances summarises the disturbances of the samples. Those that no sample has, and those that are not known, are named
// below the table.
func disturbances(run *result.Run) table.Table {
	t := table.Table{Name: "disturbances", Title: "What disturbed the samples"}
	for _, title := range []string{"disturbance", "median of a sample", "greatest", "in all", "samples that know it"} {
		t.Columns = append(t.Columns, table.Column{Title: title, Apart: true})
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
		figure := func(x float64) table.Value { return table.Number{X: x, Unit: signal.unit} }
		row := []table.Value{table.Text(signal.name), figure(d.Median), figure(d.Max), nil, table.Count(len(all))}
		if !signal.each {
			row[3] = figure(sum)
		}
		t.Rows = append(t.Rows, table.Row{Values: row})
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
func quality(run *result.Run) []table.Table {
	counts := table.Table{Name: "quality", Title: "Samples by verdict"}
	counts.Add("verdict", "samples")
	reasons := table.Table{Name: "reasons", Title: "Why samples are not valid"}
	reasons.Add("reason", "verdict", "samples")
	count := func(name string, n int) {
		counts.Rows = append(counts.Rows, table.Row{Values: []table.Value{table.Text(name), table.Count(n)}})
	}
	for _, verdict := range result.Verdicts {
		n := 0
		for i := range run.Samples {
			if run.Samples[i].Quality.Verdict == verdict {
				n++
			}
		}
		count(string(verdict), n)
		for _, reason := range view.Reasons(run.Samples, verdict) {
			text := reason.Text
			if reason.CPUs.Len() > 1 {
				text += " (CPUs " + reason.CPUs.String() + ")"
			}
			reasons.Rows = append(reasons.Rows, table.Row{Values: []table.Value{
				table.Text(text), table.Text(verdict), table.Count(reason.Samples),
			}})
		}
	}
	if len(run.Warmups) > 0 {
		count("warm-ups, dropped", len(run.Warmups))
	}
	return []table.Table{counts, reasons, disturbances(run)}
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
func environment(in Input) table.Table {
	run := in.Run
	t := table.Table{Name: "environment", Title: "Where, when and by what it was measured"}
	t.Add("what", "value")
	add := func(name, value string) {
		if value != "" {
			t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(name), table.Text(value)}})
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
func options(run *result.Run) table.Table {
	t := table.Table{Name: "options", Title: "What was asked"}
	t.Add("option", "value")
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
			t.Rows = append(t.Rows, table.Row{Values: []table.Value{table.Text(strings.ReplaceAll(name, "_", " ")), table.Text(value)}})
		}
	}
	return t
}

// commands returns the command that repeats one sample of each cell.
func commands(run *result.Run) table.Table {
	t := table.Table{Name: "commands", Title: "What repeats a sample of each cell"}
	t.Add("cell", "command")
	for i, title := range view.CellTitles(run) {
		if len(run.Cells[i].Command) > 0 {
			command := table.Phrase{Text: shell.Join(append([]string{"gorun"}, run.Cells[i].Command...)), Tone: table.Code}
			t.Rows = append(t.Rows, table.Row{Name: title, Values: []table.Value{table.Text(title), table.Words{command}}})
		}
	}
	return t
}
