package main

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/start/process"
	"gorun/internal/stats"
	"gorun/internal/work/bind"
)

// No process is left of a run whose gorun is killed: each holds the end of a pipe, which reads as closed when the last one has
// ended.
func TestLiveKilledLeavesNoProcess(t *testing.T) {
	tests.Live(t)
	for _, m := range measures {
		if m.below == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			held, end, err := os.Pipe()
			require.NoError(t, err)
			defer held.Close()
			h := harm(t, t.TempDir(), m.args, func(args ...string) *exec.Cmd {
				cmd := gorunCommand(args...)
				cmd.ExtraFiles = slices.Repeat([]*os.File{end}, 8) // more descriptors than gorun passes to a process
				return cmd
			})
			require.NoError(t, end.Close())
			h.await("process", func() bool { return tests.Descendant(t, h.cmd.Process.Pid, m.below) != 0 })
			require.NoError(t, h.cmd.Process.Kill())
			require.Error(t, <-h.over)
			require.NoError(t, held.SetReadDeadline(time.Now().Add(tests.Hang)))
			_, err = io.ReadAll(held)
			assert.NoError(t, err, "a process lives on")
		})
	}
}

// A process of bind that is taken off its CPU behind gorun's back makes its trial invalid, and so the verdict.
func TestLiveBindUnboundOnPurpose(t *testing.T) {
	tests.Live(t)
	cpus := tests.CPUs(t, 2)
	here, there := cpus[0], cpus[1]
	var run result.Run
	strays := func() (strays []bind.Process) {
		figures, ok := result.Typed[bind.Figures](run.Samples.At(0))
		require.True(t, ok)
		assert.True(t, figures.Bound)
		require.Len(t, figures.Processes, 2)
		for _, p := range figures.Processes {
			assert.Equal(t, here, p.CPU)
			assert.True(t, p.Partial)
			if p.Deviations > 0 {
				strays = append(strays, p)
			}
		}
		return strays
	}
	// A trial reports nothing before it ends. It is moved and ended again, with more CPU time between, until it has checked its
	// CPU there.
	checks := time.Millisecond
	tests.Await(t, "deviation", func() bool {
		checks *= 2
		// The seed gives a first trial that is bound.
		h := harm(t, t.TempDir(), "bind --processes 2 --trials 10 --checks 1000000000000 --array 64KiB --passes 1 --seed 7 --cpus "+
			strconv.Itoa(here), gorunCommand)
		victim := 0
		h.await("bound process", func() bool {
			victim = tests.Descendant(t, h.cmd.Process.Pid, process.Command)
			is, err := linux.GetAffinity(victim)
			return victim != 0 && err == nil && is.String() == cpuset.Of(here).String()
		})
		tids, err := linux.TasksOf(victim)
		require.NoError(t, err)
		for _, tid := range tids {
			_ = linux.SetAffinity(tid, cpuset.Of(there)) // it may have ended
		}
		// It ends with its trial if it was moved before it began to check.
		moved, err := linux.ProcessCPUTime(victim)
		h.await("CPU time", func() bool {
			var now time.Duration
			if err == nil {
				now, err = linux.ProcessCPUTime(victim)
			}
			return err != nil || now > moved+checks
		})
		run = h.end()
		return err == nil && run.Samples.Len() == 1 && len(strays()) == 1
	})
	sample := run.Samples.At(0)
	assert.True(t, sample.Partial)
	assert.False(t, sample.Placement.Verified)
	assert.Equal(t, result.Invalid, sample.Quality.Grade)
	stray := strays()[0]
	assert.Equal(t, map[int]uint64{there: stray.Deviations}, stray.MovedTo)
	assert.Equal(t, stats.Invalid, run.Cells[1].Verdict.Kind)
	assert.Regexp(t, `^invalid: the placement is not the requested one: process \d: asked for CPUs \d+, the kernel answers CPUs \d+$`,
		run.Cells[1].Words)
	require.Len(t, run.Findings, 1)
	assert.Equal(t, "deviations-bound", run.Findings[0].Code)
	assert.Positive(t, run.Findings[0].Value)
}
