package live

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/experiment"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/sample/printed"
)

// metric is a judged figure: where it comes from. One of own, series, lines and whole is set.
type metric struct {
	experiment.Judged
	text   string // as it was given
	own    *ownFigure
	series *metrics.Selector // of the endpoint
	as     metrics.Type      // as which the series is read; "": as of its own type
	lines  *regexp.Regexp    // of the load's lines
	whole  *printed.Metric   // of the whole output of a load that runs once in each block

	quantile float64 // of a histogram; 0: it is no quantile
}

// ownFigure is a figure of the program's threads, as process:NAME.
type ownFigure struct {
	name, usage string
	counts      int // that it needs
	of          func(*Figures) *float64
}

// Entry implements catalog.Entry.
func (f ownFigure) Entry() (name, usage string) { return f.name, f.usage }

var ownFigures = []ownFigure{
	{"cpu", "CPU time over wall time", processes, func(f *Figures) *float64 { return f.CPU }},
	{"run-queue", "waiting for a CPU", turns, func(f *Figures) *float64 { return f.RunQueue }},
	{"switches", "turns on a CPU a second", turns, func(f *Figures) *float64 { return f.Turns }},
	{"migrations", "moves between CPUs a second", migrations, func(f *Figures) *float64 { return f.Migrations }},
}

// ownPrefix begins the name of such a figure.
const ownPrefix = "process:"

var quantileText = lazy.Regexp(`^histogram_quantile\(\s*([0-9.]+)\s*,\s*(.+)\)$`)

var typedText = lazy.Regexp(`^(rate|gauge)\(\s*(.+)\)$`)

// parseMetric reads one --metric.
func (s *Source) parseMetric(text string) (m metric, err error) {
	if name, own := strings.CutPrefix(text, ownPrefix); own {
		i := slices.IndexFunc(ownFigures, func(f ownFigure) bool { return f.name == name })
		if i < 0 {
			return m, fmt.Errorf("there is no figure %s%s: there are %s", ownPrefix, name, catalog.List(ownFigures))
		}
		return metric{Judged: experiment.Judged{Name: text, Label: text, Better: result.Lower}, own: &ownFigures[i]}, nil
	}
	selector, as := text, metrics.Type("")
	if parts := quantileText().FindStringSubmatch(text); parts != nil {
		m.quantile, err = strconv.ParseFloat(parts[1], 64)
		if err != nil || m.quantile <= 0 || m.quantile >= 1 {
			return m, errors.New("a quantile is between 0 and 1")
		}
		selector, m.Better, m.Label = parts[2], result.Lower, text+", without queueing before the handler"
	} else if parts := typedText().FindStringSubmatch(text); parts != nil {
		selector = parts[2]
		as = map[string]metrics.Type{"rate": metrics.Counter, "gauge": metrics.Gauge}[parts[1]]
	}
	if s.url != "" {
		if of, err := metrics.ParseSelector(selector); err == nil {
			m.series, m.as, m.Label, m.Name = &of, as, cmp.Or(m.Label, text), of.Name
			switch {
			case m.quantile > 0:
				of.Name = strings.TrimSuffix(of.Name, "_bucket") // as Prometheus writes it
				m.Name = fmt.Sprintf("p%g of %s", 100*m.quantile, of.Name)
			case as == metrics.Counter:
				m.Name = "rate of " + of.Name
			}
			return m, nil
		} else if m.quantile > 0 || s.load == "" {
			return m, err
		}
	}
	if s.load == "" {
		return m, hint.With(errors.New("it is neither a metric of an endpoint nor process:NAME, and there is no load whose lines it matches"),
			"add --metric-url URL or --load 'COMMAND'")
	}
	if s.perBlock {
		of, err := printed.New(text)
		return metric{Judged: experiment.Judged{Name: printed.Name(text), Label: text}, whole: &of}, err
	}
	if m.lines, err = printed.Compile(text); err != nil {
		return m, err
	}
	figures := m.lines.NumSubexp() - min(1, m.lines.SubexpIndex(timeGroup)+1)
	if figures > 1 {
		return m, hint.With(fmt.Errorf("it has %d groups", figures),
			"one group is the figure of a line, and none counts lines; (?P<time>…) may be the line's time, and (?:…) is no group")
	}
	if m.Label, m.Name = text, "lines a second"; figures > 0 {
		m.Name = printed.Name(strings.Replace(text, "<"+timeGroup+">", "", 1))
	}
	return m, nil
}

// timeGroup is the name of the group that matches a line's time: seconds since 1970, with a fraction, or with the microseconds after a
// space, as in the log of pgbench.
const timeGroup = "time"

var errNotFinite = errors.New("only finite figures are compared")

// checkFigure returns the error of a figure that cannot be compared.
func checkFigure(m metric, figure float64) error {
	switch {
	case math.IsNaN(figure) || math.IsInf(figure, 0):
		return fmt.Errorf("%s is %v: %w", m.text, figure, errNotFinite)
	case figure > 0:
		return nil
	}
	err := fmt.Errorf("%s is %v: only figures above 0 are compared", m.text, figure)
	if figure == 0 {
		err = hint.With(err, "put load on the program: --load 'COMMAND', or a client that runs")
	}
	return err
}
