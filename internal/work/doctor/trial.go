package doctor

import (
	"context"
	"math"
	"sync"
	"time"

	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/sample/measure"
	"gorun/internal/stats"
)

// runSeconds is the time that one run of the trial takes, about. It is a variable for tests.
var runSeconds = 0.050

const (
	// trialRounds are enough for the first interval of the judge, and take 1.8 s.
	trialRounds = 12
	// perRound is the number of runs in a round: baseline, duplicate, cell.
	perRound = 3
	// promisedSeconds is the duration of a run of which the trial says what it finds: the budget of `gorun exec --placements`.
	promisedSeconds = 30
)

// Trial is a measurement of how much equal runs differ. Every CPU of the run does the same work in each of them.
type Trial struct {
	Rounds     int     `json:"rounds"`
	RunSeconds float64 `json:"run_seconds"` // the median
	// Differs is the median of the differences of two runs, one after the other: 0.02 is 2%.
	Differs float64 `json:"differs"`
	// Resolution is the least difference that a run of PromisedSeconds is expected to find; 0: it cannot be estimated.
	Resolution      float64 `json:"resolution"`
	PromisedSeconds float64 `json:"promised_seconds"`

	Signals result.Signals `json:"signals"` // over the whole trial
}

// try takes the trial. It returns nil if it was ended before there is a result.
func try(ctx context.Context, s Subject) *Trial {
	cpus := s.Machine.Allowed()
	watcher, _ := measure.OpenWatcher(s.Root, cpus, cpus.Len())
	defer watcher.Close()
	judge, err := stats.NewJudge(stats.Design{
		Seed: 1, Cells: []string{"a", "b"}, Alpha: 0.05, Margin: 0.02, Precision: 0.01, Until: stats.Until{Rounds: trialRounds},
	})
	if err != nil {
		panic(err) // the design is fixed
	}
	repeats := calibrate(cpus.Len())
	finish := watcher.Watch()
	usage := linux.CountUsage()
	var all, differences []float64
	last := 0.0
	for judge.Rounds() < trialRounds && ctx.Err() == nil {
		round := judge.Next()
		var seconds []float64
		for range round.Samples() {
			took := work(cpus.Len(), repeats)
			if last > 0 {
				differences = append(differences, math.Abs(took/last-1))
			}
			last = took
			seconds = append(seconds, took)
		}
		all = append(all, seconds...)
		if judge.Add(round, seconds) != nil {
			break // a clock that stands still
		}
	}
	if len(differences) == 0 {
		return nil
	}
	sample := &result.Sample{}
	if used, err := usage(); err == nil {
		sample.UserSeconds, sample.SystemSeconds = used.UserSeconds, used.SystemSeconds
	}
	finish(sample)
	t := &Trial{
		Rounds: judge.Rounds(), RunSeconds: stats.Median(all), Differs: stats.Median(differences),
		PromisedSeconds: promisedSeconds, Signals: sample.Quality.Signals,
	}
	t.Resolution = resolution(judge.Verdicts(0)[1].Typical, judge.Rounds(), t.RunSeconds)
	return t
}

// resolution returns the least difference that a run of promisedSeconds can find, from the interval after this number of
// rounds: its width falls with the square root of the rounds. 0: the interval is not bounded.
func resolution(e stats.Effect, rounds int, runSeconds float64) float64 {
	if !e.Bounded() || e.Lo > e.Hi {
		return 0
	}
	more := promisedSeconds / (perRound * runSeconds) / float64(rounds)
	return math.Expm1(math.Log(e.Hi/e.Lo) / 2 / math.Sqrt(more))
}

// calibrate returns how much work of each of this number of goroutines takes runSeconds, with what else the machine does.
func calibrate(goroutines int) (repeats int) {
	repeats = max(1, int(runSeconds/measure.Canary()))
	for range 3 { // the first one also starts the threads
		repeats = max(1, int(float64(repeats)*min(1, runSeconds/work(goroutines, repeats))))
	}
	return repeats
}

// work has each of this number of goroutines compute for a fixed number of steps, and returns the wall time of all.
func work(goroutines, repeats int) (seconds float64) {
	var all sync.WaitGroup
	begun := time.Now()
	for range goroutines {
		all.Go(func() {
			for range repeats {
				measure.Canary()
			}
		})
	}
	all.Wait()
	return time.Since(begun).Seconds()
}
