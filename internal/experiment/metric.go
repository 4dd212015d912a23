package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/record/result"
)

// MostMetrics limits the number of figures that --metric names: each one delays all verdicts.
const MostMetrics = 4

// Metrics has the flags --metric and --better, which name the figures by which cells are compared.
type Metrics struct {
	Metric string // a line each
	Better string
}

// Register adds the flags. usage is that of --metric, and figures is what its values are to the user.
func (m *Metrics) Register(set *FlagSet, usage, figures string) {
	set.Several(&m.Metric, "metric", usage)
	set.Several(&m.Better, "better", "the better `direction` of the "+figures+": "+result.Lower+" or "+result.Higher+
		" for all, or one for each: higher,lower")
	set.Complete("better", []string{result.Lower, result.Higher})
}

// Judged is how a figure is called and judged.
type Judged struct {
	Name   string // in titles; "": it has none
	Label  string // in tables
	Better string // the direction that is known without --better; "": none
}

// Parse returns how the figures are judged. parse reads each value of --metric.
func (m *Metrics) Parse(parse func(text string) (Judged, error)) (c ComparedBy, err error) {
	if m.Metric == "" { // then it is the direction of wall time
		of, err := directions(m.Better, 1)
		if err == nil {
			c.Better = of[0]
		}
		return c, err
	}
	texts := strings.Split(m.Metric, "\n")
	if len(texts) > MostMetrics {
		return c, fmt.Errorf("--metric is given %d times: at most %d figures are judged", len(texts), MostMetrics)
	}
	directions, err := directions(m.Better, len(texts))
	if err != nil {
		return c, err
	}
	for i, text := range texts {
		of, err := parse(text)
		direction := cmp.Or(directions[i], of.Better)
		if err == nil && direction == "" {
			err = errors.New("say which figure is better: --better higher, or --better lower")
		}
		if err != nil {
			return c, hint.Flag("metric", text, err)
		}
		if i == 0 {
			c.Column, c.Label, c.Better = result.MetricColumn, of.Name, direction
			continue
		}
		c.Figures = append(c.Figures, result.JudgedFigure{Column: result.MetricColumnOf(i), Label: of.Label, Better: direction})
	}
	return c, nil
}

// directions returns the better direction of each of n figures, from a text of --better: one for all, or one for each, separated by
// commas or on lines of their own; "": none is given.
func directions(text string, n int) ([]string, error) {
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
