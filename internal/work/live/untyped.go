package live

import (
	"fmt"
	"math"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/record/result"
)

// moves is how a series of an unknown type has moved during the run: a counter only rises. Such a series is read as a gauge once it has
// fallen, and where it stands still; what it has in a block in which it only rose is not known.
type moves struct {
	known      bool // it has a last value
	last       float64
	rose, fell bool // ever
	rises      bool // it rose to the last value
}

// add adds a value.
func (o *moves) add(value float64) {
	o.rises = o.known && value > o.last
	o.rose, o.fell = o.rose || o.rises, o.fell || o.known && value < o.last
	if !math.IsNaN(value) {
		o.known, o.last = true, value
	}
}

// only reports whether the series has risen and never fallen: it may be a counter.
func (o *moves) only() bool { return o.rose && !o.fell }

// noteMoves notes how series of unknown types moved up to the end of a block.
func (s *sampler) noteMoves(b block) {
	for i, m := range s.metrics {
		if m.series == nil || m.quantile > 0 || m.as != "" {
			continue
		}
		for _, scrape := range b.scrapes {
			if of, err := scrape.Find(*m.series); err == nil && of.Type == "" {
				s.moves[i].add(of.Value)
			}
		}
	}
}

// askTypes is the error of a series of which the user has to say whether it is a counter.
func (s *sampler) askTypes() error {
	for i, m := range s.metrics {
		if s.moves[i].only() {
			return hint.Flag("metric", m.text, untyped(m))
		}
	}
	return nil
}

// untypedWarnings warn of series that the samples took as gauges where they stood still, and that only rose between these.
func (s *sampler) untypedWarnings() (warnings []result.Warning) {
	for i, m := range s.metrics {
		if s.moves[i].only() && s.blocks > 0 {
			err := untyped(m)
			warnings = append(warnings, result.Warning{
				Code: "unknown-type", Message: err.Error() + ": blocks in which it stood still are judged as those of a gauge", Hint: hint.Of(err),
			})
		}
	}
	return warnings
}

// untyped is the error of a series that may be a counter, or a gauge that happens to rise.
func untyped(m metric) error {
	return hint.With(fmt.Errorf("%s only rose, and the endpoint does not give its type", m.series),
		fmt.Sprintf("give --metric %s if it counts something, or --metric %s if it may also fall",
			shell.Quote(fmt.Sprintf("rate(%s)", m.series)), shell.Quote(fmt.Sprintf("gauge(%s)", m.series))))
}
