package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/machine/topology/topologytest"
)

// mostDryRun is the time after which a dry run is ended, so that the benchmark ends even if one takes far too long.
const mostDryRun = 2 * time.Minute

// BenchmarkDryRun measures each dry run on generated machines: its time, its CPU time and, if strace(1) is in PATH, how many
// files it opens. GORUN_BEFORE names another gorun, which is measured in turn with this one. Each machine is one file, or with
// GORUN_DIR=1 a directory, which takes longer to write.
func BenchmarkDryRun(b *testing.B) {
	rivals := []struct{ name, path string }{{"now", built(b)}}
	if before := os.Getenv("GORUN_BEFORE"); before != "" {
		rivals = append(rivals, struct{ name, path string }{"before", before})
	}
	for _, machine := range []topologytest.Large{
		{CPUs: 2, Nodes: 1}, {CPUs: 256, Nodes: 2}, {CPUs: 1024, Nodes: 8}, {CPUs: 4096, Nodes: 32},
	} {
		sysroot, write := filepath.Join(b.TempDir(), "machine.txtar"), machine.WriteArchive
		if os.Getenv("GORUN_DIR") != "" {
			sysroot, write = b.TempDir(), machine.WriteDir
		}
		require.NoError(b, write(sysroot))
		for _, c := range dryRuns {
			args := strings.Fields(strings.Replace(c.args, "MACHINE", "--sysroot="+sysroot, 1))
			for _, rival := range rivals {
				b.Run(fmt.Sprintf("%d-CPUs/%s/%s", machine.CPUs, c.name, rival.name), func(b *testing.B) {
					var wall, cpu []float64
					for range b.N {
						ctx, cancel := context.WithTimeout(b.Context(), mostDryRun)
						cmd := exec.CommandContext(ctx, rival.path, args...)
						begun := time.Now()
						out, err := cmd.CombinedOutput()
						cancel()
						if err != nil {
							b.Skipf("%v: %.200s", err, out)
						}
						wall = append(wall, time.Since(begun).Seconds())
						cpu = append(cpu, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds())
					}
					b.ReportMetric(middle(wall), "s")
					b.ReportMetric(middle(cpu), "cpu-s")
					if opens, ok := opensOf(b, rival.path, args); ok {
						b.ReportMetric(opens, "opens")
					}
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// openCall matches a line of strace on which a call begins. The call may end on another line.
var openCall = regexp.MustCompile(`(?m)^[0-9]+ +open`)

// opensOf returns how many files a command opens, including its libraries. It returns false without strace, or if the command
// takes longer than mostDryRun.
func opensOf(b *testing.B, path string, args []string) (float64, bool) {
	calls := filepath.Join(b.TempDir(), "calls")
	words := append([]string{"-f", "-I2", "--seccomp-bpf", "-qq", "-e", "trace=open,openat,openat2", "-e", "signal=none", "-o", calls, path}, args...)
	ctx, cancel := context.WithTimeout(b.Context(), mostDryRun)
	defer cancel()
	cmd := exec.CommandContext(ctx, "strace", words...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // strace then ends the command too
	if cmd.Run() != nil {
		return 0, false
	}
	text := tests.Read(b, calls)
	return float64(len(openCall.FindAll(text, -1))), true
}
