package run

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/packed"
	"gorun/internal/experiment"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// A run has the CPU time of gorun itself, without that of work in its own process.
func TestOverhead(t *testing.T) {
	const used = 50 * time.Millisecond
	for place, most := range map[experiment.Place]float64{experiment.Started: 1, experiment.Here: used.Seconds() / 2} {
		r := newTestRun(t, matrix.Turns, 1, Options{samples: 1})
		r.x.Place = place
		r.countOverhead()()
		assert.Nil(t, r.result().Overhead, "no sample was taken")
		r.result().Overhead = &result.Overhead{Seconds: 3} // before a resume
		end := r.countOverhead()
		of := linux.CountUsage()
		for {
			usage, err := of()
			require.NoError(t, err)
			if r.taker.Worked = usage.UserSeconds + usage.SystemSeconds; r.taker.Worked > used.Seconds() {
				break
			}
		}
		r.clock = r.clock.Add(2 * time.Second)
		r.result().Samples.Append(&result.Sample{})
		end()
		own := r.result().Overhead
		assert.InDelta(t, 5, own.Seconds, 1e-9)
		assert.Less(t, own.CPUSeconds, most)
		if place == experiment.Started {
			assert.Greater(t, own.CPUSeconds, used.Seconds()/2)
		}
	}
}

// It is warned of if it is a large share of the time of samples that are not short.
func TestOverheadWarns(t *testing.T) {
	for name, c := range map[string]struct {
		seconds, own, run float64
		warns             bool
	}{
		"much":          {0.03, 0.06, 1, true},
		"little":        {0.03, 0.04, 1, false},
		"short samples": {0.01, 0.9, 1, false},
		"short run":     {0.03, 0.06, 0.9, false},
	} {
		r := newTestRun(t, matrix.Turns, 1, Options{samples: 1})
		r.result().Samples = packed.Of(result.Sample{Seconds: c.seconds})
		r.warnOverhead(result.Overhead{CPUSeconds: c.own, Seconds: c.run})
		text := r.env.Stderr.(*bytes.Buffer).String()
		for _, w := range r.result().Warnings {
			text += w.Message
		}
		assert.Equal(t, c.warns, text != "", name)
		if c.warns {
			assert.Contains(t, text, "gorun itself used 60.0 ms of CPU time in 1.00 s")
		}
	}
}
