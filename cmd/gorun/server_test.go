package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cgroup/cgrouptest"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
	"gorun/internal/work/command"
)

// ticks is more than the error of /proc/stat, in seconds.
const ticks = 0.1

// TestLiveServer measures a command while another process is busy: it makes samples suspect, unless it is named as the server of the
// command.
func TestLiveServer(t *testing.T) {
	tests.Live(t)
	cpus := tests.CPUs(t, 2)
	for flag, pinned := range map[string]bool{"--with-pid": false, "--with-cgroup": true} {
		t.Run(flag, func(t *testing.T) {
			group := ""
			if flag == "--with-cgroup" {
				group = cgrouptest.Counted(t)
			}
			server := exec.Command("sh", "-c", "while :; do :; done")
			require.NoError(t, server.Start())
			t.Cleanup(func() { // before the group is removed
				require.NoError(t, server.Process.Kill())
				_ = server.Wait() // it was killed
			})
			named := strconv.Itoa(server.Process.Pid)
			if pinned {
				require.NoError(t, linux.SetAffinity(server.Process.Pid, cpuset.Of(cpus[0])))
			}
			if group != "" {
				require.NoError(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(named), 0))
				named = group
			}
			tests.Await(t, "sample that is suspect because of it", func() bool {
				_, doubted := sampled(t)
				return doubted > 0
			})
			for range 5 {
				samples, doubted := sampled(t, flag, named)
				for _, s := range samples {
					v, _ := result.Typed[command.Figures](&s)
					require.NotNil(t, v.ServerSeconds)
					sig := s.Quality.Signals
					if sig.OtherSeconds != nil {
						assert.LessOrEqual(t, *sig.OtherSeconds, sig.WatchedSeconds*float64(allowed(t).Len())-*v.ServerSeconds+ticks)
					}
				}
				if doubted < len(samples) {
					return
				}
			}
			t.Skip("needs a machine that other programs leave idle")
		})
	}
}

// sampled takes samples of a command that sleeps, and counts those in which other programs used a CPU.
func sampled(t *testing.T, flags ...string) (samples []result.Sample, doubted int) {
	t.Helper()
	args := append([]string{"exec", "--placements", "unbound,one-cpu", "--samples", "1", "--warmup", "0"}, flags...)
	samples = tests.Values(runOf(t, append(args, "--", "sleep", "0.2")...).Samples.All())
	for _, s := range samples {
		if strings.Contains(strings.Join(s.Quality.Reasons, ";"), "other programs used") {
			doubted++
		}
	}
	return samples, doubted
}
