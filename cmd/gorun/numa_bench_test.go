package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/linux"
	"gorun/internal/numa"
	"gorun/internal/result"
)

// BenchmarkNuma sets the probe beside a plain C program that makes the same accesses: a process each, in turn, on the
// last CPU allowed, as many accesses as take 0.1 s, rounded up to whole passes over the buffer. A round is a run of
// both.
func BenchmarkNuma(b *testing.B) {
	const runNS = 100e6
	const source = "../../internal/numa/testdata/rival.c"
	gorun, path := built(b), filepath.Join(b.TempDir(), "rival")
	out, err := exec.CommandContext(b.Context(), "cc", "-O2", "-o", path, source).CombinedOutput()
	require.NoError(b, err, "%s", out)
	allowed, err := linux.GetAffinity(0)
	require.NoError(b, err)
	cpu := strconv.Itoa(allowed.Last())
	rival := func(b *testing.B, access string, bytes, accesses int, pages string) float64 {
		cmd := exec.CommandContext(b.Context(), path, access, strconv.Itoa(bytes), strconv.Itoa(accesses), pages, cpu)
		out, err := cmd.Output()
		require.NoError(b, err)
		ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		require.NoError(b, err)
		return ns
	}
	for _, access := range []string{"random", "sequential", "chase"} {
		for _, bytes := range []int{32 << 10, 1 << 20, 32 << 20, 256 << 20, 1 << 30} {
			for _, pages := range []string{"4k", "thp"} {
				size := numa.FormatBytes(uint64(bytes))
				b.Run(fmt.Sprintf("%s/%s/%s", access, size, pages), func(b *testing.B) {
					pass := bytes / csrc.ProbeLine // accesses that take in the whole buffer
					if access == "sequential" {
						pass = bytes / 8
					}
					accesses := pass * (1 + int(runNS/rival(b, access, bytes, 1<<20, pages))/pass)
					var own, others, ratios []float64
					for range b.N {
						var v result.Numa
						oneSample(b, gorun, &v, "numa", "--access", access, "--buffer", size, "--pages", pages,
							"--mem", "float", "--cpu", "float", "--numa-balancing", "keep", "--preferred-node", "none", "--load", "0",
							"--accesses", strconv.Itoa(accesses), "--repetitions", "1", "--warmup", "0", "--cpus", cpu)
						if small := v.PageBytes[strconv.Itoa(os.Getpagesize())]; pages == "thp" && small > 0 {
							b.Skipf("%d of %d bytes are not in huge pages", small, bytes)
						}
						own = append(own, v.NsPerAccess)
						others = append(others, rival(b, access, bytes, accesses, pages))
						ratios = append(ratios, own[len(own)-1]/others[len(others)-1])
					}
					reportBeside(b, own, others, ratios, "ns/access")
				})
			}
		}
	}
}
