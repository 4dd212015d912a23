package result

import (
	"cmp"
	"strings"

	"gorun/internal/base/lazy"
)

// groupName matches the name of a group in the expression of --metric.
var groupName = lazy.Regexp(`\(\?P?<(\w+)>`)

// GroupName returns the name of the first group in an expression that has one; "": none has.
func GroupName(expression string) string {
	if group := groupName().FindStringSubmatch(expression); group != nil {
		return group[1]
	}
	return ""
}

// MetricName returns the name of the metric that is compared.
func (r *Run) MetricName() string {
	name := ""
	if len(r.Cells) > 0 { // of a run that has no label
		first, _, _ := strings.Cut(r.Cells[0].Flags[MetricColumn], "\n")
		name = GroupName(first)
	}
	if r.Matrix != nil {
		name = cmp.Or(r.Matrix.Label, name)
	}
	return cmp.Or(name, MetricColumn)
}
