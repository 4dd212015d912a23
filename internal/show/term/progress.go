package term

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
)

// drawEvery bounds what progress costs the run: four draws a second.
const drawEvery = 250 * time.Millisecond

// Progress is the line on a terminal that tells how far a run is: what runs, the time that is left, the sample, numbers
// tested of those planned, and threads.
type Progress struct {
	What     string              // what runs, "primes (brute)"
	Now      func() string       // what of it runs at this moment, "xadd on 4 CPUs"; nil or "": no more is told
	Live     func() result.State // read at each draw, from a goroutine of its own
	Planned  uint64              // numbers to test in all samples and warm-ups; 0: not known
	Duration time.Duration       // how long the run goes on by the clock; 0: until the work is done
}

// Start draws the line on w at most four times a second, until stop is called; stop returns when the line is erased and
// nothing more will be written, so that what is printed next stands on a clean line. It may be called more than once.
// Without a terminal nothing is ever written. A run that ends before the first draw leaves no trace.
func (p Progress) Start(w io.Writer, opts Options) (stop func()) {
	if !opts.Terminal {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		p.draw(w, opts, quit)
	}()
	return sync.OnceFunc(func() {
		close(quit)
		<-done
	})
}

func (p Progress) draw(w io.Writer, opts Options, quit <-chan struct{}) {
	ticker := time.NewTicker(drawEvery)
	defer ticker.Stop()
	began := time.Now()
	var drawn drawn
	for !drawn.gone {
		select {
		case <-quit:
			drawn.erase(w, opts)
			return
		case <-ticker.C:
			opts = opts.now()
			drawn.draw(w, opts, Clean(p.line(p.Live(), time.Since(began), opts)))
		}
	}
}

// line is the text of one draw, with what matters most first: a narrow terminal cuts its end, and before that the name of what runs.
func (p Progress) line(live result.State, elapsed time.Duration, opts Options) string {
	parts, now := []string{p.What}, ""
	if p.Now != nil {
		now = p.Now()
	}
	if now != "" {
		parts[0] += ": "
	}
	fraction, known := p.fraction(live, elapsed)
	if known {
		parts = append(parts, fmt.Sprintf("%.0f %%", 100*fraction))
		if fraction > 0 {
			left := time.Duration(float64(elapsed) * (1 - fraction) / fraction)
			parts = append(parts, left.Round(time.Second).String()+" left")
		}
	} else {
		parts = append(parts, elapsed.Round(time.Second).String())
	}
	// The sample that runs is the one after those that are done; at the very end there is none.
	switch running := live.Totals.Samples + 1; {
	case live.Extent.Samples > 1:
		parts = append(parts, fmt.Sprintf("sample %d/%d", min(running, live.Extent.Samples), live.Extent.Samples))
	case live.Extent.Samples == 0 && live.Totals.Samples > 0:
		parts = append(parts, fmt.Sprintf("sample %d", running))
	}
	switch numbers := units.Large(float64(live.NumbersTested)); {
	case p.Planned > 0:
		parts = append(parts, numbers+" of "+units.Large(float64(p.Planned))+" numbers")
	case live.NumbersTested > 0:
		parts = append(parts, numbers+" numbers")
	}
	if live.Threads > 0 {
		parts = append(parts, fmt.Sprintf("%d threads", live.Threads))
	}
	return fitted(parts, 0, now, opts)
}

// fitted joins the parts of a line. A name at the end of one of them gives way to the others.
func fitted(parts []string, at int, name string, opts Options) string {
	const between, least = " · ", 8
	if room := opts.Columns() - 1 - Width(strings.Join(parts, between)); name != "" {
		parts[at] += cutMiddle(name, max(least, room))
	}
	return strings.Join(parts, between)
}

// fraction is the part that is done, in 0…1: by the clock where the run has a duration, else by the numbers tested, else, of
// an experiment that tests none, by the samples. It is not known, where none of these is planned.
func (p Progress) fraction(live result.State, elapsed time.Duration) (float64, bool) {
	switch {
	case p.Duration > 0:
		return min(1, elapsed.Seconds()/p.Duration.Seconds()), true
	case p.Planned > 0:
		return min(1, float64(live.NumbersTested)/float64(p.Planned)), true
	case live.Extent.Samples > 1 && live.NumbersTested == 0:
		return min(1, float64(live.Totals.Samples)/float64(live.Extent.Samples)), true
	}
	return 0, false
}
