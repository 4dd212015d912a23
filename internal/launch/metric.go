package launch

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/lazy"
)

// Metric finds a program's own figure in its output.
type Metric struct{ re *regexp.Regexp }

// ParseMetric reads a regular expression (Go's, RE2) whose only group is the figure.
func ParseMetric(re string) (Metric, error) {
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

// Label returns the name of the group, as in (?P<latency>[0-9.]+); "" if it has none.
func (m Metric) Label() string { return m.re.SubexpNames()[1] }

// String returns the expression.
func (m Metric) String() string { return m.re.String() }

// Find returns the figure of the last match: programs that report intermediate results print the final one last.
func (m Metric) Find(output []byte) (float64, error) {
	matches := m.re.FindAllSubmatchIndex(output, -1)
	if len(matches) == 0 {
		return 0, hint.With(fmt.Errorf("nothing in the output matches the metric %q", m),
			"look at what the command prints; (?m) lets ^ and $ match at lines, (?i) ignores case")
	}
	last := matches[len(matches)-1]
	if last[2] < 0 {
		return 0, fmt.Errorf("the metric %q matches without its group", m)
	}
	if whole := wholeNumber(output, last); whole != "" {
		return 0, fmt.Errorf("the metric %q takes %.40q from the number %.40q: let its group match all of it, as ([0-9.,]+) does, "+
			"and write .*? for .* before it", m, output[last[2]:last[3]], whole)
	}
	figure, err := parseFigure(string(output[last[2]:last[3]]))
	if err != nil {
		return 0, fmt.Errorf("the metric %q: %w", m, err)
	}
	return figure, nil
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

// grouped matches a number with separated thousands, such as 1,234,567.8, 1_234 or 1'234, with the same separator
// throughout.
var grouped = lazy.Regexp(`^[-+]?\d{1,3}(?:(?:,\d{3})+|(?:_\d{3})+|(?:'\d{3})+|(?: \d{3})+)(?:\.\d*)?(?:[eE][-+]?\d+)?$`)

// parseFigure reads a decimal number.
func parseFigure(text string) (float64, error) {
	text = strings.TrimSpace(text)
	plain := text
	if grouped().MatchString(text) {
		plain = strings.NewReplacer(",", "", "_", "", "'", "", " ", "").Replace(text)
	}
	if strings.ContainsAny(plain, "xX_pP") { // ParseFloat reads hexadecimal too
		return 0, fmt.Errorf("%.40q is not a decimal number", text)
	}
	figure, err := strconv.ParseFloat(plain, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%.40q is out of range", text)
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a decimal number", text)
	case math.IsNaN(figure) || math.IsInf(figure, 0):
		return 0, fmt.Errorf("%.40q is not a figure", text)
	}
	return figure, nil
}
