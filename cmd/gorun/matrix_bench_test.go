package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/files/input"
	"gorun/internal/files/jsonl"
	"gorun/internal/judge/matrix"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
)

// built returns the path of a gorun that it builds: the test binary takes longer to start.
func built(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "gorun")
	out, err := exec.CommandContext(b.Context(), "go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(b, err, "%s", out)
	return path
}

// BenchmarkLongJournal judges a journal of 10,000 samples in a process of its own. rival only decodes the lines of the same
// file.
func BenchmarkLongJournal(b *testing.B) {
	path, gorun := longJournal(b, 10_000), built(b)
	var own, rival, memory []float64
	for range b.N {
		cmd := exec.CommandContext(b.Context(), gorun, "compare", path)
		begun := time.Now()
		_, err := cmd.Output()
		require.NoError(b, err)
		own = append(own, time.Since(begun).Seconds())
		memory = append(memory, float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1024)

		begun = time.Now()
		text := tests.Read(b, path)
		for line := range bytes.Lines(text) {
			var any map[string]any
			require.NoError(b, json.Unmarshal(line, &any))
		}
		rival = append(rival, time.Since(begun).Seconds())
	}
	b.ReportMetric(middle(own), "s/judge")
	b.ReportMetric(middle(memory), "MiB")
	b.ReportMetric(middle(own)/middle(rival), "x-decoding")
	b.ReportMetric(0, "ns/op")
}

// longJournal returns a journal of this many samples: real ones, repeated.
func longJournal(tb testing.TB, samples int) string {
	path := filepath.Join(tb.TempDir(), "long.jsonl")
	seed := filepath.Join(tb.TempDir(), "seed.jsonl")
	rounds := samples / 10 // 8 cells, the control, and a second baseline
	_, err := gorunCommand("matrix", "primes", "--limit", "2000", "--workers", "1,2,3,4,5,6,7,8", "--samples",
		"1", "--warmup", "1", "--out", seed, "--quiet").Output()
	require.NoError(tb, err)
	run, err := readJournal(tb.Context(), input.Opener{}, seed)
	require.NoError(tb, err)
	real := tests.Values(run.Samples.All())
	run = run.Header()
	run.Matrix.Rounds = rounds
	var text []byte // journal.Writer would wait for the disk 10,000 times
	add := func(line result.Line) {
		sealed, err := jsonl.Marshal(line)
		require.NoError(tb, err)
		text = append(text, sealed...)
	}
	columns, _ := render.Views(rows).Known(run.Experiment)
	board, err := matrix.NewJudging(run, columns)
	require.NoError(tb, err)
	add(result.Line{Header: run})
	for i := 0; !board.Done(); i++ {
		slot := board.Next()
		s := real[i%len(real)]
		longer := 1 + float64(i*7919%1000)/1e4
		s.Seconds *= longer
		s.Quality.Signals.WatchedSeconds *= longer
		slot.Elapsed = float64(i+1) / 10
		s.Slot, s.Index = &slot, i
		add(result.Line{Sample: &s})
		require.NoError(tb, board.Add(s))
	}
	require.NoError(tb, os.WriteFile(path, text, 0o644))
	return path
}

// BenchmarkPage compares the time of a run while the journal of another one, of 40,000 lines, grows: with a page of that journal for which a
// browser asks four times a second, and with none.
func BenchmarkPage(b *testing.B) {
	const lines, second = 40_000, 100 // before the run, and that follow in a second
	gorun := built(b)
	text := slices.Collect(bytes.Lines(tests.Read(b, longJournal(b, lines+60*second))))
	var none, page []float64
	for range b.N {
		for _, of := range []*[]float64{&none, &page} {
			path := filepath.Join(b.TempDir(), "growing.jsonl")
			file, err := os.Create(path)
			require.NoError(b, err)
			_, err = file.Write(slices.Concat(text[:lines]...))
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(b.Context())
			var others sync.WaitGroup
			each := func(pause time.Duration, do func() error) {
				others.Go(func() {
					for ; ctx.Err() == nil; time.Sleep(pause) {
						if err := do(); err != nil && ctx.Err() == nil {
							b.Error(err)
							return
						}
					}
				})
			}
			if of == &page {
				address := served(ctx, b, gorun, path)
				each(time.Second/4, func() error {
					request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
					if err != nil {
						return err
					}
					answer, err := http.DefaultClient.Do(request)
					if err != nil {
						return err
					}
					defer answer.Body.Close()
					_, err = io.Copy(io.Discard, answer.Body)
					return err
				})
			}
			next := lines
			each(time.Second/second, func() error {
				_, err := file.Write(text[next])
				next++
				return err
			})
			begun := time.Now()
			_, err = exec.CommandContext(b.Context(), gorun, "ab", "true", "true", "--samples", "500", "--quiet").Output()
			*of = append(*of, time.Since(begun).Seconds())
			cancel()
			others.Wait()
			require.NoError(b, err)
			require.NoError(b, file.Close())
		}
	}
	b.ReportMetric(middle(page)/middle(none), "page/none")
	b.ReportMetric(0, "ns/op")
}

// served returns the address of a page of a journal that is served until ctx ends.
func served(ctx context.Context, b *testing.B, gorun, path string) string {
	cmd := exec.CommandContext(ctx, gorun, "report", path, "--serve", "127.0.0.1:0")
	said, err := cmd.StderrPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Wait() })
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(b, err)
	return line[strings.Index(line, "http://") : len(line)-1]
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
