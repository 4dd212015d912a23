package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/stats"
)

// searched returns a run of five cells, a to e, whose search has these stages.
func searched(left []int, skipped map[int]string, stages ...stats.Stage) *result.Run {
	run := &result.Run{Matrix: &result.Matrix{Search: &result.Searched{Stages: stages, Left: left, Skipped: skipped}}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		run.Cells = append(run.Cells, result.Cell{Name: name})
	}
	return run
}

var (
	worse   = stats.Verdict{Kind: stats.Slower, Typical: stats.Effect{Ratio: 1.1, Lo: 1.05, Hi: 1.15}, Rounds: 9, Margin: 0.02, Step: 0.001}
	same    = stats.Verdict{Kind: stats.Same, Typical: stats.Effect{Ratio: 1, Lo: 0.99, Hi: 1.01}, Rounds: 25, Margin: 0.02, Step: 0.001}
	ends    = stats.Stage{Good: 0, Bad: 4, FromGood: worse, Goes: stats.Worse}
	middle  = stats.Stage{Good: 0, Middle: new(2), Bad: 4, FromGood: same, ToBad: &worse, Goes: stats.Later}
	later   = stats.Stage{Good: 2, Middle: new(3), Bad: 4, FromGood: worse, ToBad: &same, Goes: stats.Earlier}
	last    = stats.Stage{Good: 2, Bad: 3, Last: true, FromGood: worse, Goes: stats.Worse}
	nothing = stats.Stage{Good: 0, Bad: 4, FromGood: same, Goes: stats.NotWorse}
)

// What a search says first, by how it ended.
func TestSearch(t *testing.T) {
	with := func(s stats.Stage, change func(*stats.Stage)) stats.Stage {
		change(&s)
		return s
	}
	for want, run := range map[string]*result.Run{
		"d made it slower: +5.0% to +15% against c, the commit before it":                              searched([]int{3}, nil, ends, middle, last),
		"One of c, d made it slower: +5.0% to +15% against c":                                          searched([]int{2, 3}, nil, ends, middle, last),
		"e is not worse, so that there is nothing to look for: no difference larger than 2% against a": searched([]int{1, 2, 3, 4}, nil, nothing),
		"Nothing is compared: it does not build": searched([]int{1, 2, 3, 4}, map[int]string{4: "it does not build"},
			with(ends, func(s *stats.Stage) { s.Goes = stats.Skips })),
		"Undecided: the search leads to one of b, c, d, e": searched([]int{1, 2, 3, 4}, nil, ends,
			with(middle, func(s *stats.Stage) { s.Goes = stats.Undecided })),
		"No commit is named: the search leads to d, which is not shown to be worse: no difference larger than 2% against c": searched([]int{3}, nil, ends,
			with(last, func(s *stats.Stage) { s.Goes, s.FromGood = stats.NotWorse, same })),
		"The search is not over: so far it leads to one of b, c": searched([]int{1, 2}, nil, ends,
			with(middle, func(s *stats.Stage) { s.Goes = stats.OnIt })),
		"Can't tell whether e is worse: no difference larger than 2% against a": searched([]int{1, 2, 3, 4}, nil,
			with(nothing, func(s *stats.Stage) { s.Goes = stats.Undecided })),
	} {
		assert.Equal(t, want, Search(run)[0].Text)
	}
}

// The cells are in order; those that were not tried share a row with their neighbours.
func TestSearchTable(t *testing.T) {
	run := searched([]int{3}, map[int]string{1: "it does not build"}, ends, middle, later, last)
	var rows [][]string
	for _, row := range searchTable(run).Rows {
		line := []string{row.Name}
		for _, phrase := range row.Values[len(row.Values)-1].(table.Phrases) {
			line = append(line, phrase.Text)
		}
		rows = append(rows, line)
	}
	assert.Equal(t, [][]string{
		{"a", "the good end"},
		{"b", "skipped: it does not build"},
		{"c", "against a: no difference larger than 2%", "e against it: slower: +5.0% to +15%"},
		{"d", "against c: slower: +5.0% to +15%", "e against it: no difference larger than 2%", "last: against c: slower: +5.0% to +15%"},
		{"e", "against a: slower: +5.0% to +15%"},
	}, rows)

	run = searched([]int{1, 2, 3, 4}, nil, nothing)
	assert.Equal(t, []string{"a", "3 revisions", "e"}, []string{searchTable(run).Rows[0].Name, searchTable(run).Rows[1].Name, searchTable(run).Rows[2].Name})
}
