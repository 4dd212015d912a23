package view

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/base/packed"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// whys are the reasons for which samples have the only verdict that there is.
func whys(samples []result.Sample) (texts []string) {
	for _, phrase := range gradeTable(&result.Run{Samples: packed.Of(samples...)}, false).Rows[0].Values[2].(table.Phrases) {
		texts = append(texts, phrase.Text)
	}
	return texts
}

// A baseline that differs from its duplicate is shown, with what follows from it.
func TestControlIsShown(t *testing.T) {
	for kind, rows := range map[stats.Kind]int{stats.Same: 0, stats.CantTell: 0, stats.Slower: 1, stats.Faster: 1} {
		of := controlTable(&result.Run{Cells: []result.Cell{{Name: "a"}}, Matrix: &result.Matrix{Control: &stats.Verdict{Kind: kind}}}, false)
		assert.Len(t, of.Rows, rows, kind)
		assert.Len(t, of.Notes, rows, kind)
	}
}

// A reason that several CPUs give a sample counts once for that sample, and names the CPUs.
func TestReasonsOfTwoCPUs(t *testing.T) {
	var samples []result.Sample
	for i := range 3 {
		s := result.Sample{Index: i}
		s.Quality.Grade = result.Suspect
		for cpu := range 2 {
			s.Quality.Reasons = append(s.Quality.Reasons, fmt.Sprintf("CPU %d had a load of %d%%", cpu, 50+i))
		}
		s.Quality.Reasons = append(s.Quality.Reasons, "CPU 1 was gone")
		samples = append(samples, s)
	}
	assert.Equal(t, []string{"CPU 0 had a load of 50–52% (CPUs 0-1, 3 samples)", "CPU 1 was gone (3 samples)"}, whys(samples))
}

// What an invalid sample is doubted for besides is not why it is invalid.
func TestFirstReasonComesFirst(t *testing.T) {
	s := result.Sample{Quality: result.Quality{Grade: result.Invalid, Reasons: []string{"it timed out", "a load"}}}
	assert.Equal(t, "1 of 1 sample is invalid: it timed out", Doubtful(packed.Of(s)))
}

// Figures make reasons many; they are told together, and few of them.
func TestReasonsAreCounted(t *testing.T) {
	var samples []result.Sample
	for i, kind := range []string{"a", "a", "a", "b", "c", "c", "d", "e", "f"} {
		s := result.Sample{Index: i}
		s.Quality.Grade = result.Suspect
		s.Quality.Reasons = []string{kind + " took the same time"}
		if kind == "a" {
			s.Quality.Reasons = []string{fmt.Sprintf("a took %d.5 s", i)}
		}
		samples = append(samples, s)
	}
	assert.Equal(t, []string{
		"a took 0.5–2.5 s (3 samples)", "c took the same time (2 samples)", "b took the same time", "d took the same time",
		"… and 2 other reasons; --format json has all",
	}, whys(samples))
}
