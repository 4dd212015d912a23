package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// Each thread has a row with what its last worker found: its nice value, its policy and its CPU.
func TestThreads(t *testing.T) {
	nice := func(n int) *int { return &n }
	s := &result.Sample{WorkersDetail: []result.WorkerDetail{
		{Worker: 0, TIDStart: 43, TIDEnd: 43, Nice: nice(5), Policy: "other", CPUEnd: 1},
		{Worker: 1, TIDStart: 42, TIDEnd: 42, Nice: nice(-3), Policy: "batch"},
		{Worker: 2, TIDStart: 42, TIDEnd: 43, Nice: nice(6), Policy: "other", CPUEnd: 7},
		{Worker: 3, TIDStart: 44, TIDEnd: 44, Policy: "fifo:1"},
	}}
	assert.Equal(t, "Threads in sample 1\n"+
		"  thread  nice  policy  CPU  workers\n"+
		"      43     6  other     7        2\n"+
		"      42    -3  batch     0        1\n"+
		"      44     -  fifo:1    0        1\n", threadsBlock(s, " in sample 1", term.Options{}))
	assert.Contains(t, workersBlock(s, "", term.Options{}), "thread  nice")

	for i := range s.WorkersDetail { // as an older gorun wrote it
		s.WorkersDetail[i].Nice, s.WorkersDetail[i].Policy = nil, ""
	}
	assert.Empty(t, threadsBlock(s, "", term.Options{}))
	assert.NotContains(t, workersBlock(s, "", term.Options{}), "nice")
	for i := range s.WorkersDetail { // executors
		s.WorkersDetail[i].Nice, s.WorkersDetail[i].TIDEnd = nice(0), 0
	}
	assert.Empty(t, threadsBlock(s, "", term.Options{}))
}
