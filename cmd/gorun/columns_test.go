package main

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/column"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// columnLists returns the columns of all experiments, of their parts, and of runs with another name, by name.
func columnLists() map[string]column.List {
	lists := map[string]column.List{"common": column.Common()}
	for _, x := range rows {
		lists[x.Name] = x.Columns
		if x.View != nil && x.View.Parts != nil {
			lists["parts of "+x.Name] = x.View.Parts.Columns
		}
		for name, other := range x.Others {
			lists[name] = other.Columns
		}
	}
	return lists
}

func TestColumnsSayWhatTheyAre(t *testing.T) {
	unit := []column.Unit{
		column.None, column.Count, column.Large, column.Seconds, column.Nanoseconds, column.Bytes, column.PerSecond, column.Ratio,
		column.Share, column.Percent,
	}
	for name, columns := range columnLists() {
		t.Run(name, func(t *testing.T) {
			names, keys, benches := map[string]bool{}, map[string]bool{}, map[string]bool{}
			repeats := 0
			for _, c := range columns {
				assert.Regexp(t, `^[a-z][a-z0-9_]*$`, c.Name)
				assert.False(t, names[c.Name], "two columns are called %s", c.Name)
				assert.False(t, c.Key != "" && keys[c.Key], "two parts of a name are called %s", c.Key)
				assert.False(t, c.Bench != "" && benches[c.Bench], "two figures are in %s", c.Bench)
				names[c.Name], keys[c.Key], benches[c.Bench] = true, true, true
				assert.Contains(t, unit, c.Unit, c.Name)
				assert.Contains(t, []column.Direction{"", column.Lower, column.Higher}, c.Better, c.Name)
				assert.Regexp(t, `^[A-Z].*[^.]\.$`, c.Meaning, c.Name)
				for suffix, want := range map[string]column.Unit{
					"_ns": column.Nanoseconds, "_seconds": column.Seconds, "_bytes": column.Bytes, "_per_second": column.PerSecond,
				} {
					if strings.HasSuffix(c.Name, suffix) {
						assert.Equal(t, want, c.Unit, c.Name)
					}
				}
				if c.Repeats {
					repeats++
				}
			}
			assert.LessOrEqual(t, repeats, 1)
			for i, c := range columns.Leading() {
				assert.Equal(t, i+1, c.Lead, c.Name)
			}
		})
	}
}

// Each number and text of an experiment's figures has a column, and each column shows one of them. Lists are details.
func TestColumnsAreTheFigures(t *testing.T) {
	for name, columns := range columnLists() {
		t.Run(name, func(t *testing.T) {
			var figures reflect.Type
			var have []string
			for _, c := range columns {
				if of := c.Figures(); of != nil {
					require.True(t, figures == nil || figures == of, "%s is of %v, and not of %v", c.Name, of, figures)
					figures = of
					have = append(have, c.Name)
				}
			}
			if figures == nil {
				require.Equal(t, "common", name)
				return
			}
			of := details[name]
			detail := func(column string) bool {
				return slices.ContainsFunc(of, func(detail string) bool { return strings.HasPrefix(column, detail) })
			}
			have = slices.DeleteFunc(have, detail)
			slices.Sort(have)
			want := slices.DeleteFunc(figureNames("", figures), detail)
			slices.Sort(want)
			assert.Equal(t, want, have)
		})
	}
}

// details are figures that describe parts of a sample and have a table of their own. A key is the beginning of their names,
// and a value the columns that summarize them.
var details = map[string][]string{
	"numa": {
		"life_migrations_", "settled_", "settling_", "touched_pages", "unread_",
		"buffer_faults", "buffer_pages_moved", "mem_node_share", "numa_pages_migrated", "numa_preferred_nid", "numa_scan_seq",
	},
}

// figureNames returns the names that figures have in JSON. Names of a struct's fields follow the name of the struct.
func figureNames(prefix string, figures reflect.Type) (names []string) {
	for field := range figures.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		of := field.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case of.Kind() == reflect.Slice:
		case of.Kind() != reflect.Struct:
			names = append(names, prefix+name)
		case field.Anonymous:
			names = append(names, figureNames(prefix, of)...)
		default:
			names = append(names, figureNames(prefix+name+"_", of)...)
		}
	}
	return names
}

// The compared figure is a column with a unit of time, or the user's own figure.
func TestComparedColumns(t *testing.T) {
	for _, x := range rows {
		if x.Datum != "" {
			c, found := x.Columns.Find(x.Datum)
			require.True(t, found, x.Name)
			assert.Equal(t, column.Nanoseconds, c.Unit, x.Name)
			assert.Equal(t, column.Lower, c.Better, x.Name)
		}
		if x.View != nil && x.View.Compared.Figure.Name != "" {
			assert.NotEmpty(t, x.View.Compared.Figure.Label, x.Name)
		}
	}
}

// The header of CSV begins with the leading columns, even for a run without figures.
func TestHeaderOfCSV(t *testing.T) {
	views := render.Views(rows)
	for _, x := range rows {
		columns := x.Columns
		if x.View != nil && x.View.Parts != nil {
			columns = x.View.Parts.Columns
		}
		var out bytes.Buffer
		run := &result.Run{Experiment: x.Name, Samples: []result.Sample{{}}}
		require.NoError(t, views.CSV(&out, run, term.Options{}))
		lines, err := csv.NewReader(&out).ReadAll()
		require.NoError(t, err)
		for i, c := range columns.Leading() {
			assert.Equal(t, c.Name, lines[0][i], x.Name)
		}
		assert.Equal(t, "index", lines[0][len(columns.Leading())], x.Name)
	}
}

// CPU time is judged where a sample is a fixed amount of work. For a sample of a fixed duration it means nothing, and judging
// a second figure only delays the verdicts on the first.
func TestJudgedColumns(t *testing.T) {
	judged := map[string][]string{}
	for _, x := range rows {
		for _, figure := range x.Figures(x.Datum) {
			c, found := x.Columns.Find(figure.Column)
			require.True(t, found, figure.Column)
			assert.Equal(t, c.Label, figure.Label)
			assert.NotEmpty(t, figure.Label)
			judged[x.Name] = append(judged[x.Name], figure.Column)
		}
		assert.Empty(t, x.Figures(result.DatumMetric), "a command that prints a metric may run for a fixed time")
	}
	assert.Equal(t, map[string][]string{
		"primes": {"cpu_seconds"}, "exec": {"cpu_seconds"}, "pair": {"cpu_ns_per_loop"},
	}, judged)
}
