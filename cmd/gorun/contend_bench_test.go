package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
	"gorun/internal/work/c2c"
	"gorun/internal/work/contend"
)

// compiled builds a program from sources in C, and returns its path.
func compiled(t testing.TB, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	out, err := exec.Command("cc", append([]string{"-O2", "-pthread", "-D_GNU_SOURCE", "-o", path}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// rival builds the plain C program that makes the same operations.
func rival(b *testing.B) string { return compiled(b, "../../internal/work/contend/testdata/rival.c") }

// contender measures the given number of operations on these CPUs, and returns ns per operation.
type contender func(b *testing.B, op string, count int, cpus []int) float64

func rivalContender(path string) contender {
	return func(b *testing.B, op string, count int, cpus []int) float64 {
		args := []string{op, strconv.Itoa(count)}
		for _, cpu := range cpus {
			args = append(args, strconv.Itoa(cpu))
		}
		out, err := exec.CommandContext(b.Context(), path, args...).Output()
		require.NoError(b, err)
		ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		require.NoError(b, err)
		return ns
	}
}

// ccontContender runs the reference tool. Its table has a row for each number of CPUs: "CPUs **-- ---- 2 cmpxchg
// min max avg stdev".
func ccontContender(path string) contender {
	return func(b *testing.B, op string, _ int, cpus []int) float64 {
		out, err := exec.CommandContext(b.Context(), path, "--load", "cpu-increase", "--op", op).Output()
		require.NoError(b, err)
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			if n := len(fields); n > 6 && fields[0] == "CPUs" && fields[n-6] == strconv.Itoa(len(cpus)) {
				ns, err := strconv.ParseFloat(fields[n-2], 64)
				require.NoError(b, err)
				return ns
			}
		}
		require.FailNow(b, "ccont has no row of as many CPUs", "%d in %s", len(cpus), out)
		return 0
	}
}

// oneSample runs gorun and decodes the values of its only sample.
func oneSample(b *testing.B, gorun string, values any, args ...string) {
	out, err := exec.CommandContext(b.Context(), gorun, append(args, "--samples", "1", "--format", "json")...).Output()
	require.NoError(b, err)
	var run result.Run
	require.NoError(b, json.Unmarshal(out, &run))
	require.Equal(b, 1, run.Samples.Len())
	text, err := json.Marshal(run.Samples.At(0).Values)
	require.NoError(b, err)
	require.NoError(b, json.Unmarshal(text, values))
}

// BenchmarkContend compares each operation with the reference tool, if ccont is in PATH, else with the plain C program. Both
// run in turn, each in its own process, with --count, on one CPU and on two. A round is a run of both.
func BenchmarkContend(b *testing.B) {
	const runNS = 60e6 // the work of a thread
	gorun, plain := built(b), rivalContender(rival(b))
	other := plain
	if path, err := exec.LookPath("ccont"); err == nil {
		other = ccontContender(path)
	}
	cpus := allowed(b).List()
	for _, op := range []string{
		"xadd", "cmpxchg", "xchg", "mov+mfence", "mfence", "lfence", "sfence", "syscall",
		"idle", "memset64", "memset128", "memset256", "test_bit", "set_bit", "inc", "load", "store", "cas-loop",
	} {
		for n := 1; n <= min(2, len(cpus)); n++ {
			b.Run(fmt.Sprintf("%s/cpus=%d", op, n), func(b *testing.B) {
				count := int(runNS / plain(b, op, 100_000, cpus[:n]))
				var own, others, ratios, fixed []float64
				for range b.N {
					var v contend.Figures
					oneSample(b, gorun, &v, "contend", "--op", op, "--count", strconv.Itoa(count), "--cpus", cpuset.Of(cpus[:n]...).String())
					own, fixed = append(own, v.NsPerOp), append(fixed, 1e3*v.FixedSeconds)
					others = append(others, other(b, op, count, cpus[:n]))
					ratios = append(ratios, own[len(own)-1]/others[len(others)-1])
				}
				reportBeside(b, own, others, ratios, "ns/op")
				b.ReportMetric(middle(fixed), "ms-fixed")
			})
		}
	}
}

// BenchmarkC2C compares the latency between the first two CPUs with the plain C program's, in turn.
func BenchmarkC2C(b *testing.B) {
	gorun, path := built(b), rival(b)
	pair := tests.CPUs(b, 2)
	for _, method := range []string{"cas", "write", "faa"} {
		b.Run(method, func(b *testing.B) {
			var own, others, ratios []float64
			for range b.N {
				var v c2c.Figures
				oneSample(b, gorun, &v, "c2c", "--method", method, "--cpus", cpuset.Of(pair...).String())
				out, err := exec.CommandContext(b.Context(), path, "c2c", method, "300000", strconv.Itoa(pair[0]), strconv.Itoa(pair[1])).Output()
				require.NoError(b, err)
				ns, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				require.NoError(b, err)
				mean := v.OneWay.Mean // the C program prints the mean; gorun shows the median, which other programs disturb less
				own, others = append(own, mean), append(others, ns)
				ratios = append(ratios, mean/ns)
			}
			reportBeside(b, own, others, ratios, "ns")
		})
	}
}

// reportBeside reports both medians, their ratio, and the distance between the quartiles of the rounds' ratios.
func reportBeside(b *testing.B, own, others, ratios []float64, unit string) {
	b.ReportMetric(middle(own), unit+"-gorun")
	b.ReportMetric(middle(others), unit+"-other")
	b.ReportMetric(middle(own)/middle(others), "ratio")
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)*3/4]-ratios[len(ratios)/4], "spread")
	b.ReportMetric(0, "ns/op")
}
