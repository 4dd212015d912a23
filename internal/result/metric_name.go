package result

import (
	"cmp"
	"encoding/json"
	"strings"

	"gorun/internal/lazy"
)

var (
	// groupName matches the name of a group in the expression of --metric.
	groupName = lazy.Regexp(`\(\?P?<(\w+)>`)
	// beforeGroup matches the words before the only group of an expression, which may be in quotes and end in "=" or ":".
	beforeGroup = lazy.Regexp(`(?:^|[^\w\\])([A-Za-z]\w*(?:[ -][A-Za-z]\w*)*)(?:["'=:*+ ]|\\s)*\((?:[^?]|$)`)
	// seriesName matches the name of a series, and process:NAME.
	seriesName = lazy.Regexp(`^([A-Za-z_][\w:-]*)(?:\{[^()]*\})?$`)
)

// MetricName returns the name of the figure that is compared: that of the group in the expression of --metric, the words before the
// group, the name of a series, or else MetricColumn.
func (r *Run) MetricName() string {
	text := ""
	if len(r.Cells) > 0 {
		text = r.Cells[0].Flags[MetricColumn]
	}
	return nameOfMetric(cmp.Or(text, r.asked(MetricColumn)))
}

// asked returns the text of an option of the run; "" if it has none.
func (r *Run) asked(option string) string {
	options := map[string]any{}
	text, err := json.Marshal(r.Spec)
	if err != nil || json.Unmarshal(text, &options) != nil {
		return ""
	}
	value, _ := options[option].(string)
	return value
}

func nameOfMetric(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	const most = 40 // in a title
	switch group, words, series := groupName().FindStringSubmatch(first), beforeGroup().FindAllStringSubmatch(first, 2),
		seriesName().FindStringSubmatch(first); {
	case group != nil:
		return group[1]
	case strings.HasPrefix(first, "histogram_quantile("):
	case len(words) == 1 && len(words[0][1]) <= most:
		return words[0][1]
	case series != nil && len(series[1]) <= most:
		return series[1]
	}
	return MetricColumn
}
