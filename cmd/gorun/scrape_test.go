package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/linux"
	"gorun/internal/record/result"
)

// scrape reads the metrics in the middle of a sample, as a server does that asks once a second. It ends when ctx does.
func scrape(ctx context.Context, metrics string) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(500 * time.Millisecond):
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, nil)
	if err != nil {
		return
	}
	if response, err := http.DefaultClient.Do(request); err == nil {
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
}

// primesRun runs a fixed amount of work on all CPUs.
func primesRun(limit, samples int) []string {
	return []string{
		"primes", "--limit", strconv.Itoa(limit), "--workers", "16", "--split", "dynamic", "--budget", "0",
		"--samples", strconv.Itoa(samples), "--warmup", "0",
	}
}

// limitOf returns the limit with which such a run takes about this many seconds here. The time grows with its square.
func limitOf(t testing.TB, seconds float64, args func(limit, samples int) []string) int {
	const guess, samples = 20_000, 9
	run := runOf(t, args(guess, samples)...)
	return int(guess * math.Sqrt(seconds/run.Summary.Seconds.Median))
}

// sampling starts a run that serves its metrics and takes samples until the test ends. It writes each sample to a pipe. next
// calls begun when a sample begins, and returns that sample.
func sampling(t testing.TB, limit int) (next func(begun func(metrics string)) result.Sample) {
	lines, journal, err := os.Pipe()
	require.NoError(t, err)
	cmd := gorunCommand(append(primesRun(limit, 1_000_000_000), "--quiet", "--metrics-listen", "127.0.0.1:0", "--out", "/dev/fd/3")...)
	cmd.ExtraFiles = []*os.File{journal}
	cmd.SysProcAttr = linux.ChildAttr()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, journal.Close())
	said := bufio.NewReader(stderr)
	line, err := said.ReadString('\n')
	require.NoError(t, err)
	metrics := strings.TrimSpace(strings.TrimPrefix(line, "gorun: metrics at "))
	t.Cleanup(func() {
		assert.NoError(t, lines.Close())
		assert.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	})
	reader := bufio.NewReader(lines)
	read := func() (line result.Line) {
		text, err := reader.ReadBytes('\n')
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &line))
		return line
	}
	require.NotNil(t, read().Header)
	return func(begun func(metrics string)) result.Sample {
		begun(metrics)
		line := read()
		require.NotNil(t, line.Sample)
		return *line.Sample
	}
}

// BenchmarkMetrics compares samples of about a second of a run that serves its metrics: those that a client scrapes, and those that it
// leaves alone, in random order in each of b.N rounds. All are of one process, so that its start and the addresses of its pages are the
// same. A run counts the same things whether it serves metrics or not; only the scrapes cost time.
func BenchmarkMetrics(b *testing.B) {
	next := sampling(b, limitOf(b, 1, primesRun))
	for range 3 {
		next(func(string) {}) // caches, pages and clocks settle
	}
	var wall, cpu [2][]float64 // alone, scraped
	for range b.N {
		for _, scraped := range rand.Perm(2) {
			ctx, cancel := context.WithCancel(b.Context())
			var client sync.WaitGroup
			s := next(func(metrics string) {
				if scraped == 1 {
					client.Go(func() { scrape(ctx, metrics) })
				}
			})
			cancel()
			client.Wait()
			wall[scraped], cpu[scraped] = append(wall[scraped], s.Seconds), append(cpu[scraped], s.CPUSeconds())
		}
	}
	for by, seconds := range map[string][2][]float64{"wall-time": wall, "CPU-time": cpu} {
		var ratios []float64
		for i, alone := range seconds[0] {
			ratios = append(ratios, seconds[1][i]/alone)
		}
		b.ReportMetric(middle(ratios), by+"-on/off")
		b.ReportMetric(ratios[len(ratios)*3/4]-ratios[len(ratios)/4], by+"-spread")
	}
	b.ReportMetric(0, "ns/op")
}
