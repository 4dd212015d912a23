package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/linux"
)

// children returns the processes that a process has started (PPid of proc_pid_stat(5)).
func children(t *testing.T, pid int) (pids []int) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		name := bytes.LastIndexByte(stat, ')') // the name may contain anything
		if fields := bytes.Fields(stat[name+1:]); string(fields[1]) == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			require.NoError(t, err)
			pids = append(pids, child)
		}
	}
	return pids
}

// Nothing is left of a pair whose gorun is killed: every process of it holds the end of a pipe, which reads as closed
// when the last one is gone.
func TestPairLeavesNoProcess(t *testing.T) {
	if !linux.Cgo {
		t.Skip("a build without cgo has no kernels")
	}
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	for _, args := range [][]string{
		{strconv.Itoa(allowed.First()), strconv.Itoa(allowed.Last()), "1000000000000"},
		{"--auto", "1000000000000", "--work", "pingpong-pipe"},
	} {
		t.Run(args[0], func(t *testing.T) {
			held, end, err := os.Pipe()
			require.NoError(t, err)
			defer held.Close()
			gorun := gorunCommand(append([]string{"pair", "--quiet"}, args...)...)
			gorun.ExtraFiles = slices.Repeat([]*os.File{end}, 8) // more descriptors than gorun passes to a process of the pair
			require.NoError(t, gorun.Start())
			require.NoError(t, end.Close())
			ended := make(chan error, 1)
			go func() { ended <- gorun.Wait() }()
			var pair []int
			for len(pair) < 2 {
				pair = children(t, gorun.Process.Pid)
				select {
				case err := <-ended:
					require.FailNow(t, "it ended before it was killed", "%v", err)
				case <-time.After(time.Millisecond):
				}
			}
			require.NoError(t, gorun.Process.Kill())
			require.Error(t, <-ended)
			require.NoError(t, held.SetReadDeadline(time.Now().Add(time.Minute)))
			if _, err = io.ReadAll(held); !assert.NoError(t, err, "a process of the pair lives on") {
				for _, pid := range pair {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		})
	}
}
