package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/lazy"
	"gorun/internal/result"
)

// Metric finds a program's own figure in its output.
type Metric struct{ re *regexp.Regexp }

// parseMetrics reads --metric and --better.
func (f *flags) parseMetrics() error {
	if f.metric == "" {
		return nil
	}
	texts := strings.Split(f.metric, "\n")
	if len(texts) > mostMetrics {
		return hint.Usagef("--metric is given %d times: at most %d figures are judged", len(texts), mostMetrics)
	}
	directions, err := Directions(f.better, len(texts))
	if err != nil {
		return hint.Usage(err)
	}
	f.judged = experiment.ComparedBy{Column: metricColumn(0), Better: directions[0]}
	for i, text := range texts {
		metric, err := NewMetric(text)
		switch {
		case err != nil:
			return hint.Flag("metric", text, err)
		case directions[i] == "":
			return hint.Usage(ErrNoDirection)
		case i == 0:
			f.judged.Label = MetricName(text)
		default:
			f.judged.Figures = append(f.judged.Figures, result.JudgedColumn{
				Column: metricColumn(i), Label: cmp.Or(MetricName(text), fmt.Sprintf("metric %d", i+1)), Better: directions[i],
			})
		}
		f.metrics = append(f.metrics, metric)
	}
	return nil
}

// ErrNoDirection is the error of a figure without a direction.
var ErrNoDirection = errors.New("say which figure is better: --better higher, or --better lower")

// Directions returns the better direction of each of n figures, from a text of --better: one for all, or one for each, separated by
// commas or on lines of their own; "": none is given.
func Directions(text string, n int) ([]string, error) {
	if text == "" {
		return make([]string, n), nil
	}
	directions := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' })
	for i, d := range directions {
		if directions[i] = strings.TrimSpace(d); directions[i] != result.Lower && directions[i] != result.Higher {
			return nil, hint.Flag("better", d, fmt.Errorf("a direction is %s or %s", result.Higher, result.Lower))
		}
	}
	switch len(directions) {
	case 1:
		return slices.Repeat(directions, n), nil
	case n:
		return directions, nil
	}
	return nil, hint.With(fmt.Errorf("--better has %d directions, and --metric %d figures", len(directions), n),
		"give one for all, or one for each: --better higher,lower")
}

// NewMetric reads a regular expression (Go's, RE2) whose only group is the figure.
func NewMetric(re string) (Metric, error) {
	compiled, err := regexp.Compile(re)
	if of := (*syntax.Error)(nil); errors.As(err, &of) {
		err = fmt.Errorf("%s: `%s`", of.Code, of.Expr) // without the words of Go's parser
	}
	if err != nil {
		return Metric{}, fmt.Errorf("the metric %q: %w", re, err)
	}
	if n := compiled.NumSubexp(); n != 1 {
		return Metric{}, hint.With(fmt.Errorf("the metric %q has %d groups, and needs one", re, n),
			"the group matches the figure, as in 'events per second: *([0-9.]+)'; (?:…) is not counted")
	}
	return Metric{compiled}, nil
}

// beforeGroup matches the words before the only group of an expression, which may be in quotes and end in "=" or ":".
var beforeGroup = lazy.Regexp(`(?:^|[^\w\\])([A-Za-z]\w*(?:[ -][A-Za-z]\w*)*)(?:["'=:*+ ]|\\s)*\((?:[^?]|$)`)

// mostOfMetricName is how long a name may be that stands in titles.
const mostOfMetricName = 40

// MetricName returns what the figure of an expression is called: the name of its group, or the words before the group; "" if it has neither.
func MetricName(expression string) string {
	if group := result.GroupName(expression); group != "" {
		return group
	}
	if words := beforeGroup().FindAllStringSubmatch(expression, 2); len(words) == 1 && len(words[0][1]) <= mostOfMetricName {
		return words[0][1]
	}
	return ""
}

// String returns the expression.
func (m Metric) String() string { return m.re.String() }

// find returns the figure of the last match: programs that report intermediate results print the final one last.
func (m Metric) find(output []byte) (float64, error) {
	matches := m.re.FindAllSubmatchIndex(output, -1)
	if len(matches) == 0 {
		ends := "which is empty"
		if end := EndOf(output); end != "" {
			ends = fmt.Sprintf("which ends in %q", end)
		}
		return 0, hint.With(fmt.Errorf("the metric %q matches nothing in the output, %s", m, ends),
			"(?m) lets ^ and $ match at lines, (?i) ignores case")
	}
	last := matches[len(matches)-1]
	if last[2] < 0 {
		return 0, fmt.Errorf("the metric %q matches without its group", m)
	}
	if whole := wholeNumber(output, last); whole != "" {
		return 0, fmt.Errorf("the metric %q takes %.40q from the number %.40q: let its group match all of it, as ([0-9.,]+) does, "+
			"and write .*? for .* before it", m, output[last[2]:last[3]], whole)
	}
	figure, err := ParseFigure(string(output[last[2]:last[3]]))
	if err != nil {
		return 0, fmt.Errorf("the metric %q: %w", m, err)
	}
	return figure, nil
}

// mean returns the mean of the figures in what commands wrote; nil if one has none.
func (m Metric) mean(of []launch.Ending) (mean *float64, err error) {
	sum := 0.0
	for i, e := range of {
		figure, err := m.In(e)
		if err != nil && len(of) > 1 {
			err = hint.With(fmt.Errorf("copy %d: %w", i, err), hint.Of(err))
		}
		if figure == nil {
			return nil, err
		}
		if sum += *figure; err != nil {
			mean = new(sum)
			return mean, err
		}
	}
	return new(sum / float64(len(of))), nil
}

// In returns the figure in what a command wrote: to stdout, or else to stderr; nil: it is not there. The error is that it
// is not there, or that it cannot be judged.
func (m Metric) In(o launch.Ending) (*float64, error) {
	if o.Lost {
		return nil, fmt.Errorf("the command wrote more than %d MiB, which --metric does not search: let it print less", keptOutput>>20)
	}
	figure, err := m.find(o.Stdout)
	if err != nil {
		if inStderr, stderrErr := m.find(o.Stderr); stderrErr == nil || len(o.Stdout) == 0 {
			figure, err = inStderr, stderrErr
		}
	}
	if err != nil {
		return nil, err
	}
	if figure <= 0 {
		err = fmt.Errorf("the metric is %v, and only figures above 0 have a ratio", figure)
	}
	return &figure, err
}

// numbers matches each number of a text, with its separated thousands and its exponent.
var numbers = lazy.Regexp(`(?:\d{1,3}(?:(?:,\d{3})+|(?:_\d{3})+|(?:'\d{3})+)\b|\d+)(?:\.\d+)?(?:[eE][-+]?\d+\b)?`)

// wholeNumber returns the number that the group of a match cuts through; "": none. A separator that the expression itself matches
// is not part of a number: the columns 12,345 are two.
func wholeNumber(output []byte, match []int) string {
	line := bytes.LastIndexByte(output[:match[2]], '\n') + 1
	end := len(output)
	if i := bytes.IndexByte(output[match[3]:], '\n'); i >= 0 {
		end = match[3] + i
	}
	from, to := match[2]-line, match[3]-line
	text := output[line:end]
	for _, number := range numbers().FindAllIndex(text, -1) {
		before := number[0] < from && from < number[1] && (match[0] == match[2] || strings.IndexByte("0123456789.", text[from-1]) >= 0)
		after := number[0] < to && to < number[1] && (match[1] == match[3] || strings.IndexByte("0123456789", text[to]) >= 0)
		if before || after {
			return string(text[number[0]:number[1]])
		}
	}
	return ""
}

// decimal matches a decimal number, also with separated thousands, such as 1,234,567.8, 1_234 or 1'234, with the same
// separator throughout.
var decimal = lazy.Regexp(`^[-+]?(?:\d{1,3}(?:(?:,\d{3})+|(?:_\d{3})+|(?:'\d{3})+|(?: \d{3})+)|\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?$`)

// ParseFigure reads a decimal number.
func ParseFigure(text string) (float64, error) {
	text = strings.TrimSpace(text)
	figure, err := strconv.ParseFloat(strings.NewReplacer(",", "", "_", "", "'", "", " ", "").Replace(text), 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%.40q is out of range", text)
	case err != nil || !decimal().MatchString(text):
		return 0, fmt.Errorf("%.40q is not a decimal number", text)
	}
	return figure, nil
}
