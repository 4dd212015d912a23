package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/base/bytesize"
	"gorun/internal/work/numa"
)

// BenchmarkNuma compares the probe with plain C that makes the same accesses, on the last CPU allowed. Both run in one process
// over the same buffer, in turn, and each is first in every other round. They make the accesses that take 0.1 s, rounded up to
// whole passes over the buffer. ns/access-numa is the figure of `gorun numa` for the same accesses, on other pages.
func BenchmarkNuma(b *testing.B) {
	const runNS = 100e6
	const source, kernel = "../../internal/work/numa/testdata/rival.c", "../../csrc/probe.c"
	gorun, path := built(b), compiled(b, source, kernel)
	cpu := strconv.Itoa(allowed(b).Last())
	measure := func(b *testing.B, access string, bytes, accesses int, pages, first string) (probe, plain float64) {
		cmd := exec.CommandContext(b.Context(), path, access, strconv.Itoa(bytes), strconv.Itoa(accesses), pages, cpu, first)
		out, err := cmd.Output()
		require.NoError(b, err)
		_, err = fmt.Sscan(string(out), &probe, &plain)
		require.NoError(b, err)
		return probe, plain
	}
	for _, access := range []string{"random", "sequential", "chase"} {
		for _, bytes := range []int{32 << 10, 1 << 20, 32 << 20, 256 << 20, 1 << 30} {
			for _, pages := range []string{"4k", "thp"} {
				size := bytesize.Format(uint64(bytes))
				b.Run(fmt.Sprintf("%s/%s/%s", access, size, pages), func(b *testing.B) {
					pass := bytes / csrc.ProbeLine // accesses of one pass over the buffer
					if access == "sequential" {
						pass = bytes / 8
					}
					_, ns := measure(b, access, bytes, 1<<20, pages, "probe")
					accesses := pass * (1 + int(runNS/ns)/pass)
					var own, others, ratios, numas []float64
					for round := range b.N {
						probe, plain := measure(b, access, bytes, accesses, pages, []string{"probe", "plain"}[round%2])
						own, others, ratios = append(own, probe), append(others, plain), append(ratios, probe/plain)
						var v numa.Figures
						oneSample(b, gorun, &v, "numa", "--access", access, "--buffer", size, "--pages", pages,
							"--mem", "float", "--cpu", "float", "--numa-balancing", "keep", "--preferred-node", "none", "--load", "0",
							"--accesses", strconv.Itoa(accesses), "--repetitions", "1", "--warmup", "0", "--cpus", cpu)
						if small := v.PageBytes[uint64(os.Getpagesize())]; pages == "thp" && small > 0 {
							b.Skipf("%d of %d bytes are not in huge pages", small, bytes)
						}
						numas = append(numas, v.NsPerAccess)
					}
					reportBeside(b, own, others, ratios, "ns/access")
					b.ReportMetric(middle(numas), "ns/access-numa")
				})
			}
		}
	}
}
