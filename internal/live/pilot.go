package live

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"go/version"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"gorun/internal/hint"
	"gorun/internal/metrics"
	"gorun/internal/placement"
	"gorun/internal/program"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// The pilot holds each setting, and measures slices.
const (
	pilotHold  = 2 * time.Second
	pilotSlice = 100 * time.Millisecond
	leastHold  = 8 // slices
	// A figure is settled when it and the next one are as near to the middle of the second half as those of the second half are, times
	// this, or within this share: one of ten equal figures often lies outside of the range of the others, but hardly as far as that.
	settledRange = 2
	settledShare = 0.05
	// A counter that grows in fewer of the slices than this is written at intervals, of which a block must have several.
	steadyShare   = 0.6
	leastInterval = 5
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
	for _, setting := range s.settings {
		series, slice, err := s.holding(ctx, setting, &steps)
		if err != nil {
			return nil, fmt.Errorf("the pilot, with %v: %w", setting, err)
		}
		slowest = max(slowest, time.Duration(settling(series))*slice)
	}
	if steps[0] > 0 && float64(steps[0]) < steadyShare*float64(steps[1]) {
		each := time.Duration(float64(pilotSlice) * float64(steps[1]) / float64(steps[0]))
		need := (leastInterval * each).Round(100 * time.Millisecond)
		if s.block < need && s.given.block() {
			return nil, hint.Usage(hint.With(fmt.Errorf("the counter is written only every %v, and a block of %v has too few of that",
				each.Round(10*time.Millisecond), s.block), fmt.Sprintf("give --block %v", need)))
		}
		if s.block < need {
			s.block = need
			warnings = append(warnings, result.Warning{
				Code: "slow-counter", Message: fmt.Sprintf("--block is %v: the counter is written only every %v", need, each.Round(10*time.Millisecond)),
			})
		}
	}
	const step = 50 * time.Millisecond
	need := (slowest + step - 1) / step * step
	switch {
	case need <= s.washout:
	case s.given.washout():
		warnings = append(warnings, result.Warning{
			Code: "settling", Message: fmt.Sprintf("the program settles in about %v after a switch, more than --washout", need),
			Hint: fmt.Sprintf("give --washout %v, or leave it out", need),
		})
	default:
		s.washout = need
		warnings = append(warnings, result.Warning{
			Code: "settling", Message: fmt.Sprintf("--washout is %v: so long the program took to settle after a switch", need),
		})
	}
	return warnings, nil
}

// goProcs is GOMAXPROCS in the metrics of a Go program (the Go collector of client_golang).
var goProcs = metrics.Selector{Name: "go_sched_gomaxprocs_threads"}

// followPatience is longer than the runtime takes to notice other CPUs.
const followPatience = 3 * time.Second

// followed waits until GOMAXPROCS of a Go program has followed a setting with CPUs.
func (s *sampler) followed(ctx context.Context, to program.Setting) error {
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

// holding gives the program a setting, and returns the first judged figure of the slices that follow, and their length. steps counts the
// slices in which a counter grew, and all.
func (s *sampler) holding(ctx context.Context, setting program.Setting, steps *[2]int) (series []float64, slice time.Duration, err error) {
	err = placement.OnThread(func() error {
		if _, _, err := s.change(ctx, setting); err != nil {
			return err
		}
		begun := now().at
		var last *block
		for len(series) < leastHold || now().at < begun+pilotHold {
			figures := &Figures{}
			b, err := s.measure(ctx, last, pilotSlice, figures)
			if err != nil {
				return err
			}
			last, slice = &b, max(slice, b.to.at-b.from.at)
			for _, m := range s.metrics {
				if m.series == nil || m.quantile > 0 {
					continue
				}
				if steps[1]++; s.grew(m, b) {
					steps[0]++
				}
			}
			if figure, err := s.figure(s.metrics[0], b, figures); err == nil {
				series = append(series, figure)
			} else if now().at > begun+2*pilotHold {
				if len(series) > 0 {
					break
				}
				return err
			}
		}
		return nil
	})
	return series, slice, err
}

// grew reports whether a counter grew in a block. A gauge need not.
func (s *sampler) grew(m metric, b block) bool {
	rate, err := metrics.Rate(b.scrapes[0], b.scrapes[1], *m.series)
	if of, found := b.scrapes[1].Find(*m.series); found == nil && !of.Counter {
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

// slowly is the mean change within long blocks from which the program settles more slowly than blocks show.
const slowly = 0.04

// settlesSlowly warns if long blocks show that the program is still settling when a block is over. All blocks follow a switch in the
// same way, so such a program is compared in a state that it does not have without switches.
func (s *sampler) settlesSlowly() []result.Warning {
	if len(s.longs) == 0 {
		return nil
	}
	sum, up := 0.0, 0
	for _, ratio := range s.longs {
		sum += math.Log(ratio)
		if ratio > 1 {
			up++
		}
	}
	mean := sum / float64(len(s.longs))
	if math.Abs(mean) < slowly || up != 0 && up != len(s.longs) {
		return nil
	}
	return []result.Warning{{
		Code: "slow-carry-over",
		Message: fmt.Sprintf("in long blocks the first figure changes by %+.0f%% from the first half to the second: the program settles more slowly than --washout",
			100*(math.Exp(mean)-1)),
		Hint: "give a longer --washout and --block: the settings are compared in a state that follows a switch",
	}}
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
