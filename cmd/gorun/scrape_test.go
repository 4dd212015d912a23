package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
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
	"gorun/internal/stats"
)

// scrape reads the metrics. It returns an error if the scrape was refused or ctx ended.
func scrape(ctx context.Context, metrics string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, metrics, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// compared is the verdict by one of a run's times, and that of its control.
type compared struct {
	by               string
	verdict, control stats.Verdict
}

// interleaved compares samples of a run while do disturbs it with samples without do, in random order, round by round. The
// control compares the latter among themselves. All samples are of one process, so that its start and the addresses of its
// pages are the same, and each takes about this many seconds. Wall time decides; CPU time depends less on other programs. do
// ends when its context does.
func interleaved(
	t testing.TB, rounds int, margin, seconds float64, do func(ctx context.Context, metrics string),
) []compared {
	next := sampling(t, limitOf(t, seconds))
	measure := func(done bool) result.Sample {
		ctx, cancel := context.WithCancel(t.Context())
		var doing sync.WaitGroup
		defer doing.Wait()
		defer cancel()
		return next(func(metrics string) {
			if done {
				doing.Go(func() { do(ctx, metrics) })
			}
		})
	}
	for range 3 {
		measure(false) // caches, pages and clocks settle
	}
	times := []struct {
		by    string
		time  func(result.Sample) float64
		judge *stats.Judge
	}{
		{by: "wall time", time: func(s result.Sample) float64 { return s.Seconds }},
		{by: "CPU time", time: result.Sample.CPUSeconds},
	}
	seed := uint64(time.Now().UnixNano())
	for i := range times {
		var err error
		times[i].judge, err = stats.NewJudge(stats.Design{
			Seed: seed, Cells: []string{"alone", "done"}, Alpha: 0.05, Margin: margin, Precision: margin, Until: stats.Until{Rounds: rounds},
		})
		require.NoError(t, err)
	}
	for !times[0].judge.Done() {
		round := times[0].judge.Next() // both times have the same schedule
		var samples []result.Sample
		for _, block := range round {
			for _, cell := range block {
				samples = append(samples, measure(cell == 1))
			}
		}
		for _, by := range times {
			seconds := make([]float64, len(samples))
			for i, sample := range samples {
				seconds[i] = by.time(sample)
			}
			require.NoError(t, by.judge.Add(round, seconds))
		}
	}
	var all []compared
	for _, by := range times {
		all = append(all, compared{by.by, by.judge.Verdicts(0)[1], by.judge.ControlVerdict()})
	}
	return all
}

// primesRun runs a fixed amount of work on all CPUs.
func primesRun(limit, samples int) []string {
	return []string{
		"primes", "--limit", strconv.Itoa(limit), "--workers", "16", "--split", "dynamic", "--budget", "0",
		"--samples", strconv.Itoa(samples), "--warmup", "0",
	}
}

// limitOf returns the limit with which such a run takes about this many seconds here. The time grows with its square.
func limitOf(t testing.TB, seconds float64) int {
	const guess, samples = 100_000, 9
	var took []float64
	for _, sample := range runOf(t, primesRun(guess, samples)...).Samples {
		took = append(took, sample.Seconds)
	}
	return int(guess * math.Sqrt(seconds/middle(took)))
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

// BenchmarkMetrics compares samples of a run that serves its metrics while clients scrape them with samples without scrapes, in
// b.N rounds: a client asks once a second, as a server does. A run counts the same things whether it serves metrics or not; only
// the scrapes cost time. It reports the ratios of the times of samples of about a second with and without the client.
func BenchmarkMetrics(b *testing.B) {
	for _, c := range interleaved(b, b.N, 0.005, 1, func(ctx context.Context, metrics string) {
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
			_ = scrape(ctx, metrics)
		}
	}) {
		b.Logf("metrics on ÷ off, by %s: %s; off ÷ off: %s", c.by, c.verdict, c.control)
		unit := strings.ReplaceAll(c.by, " ", "-") + "-on/off"
		b.ReportMetric(c.verdict.Typical.Ratio, unit)
	}
	b.ReportMetric(0, "ns/op")
}
