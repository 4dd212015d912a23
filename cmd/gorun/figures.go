package main

import (
	"fmt"
	"slices"
	"strings"

	"gorun/internal/record/column"
)

const figuresIntro = "What does gorun measure, in which unit, and under which name?\n\n" +
	"A figure of an experiment is `samples[].values.NAME` in JSON and in a journal, and a column in CSV. It is in the unit after its\n" +
	"name, and not scaled or rounded; a share is a part of 1. A figure that is not known is absent or null in JSON, and empty in CSV.\n\n" +
	"- In JSON, figures that belong together are an object: `one_way_ns_min` is `.values.one_way_ns.min`, and\n" +
	"  `buffer_faults` is `.values.settled.buffer_faults`.\n" +
	"- A figure of each CPU or node has a column for each of them: `cpu_share_3` is `.values.cpu_share.\"3\"`.\n" +
	"- The figures of every experiment have other places in JSON, such as `samples[].seconds`, `.quality.signals.migrations` and\n" +
	"  `.workers.imbalance`: see `gorun help schema`. CPU time is the sum of user and system time.\n" +
	"- In CSV, a figure with the same name as one of every experiment is called `values.NAME`.\n" +
	"- `gorun exec --metric REGEX` finds further figures in the output of a command: `metric`, `metric_2` and so on.\n"

// figuresTopic describes the figures of all experiments, from their columns.
func figuresTopic() topic {
	var text strings.Builder
	text.WriteString(figuresIntro)
	common := column.Common()
	section := func(title string, columns, without column.List) {
		fmt.Fprintf(&text, "\n## %s\n\n| figure | meaning |\n| --- | --- |\n", title)
		for _, c := range columns {
			if _, listed := without.Find(c.Name); listed {
				continue
			}
			unit := ""
			if !slices.Contains([]column.Unit{column.None, column.Count, column.Large}, c.Unit) {
				unit = " (" + string(c.Unit) + ")"
			}
			fmt.Fprintf(&text, "| `%s`%s | %s |\n", c.Name, unit, c.Meaning)
		}
	}
	section("Every experiment", common, nil)
	for _, x := range views {
		section(strings.TrimSuffix(x.Name+": "+x.Question, ": "), x.Columns, common)
		if x.View != nil && x.View.Parts != nil {
			section(x.Name+": the rows of CSV", x.View.Parts.Columns, common)
		}
	}
	return topic{name: "figures", title: "The figures that gorun measures", text: text.String()}
}
