package render

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
)

func TestQuestion(t *testing.T) {
	type flags = map[string]string
	command := func(name string) flags { return flags{"command": name, "name": name} }
	revision := func(name, benchmark string) flags { return flags{"revision": name, "benchmark": benchmark} }
	for want, cells := range map[string][]flags{
		"Is b slower than a?":                          {command("a"), command("b")},
		"Which of these 3 is the fastest: a, b, c?":    {command("a"), command("b"), command("c")},
		"Is work tree slower than HEAD?":               {revision("HEAD", "X"), revision("HEAD", "Y"), revision("work tree", "X"), revision("work tree", "Y")},
		"How do the command and nice affect the time?": {flags{"command": "a", "name": "a", "nice": "0"}, flags{"command": "b", "name": "b", "nice": "1"}},
		"How does nice affect the time of gorun exec?": {flags{"nice": "0"}, flags{"nice": "1"}},
		"What did gorun exec measure?":                 {command("a")},
	} {
		run := &result.Run{Experiment: "exec", Matrix: &result.Matrix{}}
		for _, f := range cells {
			run.Cells = append(run.Cells, result.Cell{Name: f["name"], Flags: f})
		}
		assert.Equal(t, want, Views{}.Question(run))
	}
	run := &result.Run{Matrix: &result.Matrix{Baseline: 1, Compared: result.MetricColumn}, Cells: []result.Cell{
		{Name: "a", Flags: command("a")}, {Name: "b", Flags: command("b")},
	}}
	assert.Equal(t, "Is a better than b?", Views{}.Question(run), "the baseline is the second")

	for want, m := range map[string]result.Matrix{
		"Which commit made gorun exec slower?": {},
		"Which commit made gorun exec faster?": {Better: result.Higher},
		"Which commit made gorun exec worse?":  {Compared: result.MetricColumn, Better: result.Higher},
	} {
		m.History = [][]int{{}, {0}}
		assert.Equal(t, want, Views{}.Question(&result.Run{Experiment: "exec", Matrix: &m, Cells: run.Cells}))
	}
}
