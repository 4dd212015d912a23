package process

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/result"
	"gorun/internal/stats"
)

// The cells of a run of `gorun bind`.
const (
	Unbound = iota // the baseline
	Bound
)

// trials are the samples of one cell.
type trials struct {
	seconds map[int]float64 // of each trial that counts: the mean over its processes
	looks   uint64          // at the CPU
	found   uint64          // deviations
	moved   map[string]uint64
	strays  int      // processes that deviated
	took    int      // processes
	invalid []string // why samples are
}

// trialsOf reads one cell's samples. A trial counts when each of its processes has ended its sum, and was where it was
// to be.
func trialsOf(samples []result.Sample, cell int) trials {
	t := trials{seconds: map[int]float64{}, moved: map[string]uint64{}}
	counts, spoilt := map[int]int{}, map[int]bool{}
	for i := range samples {
		s := &samples[i]
		if s.Slot == nil || s.Cell != cell {
			continue
		}
		if s.Quality.Verdict == result.Invalid {
			t.invalid = append(t.invalid, s.Quality.Reasons...)
		}
		if s.Partial || s.Quality.Verdict == result.Invalid {
			spoilt[s.Round] = true
		}
		t.seconds[s.Round] += s.Seconds
		counts[s.Round]++
		var v result.BindProcess
		if s.Values.Decode(&v) != nil {
			continue
		}
		t.took++
		t.looks += v.Checks
		t.found += v.Deviations
		if v.Deviations > 0 {
			t.strays++
		}
		for cpu, count := range v.MovedTo {
			t.moved[cpu] += count
		}
	}
	for trial, count := range counts {
		if t.seconds[trial] /= float64(count); spoilt[trial] {
			delete(t.seconds, trial)
		}
	}
	return t
}

// summary is over the trials.
func (t trials) summary() *result.Summary {
	samples := make([]result.Sample, 0, len(t.seconds))
	for _, seconds := range t.seconds {
		samples = append(samples, result.Sample{Seconds: seconds})
	}
	return result.Summarise(samples)
}

// JudgeBind puts on a run of `gorun bind` what its samples say: of bound against unbound, and of where the processes
// were. What is compared of a trial is the mean time of its processes' sums, which is the mean of a column of the
// table; the bound and the unbound trial of one number, taken one after the other, are a pair. The verdict is that of
// stats.Pairs, with its limits. Where a process was not on the CPU to which it was bound, there is no verdict.
func JudgeBind(run *result.Run) {
	of := [2]trials{trialsOf(run.Samples, Unbound), trialsOf(run.Samples, Bound)}
	var bound, unbound []float64
	for _, trial := range slices.Sorted(maps.Keys(of[Bound].seconds)) {
		if seconds, both := of[Unbound].seconds[trial]; both {
			bound, unbound = append(bound, of[Bound].seconds[trial]), append(unbound, seconds)
		}
	}
	m := run.Matrix
	verdict := stats.Pairs(bound, unbound, stats.SessionsDesign{
		Comparisons: 1, Alpha: m.Alpha, Margin: m.Margin, Precision: m.Precision,
	})
	if why := of[Bound].invalid; len(why) > 0 {
		verdict = stats.InvalidVerdict(why[0])
	}
	if n := len(run.Samples); verdict.MoreRounds > 0 && n > 0 && run.Samples[n-1].Slot != nil {
		verdict.MoreSeconds = run.Samples[n-1].Elapsed / float64(verdict.Rounds) * float64(verdict.MoreRounds)
	}
	for i := range of {
		run.Cells[i].Summary = of[i].summary()
	}
	run.Cells[Bound].Verdict, run.Cells[Bound].Words = &verdict, verdict.String()
	run.Findings = []result.Finding{}
	for cell, f := range [...]finding{
		Unbound: {
			code: "deviations-unbound", none: "Unbound, every process was on the CPU of the look before",
			some: "Unbound, a process was on another CPU than at the look before", where: "to",
		},
		Bound: {
			code: "deviations-bound", none: "Bound, every process was on its CPU", some: "Bound, a process was not on its CPU",
			where: "on",
		},
	} {
		if of[cell].looks > 0 {
			run.Findings = append(run.Findings, f.of(of[cell]))
		}
	}
}

// finding says how often processes were found elsewhere, and where.
type finding struct{ code, none, some, where string }

func (f finding) of(t trials) result.Finding {
	text := fmt.Sprintf("%s, in all of %d looks.", f.none, t.looks)
	if t.found > 0 {
		text = fmt.Sprintf("%s in %d of %d looks, %d of %d processes at least once: %s.", f.some, t.found, t.looks, t.strays,
			t.took, t.places(f.where))
	}
	return result.Finding{Code: f.code, Message: text, Value: float64(t.found)}
}

// mostPlaces bounds the CPUs that are told, those first to which most went.
const mostPlaces = 8

func (t trials) places(where string) string {
	cpus := slices.SortedFunc(maps.Keys(t.moved), func(a, b string) int {
		x, _ := strconv.Atoi(a)
		y, _ := strconv.Atoi(b)
		return cmp.Or(cmp.Compare(t.moved[b], t.moved[a]), cmp.Compare(x, y))
	})
	var words []string
	for _, cpu := range cpus[:min(len(cpus), mostPlaces)] {
		words = append(words, fmt.Sprintf("%d %s CPU %s", t.moved[cpu], where, cpu))
	}
	if more := len(cpus) - mostPlaces; more > 0 {
		words = append(words, fmt.Sprintf("the others %s %d more CPUs", where, more))
	}
	return strings.Join(words, ", ")
}
