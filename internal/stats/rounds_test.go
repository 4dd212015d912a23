package stats

import (
	"fmt"
	"math"
	"testing"
)

// BenchmarkRoundsToClaim prints a table for each recording of equal work: the rounds and seconds after which a cell
// that takes 2%, 5%, 20% or 500% longer is claimed to differ, among 2 and 8 cells; after which it is answered, so that the run ends; and after
// which its interval is as narrow as the precision. Each figure is the median and the share of
// replays in which that is so within 400 rounds. One figure is judged. GORUN_NOISE names another directory of recordings.
//
// make power runs it.
func BenchmarkRoundsToClaim(b *testing.B) {
	const most, replays = 400, 40
	for b.Loop() {
		fmt.Printf("%-16s %6s  %5s  %7s  %22s  %22s  %22s  %s\n", "recording", "pair σ", "cells", "effect", "claimed: rounds (s) %", "answered", "precise",
			"smallest difference at the end")
		for _, of := range equalWork(b, replays) {
			for _, cells := range []int{2, 8} {
				for _, effect := range []float64{0.02, 0.05, 0.2, 5} {
					printRounds(b, of.Name, of.Seconds, cells, effect, most, replays)
				}
			}
		}
	}
}

// printRounds prints a row of the table.
func printRounds(b *testing.B, name string, seconds []float64, cells int, effect float64, most, replays int) {
	var rounds, times [3][]float64 // until the cell is claimed to differ, answered, and precise
	var widths, pairs []float64
	for k := range replays {
		r := newRace(b, design(uint64(k), cells))
		n := &noise{seconds: seconds, at: k * len(seconds) / replays}
		elapsed, reached := 0.0, [3]bool{}
		for round := 1; round <= most && reached != [3]bool{true, true, true}; round++ {
			r.until = Until{Held: true}
			next := r.Next()
			took := make([]float64, cells+1)
			var samples []float64
			for _, cell := range next[0] {
				s := n.next()
				elapsed += s
				if cell == 1 {
					s *= 1 + effect
				}
				took[cell] = s
				samples = append(samples, s)
			}
			if err := r.Add(next, samples); err != nil {
				b.Fatal(err)
			}
			pairs = append(pairs, math.Log(took[cells]/took[0]))
			c := r.comparisons[1]
			is := [3]bool{c.typical.ends().differs(), false, r.enough(c)}
			r.until.Answers = true
			is[1] = r.enough(c)
			for i := range is {
				if is[i] && !reached[i] && !r.unsound() {
					reached[i] = true
					rounds[i], times[i] = append(rounds[i], float64(round)), append(times[i], elapsed)
				}
			}
		}
		if e := r.comparisons[1].typical.ends(); e.Bounded() {
			widths = append(widths, math.Expm1(math.Log(e.Hi/e.Lo)/2))
		}
	}
	found, smallest := [3]string{}, ""
	for i := range found {
		found[i] = Medians(rounds[i], times[i], replays)
	}
	if len(rounds[0])*10 < 9*replays {
		smallest = fmt.Sprintf("%.1f%%", 100*Median(widths))
	}
	fmt.Printf("%-16s %5.2f%%  %5d  %6.0f%%  %22s  %22s  %22s  %s\n", name, 100*sortedOf(pairs).deviation(), cells, 100*effect, found[0], found[1], found[2], smallest)
}

// Medians returns the median rounds and seconds of those replays that came to something, and their share of all replays.
func Medians(rounds, seconds []float64, replays int) string {
	share := 100 * len(rounds) / replays
	if 2*len(rounds) < replays {
		return fmt.Sprintf("- %3d%%", share)
	}
	return fmt.Sprintf("%3.0f (%6.1f) %3d%%", Median(rounds), Median(seconds), share)
}
