package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/experiment"
	"gorun/internal/hint"
	"gorun/internal/launch"
	"gorun/internal/result"
)

// parseMetrics reads --metric and --better.
func (f *flags) parseMetrics() error {
	if f.metric == "" {
		return nil
	}
	f.metrics = strings.Split(f.metric, "\n")
	if len(f.metrics) > mostMetrics {
		return hint.Usagef("--metric is given %d times: at most %d figures are judged", len(f.metrics), mostMetrics)
	}
	directions := strings.Split(f.better, "\n")
	if len(directions) == 1 {
		directions = slices.Repeat(directions, len(f.metrics))
	}
	if len(directions) != len(f.metrics) {
		return hint.Usagef("--better is given %d times, for %d metrics: give it once, or once for each", len(directions), len(f.metrics))
	}
	f.judged = experiment.Judged{Datum: metricColumn(0), Better: directions[0]}
	for i, text := range f.metrics {
		metric, err := launch.ParseMetric(text)
		switch {
		case err != nil:
			return hint.Flag("metric", text, err)
		case directions[i] != result.Lower && directions[i] != result.Higher:
			return hint.Usage(hint.With(errors.New("--metric needs to know whether a lower or a higher figure is better"),
				"add --better higher or --better lower"))
		case i > 0:
			f.judged.Figures = append(f.judged.Figures, result.Figure{
				Column: metricColumn(i), Label: cmp.Or(metric.Label(), fmt.Sprintf("metric %d", i+1)), Better: directions[i],
			})
		}
	}
	return nil
}
