package live

import (
	"time"

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

// What is counted thread by thread, by what it costs: of each thread, a few microseconds for its turns and tens for its migrations.
const (
	processes = iota // nothing
	turns
	migrations
)

// countShare is the share of a block that reading counts may take that are not judged.
const countShare = 0.005

// count reads the counts of the program, outside of the block. What takes too long is not read again, if it is not judged.
func (s *sampler) count() (c counts) {
	c.cpu, _ = s.program.Used() // 0: it has ended, which the block shows
	c.at = linux.Monotonic().Seconds()
	if s.counted < turns {
		return c
	}
	used := linux.ThreadCPUTime()
	of, known := s.program.Turns(s.counted >= migrations)
	c.waited, c.turns, c.migrations, c.known = of.Waited, of.Count, of.Migrations, known
	if took := linux.Monotonic().Seconds() - c.at; took > countShare*s.block.Seconds() && s.counted > s.judgedCounts() {
		s.counted--
		s.counting = 0
	} else if cost := time.Duration(linux.ThreadCPUTime() - used); s.counting == 0 || cost < s.counting {
		s.counting = cost
	}
	return c
}

// judgedCounts returns which counts the judged figures need.
func (s *sampler) judgedCounts() int {
	needed := processes
	for _, m := range s.metrics {
		if m.own != nil {
			needed = max(needed, m.own.counts)
		}
	}
	return needed
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
