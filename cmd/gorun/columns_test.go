package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// columnLists returns the columns of all experiments and of their parts, by name.
func columnLists() map[string]column.List {
	lists := map[string]column.List{"common": column.Common()}
	for _, x := range views {
		lists[x.Name] = x.Columns
		if x.View != nil && x.View.Parts != nil {
			lists["parts of "+x.Name] = x.View.Parts.Columns
		}
	}
	return lists
}

// Columns have different names and places, and units as their names say. A help topic has them all.
func TestColumns(t *testing.T) {
	units := map[string]column.Unit{
		"_ns": column.Nanoseconds, "_seconds": column.Seconds, "_bytes": column.Bytes, "_per_second": column.PerSecond,
	}
	topic := figuresTopic().text
	for name, columns := range columnLists() {
		t.Run(name, func(t *testing.T) {
			have := map[string]bool{}
			for _, c := range columns {
				assert.Regexp(t, `^[a-z][a-z0-9_]*$`, c.Name)
				assert.Regexp(t, `^[A-Z].*[^.]\.$`, c.Meaning, c.Name)
				assert.Regexp(t, "(?m)^\\| `"+c.Name+"`.* "+regexp.QuoteMeta(c.Meaning)+" \\|$", topic)
				for suffix, want := range units {
					if strings.HasSuffix(c.Name, "bytes"+suffix) {
						want = column.BytesPerSecond
					}
					assert.True(t, !strings.HasSuffix(c.Name, suffix) || c.Unit == want, "the unit of %s", c.Name)
				}
				for what, is := range map[string]string{"name": c.Name, "key": c.Key, "bench": c.Bench} {
					assert.False(t, is != "" && have[what+is], "two columns have the %s %s", what, is)
					have[what+is] = true
				}
				assert.False(t, c.Repeats && have["repeats"], "two columns are repetitions")
				have["repeats"] = have["repeats"] || c.Repeats
			}
			for i, c := range columns.Leading() {
				assert.Equal(t, i+1, c.CSV, c.Name)
			}
		})
	}
}

// The compared figure is a column with a unit of time, or the user's own figure.
func TestComparedColumns(t *testing.T) {
	for _, x := range rows {
		if x.Compared != "" {
			c := x.Columns.Get(x.Compared)
			assert.Equal(t, column.Nanoseconds, c.Unit, x.Name)
			assert.Equal(t, column.Lower, c.Better, x.Name)
		}
	}
}

// CPU time is judged where a sample is a fixed amount of work. For a sample of a fixed duration it means nothing, and judging
// a second figure only delays the verdicts on the first.
func TestJudgedColumns(t *testing.T) {
	judged := map[string][]string{}
	for _, x := range rows {
		for _, figure := range x.JudgedColumns(x.Compared) {
			judged[x.Name] = append(judged[x.Name], figure.Column)
		}
		assert.Empty(t, x.JudgedColumns(result.MetricColumn), "a command that prints a metric may run for a fixed time")
	}
	assert.Equal(t, map[string][]string{
		"primes": {"cpu_seconds"}, "exec": {"cpu_seconds"}, "pair": {"cpu_ns_per_loop"},
	}, judged)
}
