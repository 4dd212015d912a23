package run

import (
	"time"

	"gorun/internal/judge/matrix"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// showProgress displays the progress of the run until stop is called.
func (d *driver) showProgress() (stop func()) {
	if d.options.quiet {
		return func() {}
	}
	if d.schedule.Order == matrix.RandomBlocks {
		if !d.env.Progress.Terminal {
			return func() {}
		}
		scoreboard := &term.Scoreboard{W: d.env.Stderr, Opts: d.env.Progress}
		d.drawInterim = scoreboard.Draw
		return func() {
			scoreboard.Erase()
			d.drawInterim = nil // the result follows
		}
	}
	p := term.Progress{
		What: d.x.Name, Live: d.live, Duration: time.Duration(d.schedule.Duration * float64(time.Second)),
		Now: func() string { return d.cells[d.running.Load()].Running },
	}
	if d.options.searches {
		p.What = "bisect"
		d.stage.Store(new(""))
		p.Now = func() string { return *d.stage.Load() + d.session.run.Cells[d.running.Load()].Name }
	}
	if total := uint64(d.order.Extent().Samples); d.resources.Numbers > 0 && total > 0 {
		if planned := d.resources.Numbers * total; planned/total == d.resources.Numbers {
			p.Planned = planned
		}
	}
	return p.Start(d.env.Stderr, d.env.Progress)
}

// showPreparing shows that the work before the first sample, such as a pilot, is in progress, until the returned
// function is called.
func (d *driver) showPreparing() (stop func()) {
	if d.options.quiet {
		return func() {}
	}
	p := term.Progress{What: "preparing the first sample", Live: func() (live result.State) { return live }}
	return p.Start(d.env.Stderr, d.env.Progress)
}

// The interim state is shown at most every showEvery, and takes at most showShare of the time of the run: it looks at all samples.
const (
	showEvery = 100 * time.Millisecond
	showShare = 0.01
)

// showInterim shows the interim state of the cells of a judged run, on the terminal and in the metrics, if somebody sees it and it is time.
func (d *driver) showInterim() {
	judging, ok := d.order.(*matrix.Blocks)
	seen := d.drawInterim != nil || d.session.server != nil || d.session.textfile != nil
	if begun := time.Now(); ok && seen && begun.After(d.showAt) {
		interim := judging.Interim()
		d.state.setInterim(interim)
		if d.drawInterim != nil {
			d.drawInterim(interim)
		}
		d.showAt = time.Now().Add(max(showEvery, time.Duration(float64(time.Since(begun))/showShare)))
	}
}
