package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	moremath "github.com/aclements/go-moremath/stats"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchmath"

	"gorun/internal/dev/tests"
	"gorun/internal/record/column"
	"gorun/internal/stats"
)

var (
	rivalsEqual  = flag.Int("rivals-equal", 40, "comparisons of a program with itself, for each of three programs")
	rivalsSlower = flag.Int("rivals-slower", 10, "comparisons of a program with itself and 2% more work")
)

// rivalRuns is the number of runs of each side that hyperfine takes, and that benchstat is given.
const rivalRuns = 30

// A program with itself: how often do gorun ab, hyperfine with its Welch test, and benchstat's test claim a difference, on this
// machine in the same hour? `make rivals`. Each comparison is made by all three, one after the other, in rotating order. The
// sides of hyperfine and of benchstat are measured one after the other, as these tools do.
func TestRivals(t *testing.T) {
	tests.Target(t, "rivals")
	dir := t.TempDir()
	work := buildWork(t, dir)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, make([]byte, 4<<20), 0o644))
	programs := map[string]string{
		"true": "true", "sha256sum": "sha256sum " + file, "Go program": work + " " + fmt.Sprint(workSize(t, work)),
	}
	for _, name := range []string{"true", "sha256sum", "Go program"} {
		wrong, times := map[string]int{}, map[string][]float64{}
		claims := map[string]func() (differ bool, median float64){
			"gorun":     func() (bool, float64) { return claimsGorun(t, programs[name]) },
			"hyperfine": func() (bool, float64) { return claimsHyperfine(t, dir, programs[name]) },
			"benchstat": func() (bool, float64) { return claimsBenchstat(t, programs[name]) },
		}
		tools := []string{"gorun", "hyperfine", "benchstat"}
		for i := range *rivalsEqual {
			for k := range tools {
				tool := tools[(i+k)%len(tools)]
				differ, median := claims[tool]()
				times[tool] = append(times[tool], median)
				if differ {
					wrong[tool]++
				}
			}
		}
		for _, tool := range tools {
			if *rivalsEqual > 0 {
				t.Logf("%s with itself: %s claims a difference in %d of %d comparisons; median time %.3f ms", name, tool, wrong[tool],
					*rivalsEqual, 1e3*stats.Median(times[tool]))
			}
		}
		assert.LessOrEqual(t, wrong["gorun"], max(1, *rivalsEqual/10), name)
	}

	found, size := 0, workSize(t, work)
	for i := range *rivalsSlower {
		run := runOf(t, "ab", fmt.Sprint(work, " ", size), fmt.Sprint(work, " ", size*102/100), "--budget", "60s", "--seed", fmt.Sprint(i))
		v := *run.Cells[1].Verdict
		t.Logf("2%% more work: %s; CPU time: %s", v, run.Cells[1].Verdicts[column.CPU.Name])
		assert.NotEqual(t, stats.Faster, v.Kind)
		if v.Kind == stats.Slower {
			found++
		}
	}
	if *rivalsSlower > 0 {
		t.Logf("2%% more work was found in %d of %d runs by wall time", found, *rivalsSlower)
	}
}

// buildWork builds a Go program that makes a number of steps, each of which needs the one before.
func buildWork(t *testing.T, dir string) string {
	t.Helper()
	const source = `package main

import (
	"os"
	"strconv"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	x := uint64(1)
	for range n {
		x = x*6364136223846793005 + 1442695040888963407
	}
	if x == 0 {
		os.Exit(1)
	}
}
`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "work.go"), []byte(source), 0o644))
	program := filepath.Join(dir, "work")
	build := exec.Command("go", "build", "-o", program, filepath.Join(dir, "work.go"))
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// workSize returns the number of steps that take about 10 ms here.
func workSize(t *testing.T, program string) int {
	t.Helper()
	const guess = 10_000_000
	least := time.Hour
	for range 5 {
		begun := time.Now()
		require.NoError(t, exec.Command(program, fmt.Sprint(guess)).Run())
		least = min(least, time.Since(begun))
	}
	return int(guess * 0.010 / least.Seconds())
}

func claimsGorun(t *testing.T, command string) (bool, float64) {
	t.Helper()
	run := runOf(t, "ab", command, command, "--budget", "4s")
	var seconds []float64
	for i := range run.Samples.All() {
		seconds = append(seconds, run.Samples.At(i).Seconds)
	}
	claims := claimed(run)
	if len(claims) > 0 {
		t.Logf("gorun, false: %v", claims)
	}
	return len(claims) > 0, stats.Median(seconds)
}

// claimsHyperfine judges as hyperfine's own script does (scripts/welch_ttest.py): by Welch's t-test, at 5%.
func claimsHyperfine(t *testing.T, dir, command string) (bool, float64) {
	t.Helper()
	export := filepath.Join(dir, "hyperfine.json")
	cmd := exec.Command("hyperfine", "-N", "--style", "none", "--warmup", "3", "--runs", fmt.Sprint(rivalRuns), "--export-json", export,
		command, command)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text := tests.Read(t, export)
	var doc struct{ Results []struct{ Times []float64 } }
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Len(t, doc.Results, 2)
	a, b := doc.Results[0].Times, doc.Results[1].Times
	test, err := moremath.TwoSampleWelchTTest(moremath.Sample{Xs: a}, moremath.Sample{Xs: b}, moremath.LocationDiffers)
	require.NoError(t, err)
	return test.P < 0.05, stats.Median(append(a, b...))
}

// claimsBenchstat judges by the package that benchstat judges by, with its defaults.
func claimsBenchstat(t *testing.T, command string) (bool, float64) {
	t.Helper()
	var sides [2][]float64
	for side := range sides {
		for range rivalRuns {
			cmd := exec.Command(strings.Fields(command)[0], strings.Fields(command)[1:]...)
			begun := time.Now()
			require.NoError(t, cmd.Run())
			sides[side] = append(sides[side], time.Since(begun).Seconds())
		}
	}
	thresholds := benchmath.DefaultThresholds
	a, b := benchmath.NewSample(sides[0], &thresholds), benchmath.NewSample(sides[1], &thresholds)
	compared := benchmath.AssumeNothing.Compare(a, b)
	return compared.P < compared.Alpha, stats.Median(append(sides[0], sides[1]...))
}
