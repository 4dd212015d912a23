package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/work/primes"
)

// prometheusDir has the files for a Prometheus server and Grafana.
const prometheusDir = "prometheus"

// The files there name only metrics that exist. gorun help metrics has all metrics.
func TestPrometheusFilesNameWhatExists(t *testing.T) {
	exists := map[string]bool{}
	for _, f := range metrics.Families {
		name := metrics.Prefix + f.Name
		exists[name] = true
		if f.Type == metrics.Histogram {
			exists[name+"_bucket"], exists[name+"_sum"], exists[name+"_count"] = true, true, true
		}
	}
	rules := readPrometheusFile(t, "rules.yml")
	for _, record := range regexp.MustCompile(`(?m)- record: (\S+)$`).FindAllStringSubmatch(rules, -1) {
		exists[record[1]] = true
	}
	for _, alert := range regexp.MustCompile(`(?m)- alert: (\S+)$`).FindAllStringSubmatch(rules, -1) {
		assert.Contains(t, readPrometheusFile(t, "rules_test.yml"), "alertname: "+alert[1], "each alert is tried")
	}
	for _, file := range []string{"rules.yml", "rules_test.yml", "grafana-dashboard.json"} {
		names := regexp.MustCompile(`\b(instance:)?gorun_[a-z0-9_:]+`).FindAllString(readPrometheusFile(t, file), -1)
		require.NotEmpty(t, names, file)
		for _, name := range names {
			assert.True(t, exists[name], "%s names %s", file, name)
		}
	}
	for _, expr := range dashboardQueries(t) {
		assert.Contains(t, expr, `{job=~"$job", instance=~"$instance", run=~"$run"`, "every panel keeps to the runs that were chosen")
	}
}

func readPrometheusFile(t *testing.T, name string) string {
	text := tests.Read(t, filepath.Join(prometheusDir, name))
	return string(text)
}

// dashboardQueries returns the queries of all panels.
func dashboardQueries(t *testing.T) (queries []string) {
	var dashboard struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(readPrometheusFile(t, "grafana-dashboard.json")), &dashboard))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	require.NotEmpty(t, queries)
	return queries
}

// needPrometheus skips a test unless the user wants it, and fails if a program is missing.
func needPrometheus(t *testing.T, programs ...string) {
	tests.Target(t, "prometheus-test")
	for _, program := range programs {
		_, err := exec.LookPath(program)
		require.NoError(t, err, "Debian: apt-get install prometheus")
	}
	runtime.LockOSThread() // the programs end with this thread at the latest
	t.Cleanup(runtime.UnlockOSThread)
}

func TestPromtool(t *testing.T) {
	needPrometheus(t, "promtool")
	scrape := tests.Read(t, "../../testdata/golden/metrics/run.prom")
	dir := t.TempDir()
	require.Zero(t, dryRun(t, []string{"metrics", "--write", dir}).code)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules_test.yml"), []byte(readPrometheusFile(t, "rules_test.yml")), 0o644))
	for _, args := range []string{"check metrics", "check rules rules.yml", "check config prometheus.yml", "test rules rules_test.yml"} {
		cmd := exec.Command("promtool", strings.Fields(args)...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(scrape)
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "promtool %s: %s", args, out)
	}
}

// started is a program that runs until the test ends.
type started struct {
	*exec.Cmd
	stderr lines
	ended  chan error
}

func start(t testing.TB, cmd *exec.Cmd) *started {
	s := &started{Cmd: cmd, ended: make(chan error, 1)}
	cmd.SysProcAttr = linux.ChildAttr()
	cmd.Stderr = &s.stderr
	require.NoError(t, cmd.Start())
	go func() { s.ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // if it has not ended
		<-s.ended
		if t.Failed() {
			t.Logf("%s: %s", cmd, &s.stderr)
		}
	})
	return s
}

// await waits until stderr matches the pattern, and returns the text of its group.
func (s *started) await(t testing.TB, pattern string) (found string) {
	expr := regexp.MustCompile(pattern)
	tests.Await(t, pattern+" from "+s.Path, func() bool {
		match := expr.FindStringSubmatch(s.stderr.String())
		if match == nil {
			return false
		}
		found = match[1]
		return true
	})
	return found
}

// end sends the program a signal to end, and waits until it has ended.
func (s *started) end(t testing.TB) {
	require.NoError(t, s.Process.Signal(syscall.SIGINT))
	err := <-s.ended
	s.ended <- err
	require.NoError(t, err, "%s", &s.stderr)
}

// server is a Prometheus server that answers queries.
type server string

// query returns the values of an instant query in any order. The value of a native histogram is its count.
func (s server) query(t testing.TB, expr string) (values []float64) {
	response, err := http.Get(string(s) + "/api/v1/query?query=" + url.QueryEscape(expr))
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct {
			Result []struct{ Value [2]any }
		}
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(t, "success", answer.Status, "%s: %s", expr, answer.Error)
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err, "%s", expr)
		values = append(values, value)
	}
	return values
}

// one returns the value of a query that must have exactly one.
func (s server) one(t testing.TB, expr string) float64 {
	values := s.query(t, expr)
	require.Len(t, values, 1, "%s", expr)
	return values[0]
}

// A run of 5 s is scraped each second by a Prometheus server, which in the end agrees with its result.
func TestPrometheusServer(t *testing.T) {
	needPrometheus(t, "prometheus")
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a free port, so that Prometheus can run before gorun
	require.NoError(t, err)
	scraped := listener.Addr().String()
	require.NoError(t, listener.Close())
	config := strings.NewReplacer("5s", "1s", "127.0.0.1:9464", scraped).Replace(readPrometheusFile(t, "prometheus.yml"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(readPrometheusFile(t, "rules.yml")), 0o600))
	prometheus := start(t, exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0",
		"--enable-feature=native-histograms"))
	s := server("http://" + prometheus.await(t, `msg="Listening on" address=(\S+)`))
	tests.Await(t, "server that is ready", func() bool { return strings.Contains(fetch(t, string(s)+"/-/ready"), "is Ready") })
	run := gorunCommand("primes", "--duration", "5s", "--workers", "20", "--format", "json", "--metrics-listen", scraped, "--metrics-linger", "1h")
	var out bytes.Buffer
	run.Stdout = &out
	gorun := start(t, run)

	job := `{job="gorun",instance="` + scraped + `"}`
	tests.Await(t, "end", func() bool { return slices.Equal(s.query(t, "gorun_finished"+job), []float64{1}) })
	tests.Await(t, "scrapes for a rate", func() bool { return s.one(t, "count_over_time(gorun_finished"+job+"[5m])") >= 3 })
	tests.Await(t, "value of a rule", func() bool {
		return slices.Equal(s.query(t, "instance:gorun_progress:ratio"+job), []float64{1})
	})

	// Figures of the last scrape, while the run still lingers: then its series are stale.
	scrapedLast := map[string]float64{}
	for _, name := range []string{
		"gorun_primes_found_total", "gorun_numbers_tested_total", "gorun_samples_completed_total", "gorun_workers_finished_total",
		"gorun_steal_seconds_total", "gorun_watched_seconds_total",
	} {
		scrapedLast[name] = s.one(t, name+job)
	}
	verdicts := map[result.Grade]float64{}
	for _, grade := range result.Grades {
		verdicts[grade] = s.one(t, `sum(gorun_samples_judged_total{instance="`+scraped+`",verdict="`+string(grade)+`"})`)
	}
	busy := s.one(t, "sum(gorun_cpu_busy_seconds_total"+job+")")
	workers := s.one(t, "histogram_count(gorun_worker_duration_seconds"+job+")")
	samples := s.one(t, "histogram_count(gorun_sample_duration_seconds"+job+")")
	seconds := s.one(t, "histogram_sum(gorun_sample_duration_seconds"+job+")")
	median := s.one(t, "histogram_quantile(0.5, gorun_sample_duration_seconds"+job+")")
	scrapes := s.one(t, "count_over_time(gorun_finished"+job+"[5m])")
	tried(t, s, job)
	gorun.end(t)

	var doc result.Run
	require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
	want := map[string]float64{}
	wantVerdicts := map[result.Grade]float64{}
	var wantBusy, wantSeconds float64
	var each []float64
	for _, sample := range slices.Concat(doc.Warmups, tests.Values(doc.Samples.All())) {
		figures, found := result.Typed[primes.Figures](&sample)
		require.True(t, found)
		want["gorun_primes_found_total"] += float64(figures.Primes)
		want["gorun_numbers_tested_total"] += float64(figures.Numbers)
		want["gorun_samples_completed_total"]++
		if steal := sample.Quality.Signals.StealSeconds; steal != nil { // not of a last sample that is cut below 50 ms
			want["gorun_steal_seconds_total"] += *steal
		}
		want["gorun_watched_seconds_total"] += sample.Quality.Signals.WatchedSeconds
		wantVerdicts[sample.Quality.Grade]++
		wantSeconds += sample.Seconds
		each = append(each, sample.Seconds)
		for _, cpu := range sample.CPUs {
			wantBusy += cpu.BusySeconds
		}
	}
	for name, figure := range want {
		assert.InDelta(t, figure, scrapedLast[name], 1e-9*figure, "%s by Prometheus", name)
	}
	for verdict, n := range verdicts {
		assert.Equal(t, wantVerdicts[verdict], n, "%s samples", verdict)
	}
	assert.InEpsilon(t, wantBusy, busy, 0.01, "busy seconds")
	assert.Equal(t, scrapedLast["gorun_workers_finished_total"], workers, "the native histogram has every worker")
	assert.Equal(t, want["gorun_samples_completed_total"], samples)
	assert.InEpsilon(t, wantSeconds, seconds, 1e-9)
	slices.Sort(each)
	assert.GreaterOrEqual(t, median, 0.9*each[(len(each)-1)/2], "a native bucket is 9%% wide")
	assert.LessOrEqual(t, median, 1.1*each[len(each)/2])
	t.Logf("%.0f scrapes; %.0f primes, %.0f samples, %.2f s busy (the result: %.2f s), %.0f workers; median %.1f ms (%.1f ms)",
		scrapes, scrapedLast["gorun_primes_found_total"], samples, busy, wantBusy, workers, 1e3*median, 1e3*each[len(each)/2])
}

// tried has the server answer every query of the dashboard. Only queries about other kinds of runs may have no answer.
func tried(t *testing.T, s server, job string) {
	absent := regexp.MustCompile(`gorun_(cell|load|samples_planned|throttled|cpu_pressure|migrations)`)
	for _, expr := range dashboardQueries(t) {
		expr = strings.NewReplacer(`{job=~"$job", instance=~"$instance", run=~"$run"}`, job, "$__rate_interval", "30s").Replace(expr)
		if values := s.query(t, expr); len(values) == 0 {
			assert.Regexp(t, absent, expr, "no answer")
		}
	}
}

func fetch(t testing.TB, url string) string {
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}
