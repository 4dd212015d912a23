// Package printed finds the figures that programs print, with their units.
package printed

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// Metric finds a program's own figure in its output.
type Metric struct{ re *regexp.Regexp }

// Kept is how many bytes of the end of an output are searched.
const Kept = 16 << 20

// Compile reads a regular expression (Go's, RE2).
func Compile(re string) (*regexp.Regexp, error) {
	compiled, err := regexp.Compile(re)
	if of := (*syntax.Error)(nil); errors.As(err, &of) {
		err = fmt.Errorf("%s: `%s`", of.Code, of.Expr) // without the words of Go's parser
	}
	return compiled, err
}

// New reads a regular expression whose only group is the figure.
func New(re string) (Metric, error) {
	compiled, err := Compile(re)
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

// longestName is how long a name may be that stands in titles.
const longestName = 40

// Name returns what the figure of an expression is called: the name of its group, or the words before the group; "" if it has neither.
func Name(expression string) string {
	if group := result.GroupName(expression); group != "" {
		return group
	}
	if words := beforeGroup().FindAllStringSubmatch(expression, 2); len(words) == 1 && len(words[0][1]) <= longestName {
		return words[0][1]
	}
	return ""
}

// String returns the expression.
func (m Metric) String() string { return m.re.String() }

// find returns the figure of the last match: programs that report intermediate results print the final one last.
func (m Metric) find(output []byte) (units.Printed, error) {
	matches := m.re.FindAllSubmatchIndex(output, -1)
	if len(matches) == 0 {
		ends := "which is empty"
		if end := launch.EndOf(output); end != "" {
			ends = fmt.Sprintf("which ends in %q", end)
		}
		return units.Printed{}, hint.With(fmt.Errorf("the metric %q matches nothing in the output, %s", m, ends),
			"(?m) lets ^ and $ match at lines, (?i) ignores case")
	}
	figure, err := FigureIn(output, matches[len(matches)-1], 1)
	if err != nil {
		err = fmt.Errorf("the metric %q %w", m, err)
	}
	return figure, err
}

// Mean returns the mean of the figures in what commands wrote, in the unit of the first; nil if one has none.
func (m Metric) Mean(of []launch.Ending) (mean *units.Printed, err error) {
	sum := units.Printed{}
	for i, e := range of {
		figure, err := m.In(e)
		if figure != nil && i == 0 {
			sum.Unit = figure.Unit
		}
		if figure != nil && err == nil {
			*figure, err = figure.In(sum.Unit)
		}
		if err != nil && len(of) > 1 {
			err = hint.With(fmt.Errorf("copy %d: %w", i, err), hint.Of(err))
		}
		if figure == nil {
			return nil, err
		}
		if sum.Value += figure.Value; err != nil {
			return &sum, err
		}
	}
	sum.Value /= float64(len(of))
	return &sum, nil
}

// In returns the figure in what a command wrote: to stdout, or else to stderr; nil: it is not there. The error is that it
// is not there, or that it cannot be judged.
func (m Metric) In(o launch.Ending) (*units.Printed, error) {
	if o.Lost {
		return nil, fmt.Errorf("the command wrote more than %d MiB, which --metric does not search: let it print less", Kept>>20)
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
	if figure.Value <= 0 {
		err = fmt.Errorf("the metric is %v, and only figures above 0 have a ratio", figure.Value)
	}
	return &figure, err
}

// FigureIn returns the figure that a group of a match in a text has, with its unit. That is in the group, or directly after it, or
// it is a known one after a space, or one in brackets before the group, as in "lat (usec): avg=12". The error continues a sentence about the
// expression.
func FigureIn(text []byte, match []int, group int) (figure units.Printed, err error) {
	from, to := match[2*group], match[2*group+1]
	if from < 0 {
		return figure, errors.New("matches without its group")
	}
	if whole := wholeNumber(text, match, from, to); whole != "" {
		return figure, fmt.Errorf("takes %.40q from the number %.40q: let its group match all of it, as ([0-9.,]+) does, "+
			"and write .*? for .* before it", text[from:to], whole)
	}
	figure, err = Parse(string(text[from:to]))
	if err != nil {
		return figure, fmt.Errorf("finds no figure: %w", err)
	}
	before, after := text[match[0]:from], text[to:]
	if figure.Unit == "" {
		figure.Unit = unitBetween(before, after)
	}
	if minutesBefore().Match(text[:from]) && units.Known(figure.Unit) || to == match[1] && secondsAfter().Match(after) {
		return figure, fmt.Errorf("takes %.40q from a time of several parts: let its group match all of them, as ([0-9hms.]+) does", text[from:to])
	}
	return figure, nil
}

// Parts of a time that is written as 1m2.5s, before the last and after the first of them. No minutes are no part.
var (
	minutesBefore = lazy.Regexp(`[1-9][0-9]*[hm]$`)
	secondsAfter  = lazy.Regexp(`^[hm][0-9]`)
)

// Words after a figure, and the last one in brackets before it.
var (
	attached   = lazy.Regexp(`^[\pL%][\pL%/]{0,30}`)
	wordAfter  = lazy.Regexp(`^ ?[[(]?([\pL%][\pL%/]*)(?:[^\pL%/0-9_]|$)`)
	inBrackets = lazy.Regexp(`[[(]([\pL%/]+)[])][^])\n]*$`)
)

// unitBetween returns the unit of a figure between the text before and that after it: an unknown one only if it is attached to the figure.
func unitBetween(before, after []byte) string {
	if word := attached().Find(after); word != nil {
		return string(word)
	}
	if word := wordAfter().FindSubmatch(after); word != nil && units.Known(string(word[1])) {
		return string(word[1])
	}
	if word := inBrackets().FindSubmatch(before); word != nil && units.Known(string(word[1])) {
		return string(word[1])
	}
	return ""
}

// numbers matches each number of a text, with its separated thousands and its exponent.
var numbers = lazy.Regexp(`(?:\d{1,3}(?:(?:,\d{3})+|(?:_\d{3})+|(?:'\d{3})+)\b|\d+)(?:\.\d+)?(?:[eE][-+]?\d+\b)?`)

// wholeNumber returns the number that the group of a match cuts through; "": none. A separator that the expression itself matches
// is not part of a number: the columns 12,345 are two.
func wholeNumber(output []byte, match []int, from, to int) string {
	line := bytes.LastIndexByte(output[:from], '\n') + 1
	end := len(output)
	if i := bytes.IndexByte(output[to:], '\n'); i >= 0 {
		end = to + i
	}
	begins, ends := match[0] == from, match[1] == to
	from, to = from-line, to-line
	text := output[line:end]
	for _, number := range numbers().FindAllIndex(text, -1) {
		before := number[0] < from && from < number[1] && (begins || strings.IndexByte("0123456789.", text[from-1]) >= 0)
		after := number[0] < to && to < number[1] && (ends || strings.IndexByte("0123456789", text[to]) >= 0)
		if before || after {
			return string(text[number[0]:number[1]])
		}
	}
	return ""
}

// decimal matches a decimal number, also with separated thousands, such as 1,234,567.8, 1_234 or 1'234, with the same
// separator throughout.
var decimal = lazy.Regexp(`^[-+]?(?:\d{1,3}(?:(?:,\d{3})+|(?:_\d{3})+|(?:'\d{3})+|(?: \d{3})+)|\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?$`)

// Parse reads a decimal number that may have a unit, or a time of several parts as 1m2.5s.
func Parse(text string) (figure units.Printed, err error) {
	text = strings.TrimSpace(text)
	number := strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsLetter(r) || r == '%' || r == '/' })
	figure.Unit = text[len(number):]
	number = strings.TrimSpace(number)
	figure.Value, err = strconv.ParseFloat(strings.NewReplacer(",", "", "_", "", "'", "", " ", "").Replace(number), 64)
	if several, notOne := time.ParseDuration(text); err != nil && notOne == nil {
		return units.Printed{Value: several.Seconds(), Unit: "s"}, nil
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return figure, fmt.Errorf("%.40q is out of range", text)
	case err != nil || !decimal().MatchString(number):
		return figure, fmt.Errorf("%.40q is not a decimal number", text)
	}
	return figure, nil
}
