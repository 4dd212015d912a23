package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gorun/internal/render/view"
	"gorun/internal/result"
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
	{"steal by the hypervisor", units.Seconds, func(s *result.Signals) *float64 { return s.StealSeconds }, false},
	{"other programs", units.Seconds, func(s *result.Signals) *float64 { return s.OtherSeconds }, false},
	{"waiting for a CPU", units.Seconds, func(s *result.Signals) *float64 { return s.RunQueueSeconds }, false},
	{"throttled by the quota", units.Seconds, func(s *result.Signals) *float64 { return s.ThrottledSeconds }, false},
	{"CPU pressure", units.Seconds, func(s *result.Signals) *float64 { return s.CPUPressureSeconds }, false},
	{"stopped by a signal", units.Seconds, func(s *result.Signals) *float64 { return s.StoppedSeconds }, false},
	{"machine suspended", units.Seconds, func(s *result.Signals) *float64 { return s.SuspendedSeconds }, false},
	{"migrations", units.Count, func(s *result.Signals) *float64 { return number(s.Migrations) }, false},
	{"voluntary switches", units.Count, func(s *result.Signals) *float64 { return number(s.VoluntarySwitches) }, false},
	{
		"involuntary switches", units.Count,
		func(s *result.Signals) *float64 { return number(s.InvoluntarySwitches) }, false,
	},
	{"minor page faults", units.Count, func(s *result.Signals) *float64 { return number(s.MinorFaults) }, false},
	{"major page faults", units.Count, func(s *result.Signals) *float64 { return number(s.MajorFaults) }, false},
	{"a fixed loop before the sample", units.Seconds, func(s *result.Signals) *float64 { return s.CanarySeconds }, true},
	{"clock, MHz", units.Digits, func(s *result.Signals) *float64 { return s.MHz }, true},
}

func number(n *uint64) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

// disturbances summarises the disturbances of the samples. One that no sample has is shown as not known, not as zero.
func disturbances(run *result.Run) table {
	t := table{
		Name: "disturbances", Caption: "What disturbed the samples",
		Head: headings("disturbance", "#median of a sample", "#greatest", "#in all", "#samples that know it"),
	}
	for _, signal := range signals {
		var all []float64
		sum := 0.0
		for i := range run.Samples {
			if x := signal.of(&run.Samples[i].Quality.Signals); x != nil {
				all = append(all, *x)
				sum += *x
			}
		}
		row := []cell{words(signal.name), words("not known"), {}, {}, counted(len(all))}
		if len(all) > 0 {
			d := result.Distribute(all)
			row[1], row[2] = figured(d.Median, signal.show), figured(d.Max, signal.show)
			if !signal.each {
				row[3] = figured(sum, signal.show)
			}
		}
		t.Rows = append(t.Rows, row)
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
			switch {
			case reason.CPUs.Len() > 1:
				text += " (and alike, CPUs " + reason.CPUs.String() + ")"
			case reason.Alike:
				text += " (and alike)"
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

// environment returns the known fields of the host and of the tool.
func environment(in Input) table {
	run := in.Run
	t := table{Name: "environment", Caption: "Where, when and by what it was measured", Head: headings("what", "value")}
	t.Rows = append(t.Rows, []cell{words("file"), words(in.File)}, []cell{words("started"), words(run.Started)})
	t.Rows = append(t.Rows, fields("", run.Host)...)
	t.Rows = append(t.Rows, fields("tool: ", run.Tool)...)
	t.Rows = append(t.Rows, []cell{words("seed"), words(fmt.Sprint(run.Seed))})
	return t
}

// fields returns the fields of a struct that are not zero, by their JSON names.
func fields(prefix string, of any) (rows [][]cell) {
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := reflect.Indirect(v.Field(i))
		if !field.IsValid() || field.IsZero() {
			continue
		}
		rows = append(rows, []cell{words(prefix + strings.ReplaceAll(name, "_", " ")), words(fmt.Sprint(field))})
	}
	return rows
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
	t := table{Name: "commands", Caption: "What repeats a sample of each cell", Head: headings("cell", "command")}
	for i, title := range view.CellTitles(run) {
		if len(run.Cells[i].Command) > 0 {
			t.Rows = append(t.Rows, []cell{words(title), {Text: commandLine(run.Cells[i].Command), Class: "code"}})
		}
	}
	return t
}

// unquoted holds the characters that are not special in a shell.
const unquoted = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%"

// commandLine returns a command line quoted for a shell (POSIX, Shell Command Language, 2.2).
func commandLine(args []string) string {
	list := []string{"gorun"}
	for _, arg := range args {
		plain := arg != "" && strings.IndexFunc(arg, func(r rune) bool {
			return !strings.ContainsRune(unquoted, r)
		}) < 0
		if !plain {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		list = append(list, arg)
	}
	return strings.Join(list, " ")
}
