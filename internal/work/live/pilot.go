package live

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"go/version"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
	"gorun/internal/place/subject"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/stats"
)

// The pilot holds each setting, and measures slices.
const (
	pilotHold  = 2 * time.Second
	pilotSlice = 100 * time.Millisecond
	leastHold  = 8           // slices
	longSlice  = time.Second // from which on one has to do
	// A figure is settled when it and the next one are as near to the middle of the second half as those of the second half are, times
	// this, or within this share: one of ten equal figures often lies outside of the range of the others, but hardly as far as that.
	settledRange = 2
	settledShare = 0.05
	// A counter that grows in fewer of the slices than this is written at intervals. A block that the pilot chooses has this many, if that is
	// not too long, and one that was given must have at least some.
	steadyShare    = 0.6
	intervals      = 5
	leastIntervals = 3
	// Blocks and washouts that the pilot chooses are longer by this than what it has seen needs.
	spare = 2
	// Longer blocks are not chosen, but asked for: with them, a verdict takes more than the default budget.
	mostBlock = 5 * time.Second
	rounds    = 9 // that a verdict needs
	// Where a program has many threads, blocks are so long that gorun needs at most this share of one CPU. A block costs as much as two
	// switches, since before and after it all threads are read back, and counts them twice.
	ownShare = 0.015
	switches = 2
)

// pilot finds how long the program takes to settle after a switch, and whether blocks are long enough for its counters.
func (s *sampler) pilot(ctx context.Context) (warnings []result.Warning, err error) {
	procs := s.followsMask()
	if procs != "" && s.endpoint != nil {
		if scrape, err := s.endpoint.Scrape(ctx); err == nil {
			_, err := scrape.Find(goProcs)
			s.follows = err == nil
		}
	}
	switch {
	case s.follows:
		s.afterFollowed = s.washout
	case procs != "" && !s.given.washout():
		s.washout = goWashout
		warnings = append(warnings, result.Warning{
			Code: "go-washout", Message: fmt.Sprintf("--washout is %v: GOMAXPROCS of %s follows its CPUs once a second", goWashout, procs),
			Hint: "with GOMAXPROCS in its environment it does not, and 200ms are enough",
		})
	}
	var slowest time.Duration
	var steps [2]int // slices in which a counter grew, and all
	s.slice = max(pilotSlice, blockFor(s.answer()))
	for i, setting := range s.settings {
		left := len(s.settings) - i
		series, slice, err := s.holding(ctx, setting, left, &steps)
		if err != nil && errors.Is(err, ctx.Err()) {
			return nil, s.unfinished("ended during the pilot, with "+s.nameOf(setting), left, slice)
		}
		if err != nil {
			return nil, fmt.Errorf("the pilot, with %s: %w", s.nameOf(setting), err)
		}
		if err := s.askTypes(); err != nil {
			return nil, err
		}
		slowest = max(slowest, time.Duration(settling(series))*slice)
	}
	lengthen := func(least, enough time.Duration, code, why string) {
		if err == nil {
			var of []result.Warning
			of, err = s.lengthen(least, enough, code, why)
			warnings = append(warnings, of...)
		}
	}
	if steps[0] > 0 && float64(steps[0]) < steadyShare*float64(steps[1]) {
		// In two seconds, a counter that is written each second grows once to three times, so that a pilot is a third off.
		each := time.Duration(float64(s.slice) * float64(steps[1]) / float64(steps[0])).Round(10 * time.Millisecond)
		least, enough := blocksOf(each)
		lengthen(least, enough, "slow-counter", fmt.Sprintf("the counter is written only every %v", each))
	}
	least := blockFor(s.answer())
	lengthen(least, spare*least, "slow-endpoint", slowAnswer(s.answer()))
	if err != nil {
		return nil, err
	}
	need, code, why := ceil(slowest, washoutStep), "settling", "so long the program took to settle after a switch"
	if of := washoutFor(s.switched); of > need && s.switched > mostSwitch && !s.given.washout() {
		need, code, why = of, "slow-switch", fmt.Sprintf("the switch of all threads took %v", s.switched.Round(time.Millisecond))
	}
	switch {
	case need <= s.washout:
	case s.given.washout():
		warnings = append(warnings, result.Warning{
			Code: code, Message: fmt.Sprintf("the program settles in about %v after a switch, more than --washout", need),
			Hint: fmt.Sprintf("give --washout %v, or leave it out", need),
		})
	default:
		s.washout = need
		warnings = append(warnings, result.Warning{Code: code, Message: fmt.Sprintf("--washout is %v: %s", need, why)})
	}
	of, err := s.lengthenFor()
	return append(warnings, of...), err
}

// lengthenFor makes blocks so long that gorun needs at most ownShare of a CPU for switches and counts.
func (s *sampler) lengthenFor() ([]result.Warning, error) {
	cost := s.cost + s.counting
	enough := min(mostBlock, time.Duration(float64(switches*cost)/ownShare)-s.washout)
	return s.lengthen(0, enough, "many-threads", fmt.Sprintf("to switch and to count all threads takes %v of CPU time", cost.Round(100*time.Microsecond)))
}

// Lengths that the pilot chooses are multiples of these.
const (
	washoutStep = 50 * time.Millisecond
	blockStep   = 100 * time.Millisecond
)

func ceil(d, step time.Duration) time.Duration { return (d + step - 1) / step * step }

// answer returns how long the endpoint typically takes to answer; 0: there is none.
func (s *sampler) answer() time.Duration {
	if s.answers == nil {
		return 0
	}
	return time.Duration(stats.Median(s.answers) * float64(time.Second))
}

// noteAnswer notes how long the endpoint took to answer; nil: there is none.
func (s *sampler) noteAnswer(scrape *metrics.Scrape) {
	if scrape != nil {
		s.answers = append(s.answers, scrape.Took().Seconds())
	}
}

// blockFor returns the shortest block for an endpoint that takes this long to answer.
func blockFor(answer time.Duration) time.Duration {
	return time.Duration(float64(answer) / mostLate)
}

// blocksOf returns the shortest block for a counter that is written at these intervals, and one that is long enough.
func blocksOf(interval time.Duration) (least, enough time.Duration) {
	least = leastIntervals * interval
	return least, max(least, min(intervals*interval, mostBlock))
}

func slowAnswer(took time.Duration) string {
	return fmt.Sprintf("the endpoint takes %v to answer", took.Round(time.Millisecond))
}

// washoutFor returns the length of a washout after a switch that takes this long. In it, some threads have the setting for longer than
// others.
func washoutFor(took time.Duration) time.Duration {
	return ceil(time.Duration(spare*float64(took)), washoutStep)
}

// lengthen makes blocks as long as is enough, and says why. Those of the user are to have at least another length.
func (s *sampler) lengthen(least, enough time.Duration, code, why string) ([]result.Warning, error) {
	if err := s.tooShort(least, enough, why); err != nil || s.given.block() || enough <= s.block {
		return nil, err
	}
	s.block = ceil(enough, blockStep)
	return []result.Warning{{Code: code, Message: fmt.Sprintf("--block is %v: %s", s.block, why)}}, nil
}

// tooShort is the error of blocks that must be longer, if the user has given their length or must agree to it.
func (s *sampler) tooShort(least, enough time.Duration, why string) error {
	if s.given.block() && least <= s.block || !s.given.block() && enough <= max(s.block, mostBlock) {
		return nil
	}
	return hint.Usage(hint.With(fmt.Errorf("%s: a block of %v is too short", why, s.block), s.give(enough)))
}

// slowEndpoint is the error of blocks that are too short for the endpoint.
func (s *sampler) slowEndpoint() error {
	least := blockFor(s.answer())
	return s.tooShort(least, spare*least, slowAnswer(s.answer()))
}

// give is the hint to give blocks this length, and a budget that is enough for a verdict then.
func (s *sampler) give(block time.Duration) string {
	block = ceil(block, blockStep)
	text := fmt.Sprintf("give --block %v", block)
	whole := time.Duration(rounds*(len(s.cells)+1)) * (block + s.washout) // the baseline is there twice
	if whole > Budget {
		text += fmt.Sprintf(" --budget %.0fm", math.Ceil(whole.Minutes()))
	}
	return text
}

// goProcs is GOMAXPROCS in the metrics of a Go program (the Go collector of client_golang).
var goProcs = metrics.Selector{Name: "go_sched_gomaxprocs_threads"}

// followPatience is longer than the runtime takes to notice other CPUs.
const followPatience = 3 * time.Second

// followed waits until GOMAXPROCS of a Go program has followed a setting with CPUs.
func (s *sampler) followed(ctx context.Context, to subject.Setting) error {
	if !s.follows || to.CPUs.Empty() {
		return nil
	}
	for end := now().at + followPatience; now().at < end; {
		scrape, err := s.endpoint.Scrape(ctx)
		if err != nil {
			return err
		}
		if procs, err := scrape.Find(goProcs); err != nil || int(procs.Value) == to.CPUs.Len() {
			return err
		}
		if err := s.sleep(ctx, now().at+20*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("GOMAXPROCS of the program has not followed its %d CPUs within %v", to.CPUs.Len(), followPatience)
}

// nameOf returns the name of the first cell with a setting.
func (s *sampler) nameOf(setting subject.Setting) string {
	for _, c := range s.cells {
		if c.Name != "" && c.Setting.String() == setting.String() {
			return c.Name
		}
	}
	return setting.String()
}

// holdFor returns how long the pilot holds a setting in which a slice takes this long. Slices whose edges are lines of a load last until the
// next one.
func (s *sampler) holdFor(slice time.Duration) time.Duration {
	if s.slice >= longSlice {
		return slice
	}
	return max(pilotHold, leastHold*slice)
}

// unfinished is the error of a pilot that still has to hold this number of settings.
func (s *sampler) unfinished(what string, left int, slice time.Duration) *experiment.Unfinished {
	return &experiment.Unfinished{
		What: what, Whole: now().at - s.begun + time.Duration(left)*s.holdFor(slice), Each: s.washout + s.block + max(0, slice-s.slice),
	}
}

// fits returns an error if the budget ends before the pilot has held the settings that are left, and a round has been taken.
func (s *sampler) fits(ctx context.Context, left int, slice time.Duration) error {
	of := s.unfinished("is too short for the pilot and one round", left, slice)
	needs := s.begun + of.Whole - now().at + time.Duration(len(s.cells)+1)*of.Each // the baseline is there twice
	if end, budgeted := ctx.Deadline(); budgeted && time.Until(end) < needs {
		return of
	}
	return nil
}

// holding gives the program a setting, and returns the first judged figure of the slices that follow, and their length. steps counts the
// slices in which a counter grew, and all. left is the number of settings that are not yet held.
func (s *sampler) holding(ctx context.Context, setting subject.Setting, left int, steps *[2]int) (series []float64, slice time.Duration, err error) {
	err = placement.OnThread(func() error {
		used := linux.ThreadCPUTime()
		took, _, err := s.change(ctx, setting)
		if used = linux.ThreadCPUTime() - used; s.cost == 0 || used < int64(s.cost) {
			s.cost = time.Duration(used)
		}
		if err == nil && took > mostSwitch { // once, it may have been another program
			var again time.Duration
			again, _, err = s.change(ctx, setting)
			took = min(took, again)
		}
		if s.switched = max(s.switched, took); err == nil && took > s.mostSwitch() && s.given.washout() {
			err = hint.Usage(s.slowSwitch(took))
		}
		if err != nil {
			return err
		}
		begun := now().at
		var last *block
		measured, shortest := 0, time.Duration(math.MaxInt64)
		has, notFinite := make([]bool, len(s.metrics)), make([]error, len(s.metrics)) // whether a slice had the figure; the last such error
		for len(series) < leastHold || now().at < begun+pilotHold {
			figures := &Figures{}
			b, err := s.measure(ctx, last, s.slice, figures)
			if err != nil {
				return err
			}
			took := b.to.at - b.from.at
			shortest = min(shortest, took)
			if measured++; measured == 2 { // one may be long by chance
				if err := s.fits(ctx, left, shortest); err != nil {
					return err
				}
			}
			last, slice = &b, max(slice, took)
			s.noteAnswer(b.scrapes[1])
			if least := blockFor(s.answer()); least > s.slice {
				s.slice = least
				if err := s.slowEndpoint(); err != nil {
					return err
				}
				continue
			}
			for i, m := range s.metrics {
				if m.series == nil {
					continue
				}
				_, _, err := s.figure(m, b, figures)
				if has[i] = has[i] || err == nil; errors.Is(err, errNotFinite) {
					notFinite[i] = err
				}
				if m.quantile > 0 {
					continue
				}
				if steps[1]++; s.grew(m, b) {
					steps[0]++
				}
			}
			figure, err := s.first(b, figures)
			if err == nil {
				series = append(series, figure)
			}
			switch late := now().at > begun+2*max(pilotHold, s.slice); {
			case err != nil && late && series == nil:
				return err
			case err != nil && late, err == nil && s.slice >= longSlice:
				return nil
			}
		}
		for i, err := range notFinite {
			if !has[i] && err != nil {
				return err
			}
		}
		return nil
	})
	return series, slice, err
}

// grew reports whether a counter grew in a block. A gauge need not.
func (s *sampler) grew(m metric, b block) bool {
	rate, err := metrics.Rate(b.scrapes[0], b.scrapes[1], *m.series, m.as)
	if of, found := b.scrapes[1].Find(*m.series); found == nil && cmp.Or(m.as, of.Type) != metrics.Counter {
		return true
	}
	return err == nil && rate > 0
}

// settling returns the number of slices after which a series is like its second half.
func settling(series []float64) int {
	if len(series) < leastHold {
		return 0
	}
	steady := series[len(series)/2:]
	middle := stats.Median(steady)
	band := settledShare * math.Abs(middle)
	for _, figure := range steady {
		band = max(band, settledRange*math.Abs(figure-middle))
	}
	within := func(i int) bool { return math.Abs(series[i]-middle) <= band }
	for i := range len(series) / 2 {
		if within(i) && within(i+1) {
			return i
		}
	}
	return len(series) / 2
}

// followsMask returns the name of the program if it is one of Go whose GOMAXPROCS follows its mask (Go 1.25), where settings differ in
// their number of CPUs; "": it does not.
func (s *sampler) followsMask() string {
	sizes := map[int]bool{}
	for _, setting := range s.settings {
		cpus := setting.CPUs
		if cpus.Empty() {
			cpus = s.found.Threads[0].CPUs
		}
		sizes[cpus.Len()] = true
	}
	if len(sizes) < 2 {
		return ""
	}
	pids, err := s.program.Processes()
	if err != nil {
		return ""
	}
	for _, pid := range pids {
		info, err := buildinfo.ReadFile(fmt.Sprintf("/proc/%d/exe", pid))
		if err != nil || version.Compare(info.GoVersion, "go1.25") < 0 {
			continue
		}
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		fixed := slices.ContainsFunc(strings.Split(string(environ), "\x00"), func(v string) bool { return strings.HasPrefix(v, "GOMAXPROCS=") })
		if err == nil && !fixed {
			return s.found.Name
		}
	}
	return ""
}
