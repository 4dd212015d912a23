package report

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/apply"
	"gorun/internal/show/view"
)

// disturbances summarises the disturbances of the samples. Those that no sample has, and those that are not known, are named
// below the table.
func disturbances(run *result.Run) table.Table {
	t := table.Table{Name: "disturbances", Title: "What disturbed the samples", Columns: []table.Column{
		{Title: "disturbance"}, {Title: "median of a sample", Apart: true}, {Title: "samples that know it"},
	}}
	var none, unknown []string
	negative := false
	signals := slices.DeleteFunc(slices.Clone(column.Signals), func(c column.Column) bool { return c.Hidden })
	spreads, known := view.SpreadsOf(run.Samples, signals...)
	for i, spread := range spreads {
		switch name := signals[i].Label; {
		case known[i] == 0:
			unknown = append(unknown, name)
		case spread.Least == 0 && spread.Most == 0 && known[i] == run.Samples.Len():
			none = append(none, name)
		default:
			negative = negative || spread.Least < 0
			t.AddRow(table.Text(name), spread, table.Count(known[i]))
		}
	}
	for _, note := range []struct {
		begins string
		names  []string
	}{{"None: ", none}, {"Not known: ", unknown}} {
		if len(note.names) > 0 {
			t.Notes = append(t.Notes, note.begins+strings.Join(note.names, ", ")+".")
		}
	}
	if negative {
		t.Notes = append(t.Notes, "A time below zero is within the error of the kernel's accounts.")
	}
	return t
}

// environment returns the known fields of the host, and the tool.
func environment(in Input) table.Table {
	run := in.Run
	t := table.Table{Name: "environment", Title: "Where, when and by what it was measured"}
	t.Add("what", "value")
	add := func(name, value string) {
		if value != "" {
			t.AddRow(table.Text(name), table.Text(value))
		}
	}
	add("file", filepath.Base(in.File))
	add("started", run.Started)
	host := reflect.ValueOf(run.Host)
	for i := range host.NumField() {
		tag := host.Type().Field(i).Tag
		key, _, _ := strings.Cut(tag.Get("json"), ",")
		label := cmp.Or(tag.Get("label"), strings.ReplaceAll(key, "_", " "))
		field := reflect.Indirect(host.Field(i))
		if !field.IsValid() || field.IsZero() || label == "-" {
			continue
		}
		value := fmt.Sprint(field)
		if strings.HasSuffix(key, "_bytes") {
			value = units.Bytes(field.Uint())
		}
		if list, ok := field.Interface().([]string); ok {
			value = strings.Join(list, ", ")
		}
		add(label, value)
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
	spec := view.OptionsOf(run.Spec)
	for _, name := range spec.Names() {
		name, value := strings.ReplaceAll(name, "_", " "), spec.Text(name)
		t.AddRow(table.Text(name), table.Text(value))
	}
	return t
}

// commands returns the command that repeats one sample of each cell, and the ways to have its setting. Those of a search differ only in
// their revisions.
func commands(run *result.Run) table.Table {
	if run.Matrix != nil && run.Matrix.History != nil {
		return table.Table{}
	}
	titles := view.CellTitles(run)
	var cells []int
	for i := range run.Cells {
		if len(run.Cells[i].Command) > 0 {
			cells = append(cells, i)
		}
	}
	rows := table.Of(cells).
		With("cell", func(i int) table.Value { return table.Text(titles[i]) }).
		With("command", func(i int) table.Value {
			return table.Phrases{{Text: shell.Join(append([]string{"gorun"}, run.Cells[i].Command...)), Tone: table.Code}}
		})
	for _, way := range apply.Ways {
		if way.Name == "gorun" || way.Name == "go" {
			continue // the command is gorun's already; the lines of a program are no line of a table
		}
		rows = rows.With(way.Name, func(i int) table.Value {
			if lines := run.Cells[i].Lines; lines != nil {
				return table.Text(strings.Join(way.Brief(lines), "; "))
			}
			return table.Text("")
		})
	}
	t := rows.Table("commands", "Commands for each cell")
	for n, i := range cells {
		t.Rows[n].Name = titles[i]
	}
	return t
}
