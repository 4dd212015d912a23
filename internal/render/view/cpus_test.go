package view

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// Many CPUs must not push the rest off the screen, and what is left out is counted.
func TestTableCapsCPUs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 600).Draw(t, "CPUs")
		s := &result.Sample{Seconds: 2.8}
		busy := 0
		for cpu := range n {
			workers := rapid.IntRange(0, 2).Draw(t, "workers")
			if workers > 0 {
				busy++
			}
			s.CPUs = append(s.CPUs, result.CPU{CPU: cpu, Workers: workers})
		}
		lines := strings.Split(cpusBlock(s, "", term.Options{}), "\n")
		assert.LessOrEqual(t, len(lines), maxCPURows+5)
		page := strings.Join(lines, "\n")
		if busy > maxCPURows {
			assert.Contains(t, page, "… and "+strconv.Itoa(busy-2*edgeRows)+" more in between")
		} else {
			assert.NotContains(t, page, "more in between")
		}
		if idle := n - busy; idle > 1 {
			assert.Contains(t, page, "("+strconv.Itoa(idle)+" CPUs)")
		}
	})
}

func TestBar(t *testing.T) {
	opts := term.Options{Terminal: true, Width: barFrom + 16}
	for _, c := range []struct {
		share float64
		want  string
	}{
		{0, ""},
		{-1, ""},
		{1.0 / 128, "▏"},
		{0.5, strings.Repeat("█", 8)},
		{0.5 + 3.0/128, strings.Repeat("█", 8) + "▍"},
		{1, strings.Repeat("█", 16)},
		{1.7, strings.Repeat("█", 16)},
	} {
		assert.Equal(t, c.want, bar(c.share, opts), "%v", c.share)
	}
	assert.Empty(t, bar(1, term.Options{Terminal: true, Width: barFrom + minBar - 1}))
	assert.Equal(t, maxBar, text.StringWidth(bar(1, term.Options{Terminal: true, Width: 500})))
}
