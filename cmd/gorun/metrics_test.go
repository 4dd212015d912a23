package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// lines is an io.Writer whose text can be read while it grows.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A scrape during the linger agrees with the final result, including warm-ups, since counters never decrease.
func TestScrapeAgreesWithTheResult(t *testing.T) {
	var out bytes.Buffer
	var errs lines
	e := defaultEnv()
	e.Stdout, e.Stderr = &out, &errs
	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{
			"primes", "--limit", "20000", "--workers", "30", "--samples", "3", "--format", "json",
			"--metrics-listen", "127.0.0.1:0", "--metrics-linger", "1h",
		}, e)
	}()
	address := regexp.MustCompile(`http://\S+/metrics`)
	var text string
	tests.Await(t, "scrape of all samples", func() bool {
		url := address.FindString(errs.String())
		if url == "" {
			return false
		}
		response, err := http.Get(url)
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		text = string(body)
		return err == nil && series(text, "gorun_samples_completed_total") == 4
	})

	assert.EqualValues(t, 4*20000, series(text, "gorun_numbers_tested_total"))
	assert.EqualValues(t, 4*2262, series(text, "gorun_primes_found_total"))
	assert.EqualValues(t, 4*30, series(text, "gorun_workers_started_total"))
	assert.EqualValues(t, 4*30, series(text, "gorun_workers_finished_total"))
	workers := 0.0
	for _, ended := range regexp.MustCompile(`gorun_cpu_workers_total{cpu="[0-9]+"} ([0-9]+)`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(ended[1], 64)
		require.NoError(t, err)
		workers += n
	}
	assert.EqualValues(t, 4*30, workers, "each ended on a CPU")
	assert.EqualValues(t, 4*30, series(text, "gorun_worker_duration_seconds_count"))
	assert.EqualValues(t, 4, series(text, "gorun_samples_planned"))
	assert.Contains(t, text, `gorun_run_info{dispatch="goroutine",experiment="primes"`)
	assert.Positive(t, series(text, "go_sched_gomaxprocs_threads"))

	interrupt() // ends the linger; the run is over and whole
	assert.Equal(t, exitDone, tests.Receive(t, "end", code))
	var doc result.Run
	require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
	assert.Equal(t, 3, doc.Samples.Len())
	assert.False(t, doc.Partial)
}

// series returns the value of a series without labels; -1 when there is none.
func series(text, name string) float64 {
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return -1
	}
	return value
}

// gorun metrics --write writes the files into a new directory. It does not replace a file with another content.
func TestMetricsWrite(t *testing.T) {
	files := []string{"grafana-dashboard.json", "prometheus.yml", "rules.yml"}
	want := map[string]string{}
	for _, name := range files {
		want[name] = readPrometheusFile(t, name)
	}
	t.Chdir(t.TempDir()) // a long path would be cut in errors
	dir := "new/monitoring"
	for range 2 { // the same files may be there already
		o := dryRun(t, []string{"metrics", "--write", dir})
		require.Zero(t, o.code, o.stderr)
		var paths string
		for _, name := range files {
			text := tests.Read(t, filepath.Join(dir, name))
			assert.Equal(t, want[name], string(text))
			paths += filepath.Join(dir, name) + "\n"
		}
		assert.Equal(t, paths, o.stdout)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "grafana-dashboard.json")))
	rules := filepath.Join(dir, "rules.yml")
	require.NoError(t, os.WriteFile(rules, []byte("mine"), 0o644))
	o := dryRun(t, []string{"metrics", "--write", dir})
	assert.Equal(t, exitUsage, o.code)
	assert.Equal(t, "gorun: error: --write "+dir+": "+rules+" exists, with another content\n"+
		"gorun: hint: name another directory, or move the file away\n", o.stderr)
	assert.NoFileExists(t, filepath.Join(dir, "grafana-dashboard.json"), "nothing is written but all")
	text := tests.Read(t, rules)
	assert.Equal(t, "mine", string(text))

	for args, want := range map[string]string{
		"":                   "metrics has nowhere to write to",
		"--write=" + rules:   "cannot write to --write " + rules + ": not a directory",
		"--write=/proc/gone": "cannot write to --write /proc/gone: ",
	} {
		words := []string{"metrics", args}
		if args == "" {
			words = words[:1]
		}
		o := dryRun(t, words)
		assert.Equal(t, exitUsage, o.code, args)
		assert.Contains(t, o.stderr, "gorun: error: "+want, args)
		assert.Equal(t, 2, strings.Count(o.stderr, "\n"), o.stderr)
	}
}
