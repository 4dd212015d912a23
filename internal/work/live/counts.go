package live

import (
	"slices"

	"gorun/internal/kernel/linux"
	"gorun/internal/place/subject"
)

// counts is what the kernel had counted of a program at a moment.
type counts struct {
	at         float64 // seconds
	cpu        subject.Used
	waited     float64
	turns      float64
	migrations *float64
	known      bool // that threads waited, and had turns
}

// countShare is the share of a block that reading the counts of the threads may take, if none is judged.
const countShare = 0.005

// count reads the counts of the program, thread by thread, outside of the block. Of many threads it reads fewer.
func (s *sampler) count() (c counts) {
	c.cpu, _ = s.program.Used() // 0: it has ended, which the block shows
	c.at = linux.Monotonic().Seconds()
	if s.uncounted > 1 {
		return c
	}
	var turns subject.Turns
	turns, c.known = s.program.Turns(s.uncounted == 0)
	c.waited, c.turns, c.migrations = turns.Waited, turns.Count, turns.Migrations
	judged := slices.ContainsFunc(s.metrics, func(m metric) bool { return m.own != nil })
	if took := linux.Monotonic().Seconds() - c.at; took > countShare*s.block.Seconds() && !judged {
		s.uncounted++
	}
	return c
}

// since sets the figures of the time between two counts.
func (c counts) since(b counts, to *Figures) {
	seconds := c.at - b.at
	if seconds <= 0 {
		return
	}
	rate := func(from, to float64) *float64 { return new(max(0, to-from) / seconds) } // threads that have ended lose what they had
	to.CPU = new(c.cpu.Since(b.cpu) / seconds)
	if b.known && c.known {
		to.RunQueue, to.Turns = rate(b.waited, c.waited), rate(b.turns, c.turns)
	}
	if b.migrations != nil && c.migrations != nil {
		to.Migrations = rate(*b.migrations, *c.migrations)
	}
}
