package main

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/work/pair"
)

// pairLoops are the loops of a process: they take 1 to 3 s, which is long compared with the time slices of two on one CPU.
const pairLoops = "10000000"

// pairOf measures two processes once.
func pairOf(b *testing.B, gorun string, cpus [2]string) (v pair.Figures) {
	oneSample(b, gorun, &v, "pair", cpus[0], cpus[1], pairLoops, "--warmup", "0")
	return v
}

// onTwoCPUs returns two pairs of CPUs: the first CPU twice, and the first two CPUs.
func onTwoCPUs(b *testing.B) (same, apart [2]string) {
	cpus := tests.CPUs(b, 2)
	first, second := strconv.Itoa(cpus[0]), strconv.Itoa(cpus[1])
	return [2]string{first, first}, [2]string{first, second}
}

// BenchmarkPairOneCPU compares two processes on one CPU with two on two CPUs, in turn: the real time is about twice as long.
func BenchmarkPairOneCPU(b *testing.B) {
	same, apart := onTwoCPUs(b)
	gorun := built(b)
	var own, others, ratios []float64
	for range b.N {
		own = append(own, pairOf(b, gorun, same).NsPerLoop)
		others = append(others, pairOf(b, gorun, apart).NsPerLoop)
		ratios = append(ratios, own[len(own)-1]/others[len(others)-1])
	}
	reportBeside(b, own, others, ratios, "ns/loop")
}

// BenchmarkPairCalls compares the system calls per second with those of a plain C program, in turn.
func BenchmarkPairCalls(b *testing.B) {
	const source = "../../internal/work/pair/testdata/rival.c"
	same, apart := onTwoCPUs(b)
	gorun, path := built(b), compiled(b, source, "-lm")
	for name, cpus := range map[string][2]string{"cpus=1": same, "cpus=2": apart} {
		b.Run(name, func(b *testing.B) {
			var own, others, ratios []float64
			for range b.N {
				own = append(own, pairOf(b, gorun, cpus).CallsPerSecond)
				out, err := exec.CommandContext(b.Context(), path, pairLoops, cpus[0], cpus[1]).Output()
				require.NoError(b, err)
				calls, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				require.NoError(b, err)
				others = append(others, calls)
				ratios = append(ratios, own[len(own)-1]/calls)
			}
			reportBeside(b, own, others, ratios, "calls/s")
		})
	}
}
