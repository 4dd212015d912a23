package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/cgroup/cgrouptest"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
	"gorun/internal/place/named"
	"gorun/internal/place/placement"
	"gorun/internal/place/subject"
	"gorun/internal/publish/metrics"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

func TestParseTime(t *testing.T) {
	for text, want := range map[string]int64{"12.5": 12_500_000, "12 000345": 12_000_345, "12": 12_000_000, "1.1234567": 1_123_456} {
		at, err := parseTime(text)
		require.NoError(t, err)
		assert.Equal(t, want, at.UnixMicro(), text)
	}
	_, err := parseTime("noon")
	require.ErrorContains(t, err, `the group time matches "noon"`)
}

// lines is a load whose lines arrived every 10 ms.
func lines(texts ...string) *load {
	l := &load{wake: make(chan struct{}), part: map[string]*part{}, ended: make(chan struct{}), patience: linePatience}
	for i, text := range texts {
		l.add("", []byte(text), edgeAt(10*(i+1)))
	}
	return l
}

// edgeAt is a moment, in ms after the start.
func edgeAt(ms int) edge {
	after := time.Duration(ms) * time.Millisecond
	return edge{after, time.UnixMilli(0).Add(after)}
}

func TestFiguresOfLines(t *testing.T) {
	l := lines("rate=1\n", "rate=", "3\rother\r", "\n\nrate=1,005\n", "rate=x\n", "lat 1.5ms\nlat 500us\n", "lat 3 KB\nlat 3 MB\n", "lat 1.5 s\n")
	for _, c := range []struct {
		re       string
		from, to int
		want     float64
		fails    string
	}{
		{"rate=([0-9,.]+)", 0, 30, 2, ""},
		{"rate=([0-9,.]+)", 10, 40, 504, ""}, // a line at the beginning is of the time before
		{"rate=[0-9]", 0, 40, 75, ""},
		{"other", 0, 100, 10, ""},
		{"rate=(.*)", 40, 50, 0, `"x" is not a decimal number`},
		{"lat ([0-9.]+)", 50, 60, 1, ""},
		{"lat ([0-9.]+)", 60, 70, 0, "a figure in MB cannot be compared with one in KB"},
		{"lat ([0-9])", 70, 80, 0, `takes "1" from the number "1.5"`},
		{"missing", 0, 50, 0, "no line of the load in the block matches"},
	} {
		got, err := l.figure(regexp.MustCompile(c.re), edgeAt(c.from), edgeAt(c.to))
		if c.fails != "" {
			require.ErrorContains(t, err, c.fails)
			continue
		}
		require.NoError(t, err)
		assert.InDelta(t, c.want, got.Value, 1e-9, c.re)
	}
	at, err := l.await(t.Context(), regexp.MustCompile("rate"), edgeAt(11))
	require.NoError(t, err)
	assert.Equal(t, edgeAt(30), at)
	l.err = context.Canceled
	close(l.ended)
	_, err = l.await(t.Context(), regexp.MustCompile("missing"), edgeAt(0))
	require.ErrorContains(t, err, "the load ended because")
	assert.True(t, experiment.IsOver(err))
}

// A line is cut at 64 KiB, and what follows it up to its end is no line; what is kept is limited. Lines without an end take a time that
// grows with their length, and no faster: otherwise this takes hours.
func TestLongLines(t *testing.T) {
	l := lines()
	texts := func() (all []string) {
		for _, line := range l.lines {
			all = append(all, string(line.text))
		}
		return all
	}
	x := strings.Repeat("x", longLine)
	for range 1 << 10 {
		for piece := range slices.Chunk([]byte(x), 1<<8) {
			l.add("", piece, edgeAt(1))
		}
	}
	assert.Equal(t, []string{x}, texts())
	l.add("", []byte("rest\nrate=1\rrate=2\n"+x+"\n\nrate="), edgeAt(2))
	l.add("", []byte("3\n"), edgeAt(3))
	assert.Equal(t, []string{x, "rate=1", "rate=2", x, "rate=3"}, texts())
	for range keptBytes / longLine {
		l.add("", []byte(x+"\n"), edgeAt(4))
	}
	assert.Len(t, l.lines, keptBytes/longLine)
	assert.Equal(t, keptBytes, l.bytes)
	assert.Equal(t, edgeAt(4), l.lines[0].at)
}

// A load that ends, or prints no such line, says with what: the reason is there.
func TestLoadsThatFail(t *testing.T) {
	for _, c := range []struct {
		of    launch.Ending
		wrote string
		says  string
		hint  string
	}{
		{launch.Ending{ExitCode: 3}, "once\ncannot connect\n", "the load ended with exit code 3: once cannot connect", ""},
		{launch.Ending{ExitCode: 143, Signal: 15}, "", "the load ended by signal 15 and has written nothing", ""},
		{launch.Ending{}, "rate=5", "the load ended with exit code 0: rate=5", "--load-per-block"},
	} {
		l := lines()
		require.NoError(t, l.exited())
		l.outcome.Ending, l.tail = c.of, []byte(c.wrote)
		close(l.ended)
		err := l.exited()
		require.EqualError(t, err, c.says)
		assert.Contains(t, hint.Of(err), c.hint)
		assert.Equal(t, c.hint == "", hint.Of(err) == "")
	}
	for wrote, says := range map[string]string{"": " and has written nothing", "refused\n": ": refused"} {
		l := lines(wrote)
		l.tail, l.patience = []byte(wrote), 0
		_, err := l.await(t.Context(), regexp.MustCompile("rate"), edgeAt(0))
		require.EqualError(t, err, `it runs for 0s without a line that matches "rate"`+says)
		assert.Contains(t, hint.Of(err), "--load-per-block")
	}
}

// Of the logs of a load, what is appended is read; one that turns out to be a pipe is not waited for, and is named where no other has
// the line.
func TestLogs(t *testing.T) {
	dir := t.TempDir()
	l := lines()
	l.log, l.before, l.patience = filepath.Join(dir, "*"), map[string]int64{}, 0
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	_, err := l.await(t.Context(), regexp.MustCompile("rate"), edgeAt(0))
	require.ErrorContains(t, err, "--load-log "+l.log+": is a pipe, not a file")

	log := filepath.Join(dir, "log")
	for _, text := range []string{"a=1\nb=", "2\nc=3\n"} {
		file, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		require.NoError(t, err)
		_, err = file.WriteString(text)
		require.NoError(t, errors.Join(err, file.Close()))
		l.follow(t.Context())
	}
	var texts []string
	for _, line := range l.lines {
		texts = append(texts, string(line.text))
	}
	assert.Equal(t, []string{"a=1", "b=2", "c=3"}, texts)
}

// A budget that ends before the first line of a load quotes the end of what it wrote.
func TestNoLineWithinBudget(t *testing.T) {
	l := lines("refused\n")
	l.tail = []byte("refused\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := l.awaitFirst(ctx, []metric{{}, {lines: regexp.MustCompile("rate")}})
	unfinished := (*experiment.Unfinished)(nil)
	require.ErrorAs(t, err, &unfinished)
	assert.Equal(t, `ended while --load ran without a line that matches "rate": refused`, unfinished.What)
	assert.Contains(t, unfinished.Hint, "--load-per-block")
}

// The pilot tells early that a budget is too short, and otherwise which setting it held when the budget ended.
func TestPilotWithinBudget(t *testing.T) {
	s := chosen(0, 0)
	s.slice, s.settings = pilotSlice, make([]subject.Setting, 3)
	for _, c := range []struct {
		left  time.Duration
		slice time.Duration
		fits  bool
	}{
		{time.Minute, time.Second, true},
		{time.Minute, 3 * time.Second, false},
		{time.Hour, time.Minute, true},
		{5 * time.Second, pilotSlice, false},
		{30 * time.Second, pilotSlice, true},
	} {
		s.begun = now().at
		ctx, cancel := context.WithTimeout(t.Context(), c.left)
		err := s.fits(ctx, 3, c.slice)
		cancel()
		if c.fits {
			require.NoError(t, err)
			continue
		}
		unfinished := (*experiment.Unfinished)(nil)
		require.ErrorAs(t, err, &unfinished)
		assert.Equal(t, "is too short for the pilot and one round", unfinished.What)
		assert.GreaterOrEqual(t, unfinished.Whole, 3*s.holdFor(c.slice))
	}
	require.NoError(t, s.fits(t.Context(), 3, time.Hour), "no budget was given")
}

// Lines with their own times are of these times, however late they arrived.
func TestLinesWithTimes(t *testing.T) {
	l := lines("", "", "", "a 0.005\na 0.015\na 0.025\na 0.045\n")
	re := regexp.MustCompile(`a (?P<time>[0-9.]+)`)
	got, err := l.figure(re, edgeAt(10), edgeAt(30))
	require.NoError(t, err)
	assert.InDelta(t, 2/0.02, got.Value, 1e-9)
	at, err := l.await(t.Context(), re, edgeAt(30))
	require.NoError(t, err)
	assert.Equal(t, time.UnixMilli(45), at.wall)
}

func TestSettling(t *testing.T) {
	steady := []float64{100, 101, 99, 100, 100.5, 99.5, 100, 101, 99, 100}
	assert.Equal(t, 0, settling(steady))
	assert.Equal(t, 3, settling(append([]float64{50, 70, 80}, steady...)))
	assert.Equal(t, 0, settling(steady[:3]), "too short to say")
	rising := []float64{10, 10, 10, 10, 10, 100, 101, 99, 100, 100}
	assert.Equal(t, 5, settling(rising), "not settled in the first half")
}

// chosen is a sampler of two cells whose blocks and washouts have their defaults, or are given.
func chosen(block, washout time.Duration) *sampler {
	source := &Source{block: max(block, defaultBlock), washout: max(washout, defaultWashout)}
	if block > 0 {
		source.block = block
	}
	if washout > 0 {
		source.washout = washout
	}
	source.given.block, source.given.washout = func() bool { return block > 0 }, func() bool { return washout > 0 }
	return &sampler{Source: source, cells: make([]Cell, 2)}
}

// Blocks become as long as a slow endpoint needs. What the user has given, or what takes longer than a user may want, is refused, with
// a length that works.
func TestSlowEndpoint(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		answer, given time.Duration
		block         time.Duration // that is chosen; 0: it is refused
		hint          string
	}{
		{10 * ms, 0, 200 * ms, ""},
		{66 * ms, 0, 700 * ms, ""},
		{66 * ms, 400 * ms, 400 * ms, ""},
		{66 * ms, 300 * ms, 0, "give --block 700ms"},
		{2000 * ms, 0, 0, "give --block 20s --budget 10m"},
		{2000 * ms, 12000 * ms, 12000 * ms, ""},
	} {
		s := chosen(c.given, 0)
		s.answers = []float64{c.answer.Seconds(), c.answer.Seconds(), 100} // one is slow by chance
		least := blockFor(s.answer())
		warnings, err := s.lengthen(least, spare*least, "slow-endpoint", slowAnswer(s.answer()))
		if c.block == 0 {
			require.ErrorContains(t, err, "the endpoint takes "+c.answer.String()+" to answer: a block of "+s.block.String()+" is too short")
			assert.Equal(t, c.hint, hint.Of(err))
			assert.Error(t, s.slowEndpoint())
			continue
		}
		require.NoError(t, err)
		require.NoError(t, s.slowEndpoint())
		assert.Equal(t, c.block, s.block)
		assert.Equal(t, c.block > defaultBlock && c.given == 0, len(warnings) == 1)
		assert.LessOrEqual(t, c.answer.Seconds(), mostLate*s.block.Seconds(), "its figures count")
	}
}

// A counter that is written each second is judged, whichever interval a pilot takes it for, and with the block of another pilot.
func TestSlowCounter(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{
		200 * time.Millisecond: time.Second, 800 * time.Millisecond: 4 * time.Second, time.Second: mostBlock, 1330 * time.Millisecond: mostBlock,
	} {
		least, enough := blocksOf(interval)
		assert.Equal(t, want, enough, interval)
		assert.LessOrEqual(t, least, enough, interval)
	}
	shortest, _ := blocksOf(1330 * time.Millisecond)
	_, recorded := blocksOf(800 * time.Millisecond)
	assert.LessOrEqual(t, shortest, recorded)
	_, enough := blocksOf(2 * time.Second)
	assert.Greater(t, enough, mostBlock, "it is refused")
}

// Blocks become so long that the switches of many threads cost little, but never longer than a user may want, and not where the user has
// given a length: that may cost more.
func TestManyThreads(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct{ cost, given, block time.Duration }{
		{ms, 0, defaultBlock},
		{15 * ms, 0, 1800 * ms}, // with the washout of 200 ms, 1.5% of two seconds
		{10 * ms, 50 * ms, 50 * ms},
		{time.Second, 0, mostBlock},
		{time.Second, 300 * ms, 300 * ms},
	} {
		s := chosen(c.given, 0)
		s.cost, s.counting = c.cost/4, c.cost-c.cost/4
		warnings, err := s.lengthenFor()
		require.NoError(t, err)
		assert.Equal(t, c.block, s.block, c.cost)
		if c.given > 0 || c.block == defaultBlock {
			assert.Empty(t, warnings)
			continue
		}
		require.Len(t, warnings, 1)
		assert.Equal(t, "many-threads", warnings[0].Code)
		assert.Equal(t, fmt.Sprintf("--block is %v: to switch and to count all threads takes %v of CPU time", c.block, c.cost), warnings[0].Message)
	}
}

// Counts that take too long for the block are given up one by one, down to those that are judged.
func TestCountsThatAreGivenUp(t *testing.T) {
	program, err := subject.Find(subject.Who{PID: os.Getpid()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, program.Close()) })
	for judged, want := range map[string]int{"process:cpu": processes, "process:run-queue": turns, "process:switches": turns, "process:migrations": migrations} {
		source := &Source{program: program, Metrics: experiment.Metrics{Metric: judged, Better: "lower"}}
		require.NoError(t, source.parseMetrics())
		s := newSampler(experiment.Environment{}, source, nil)
		s.block = time.Nanosecond
		for range 3 {
			c := s.count()
			assert.NotEmpty(t, c.cpu, judged)
		}
		assert.Equal(t, want, s.counted, judged)
		s.block = time.Hour
		assert.Equal(t, want >= turns, s.count().known, judged)
		assert.Equal(t, want >= turns, s.counting > 0, judged)
	}
}

// A switch may take as long as the washout: many threads take time. What is asked for is enough.
func TestSlowSwitch(t *testing.T) {
	const ms = time.Millisecond
	for took, washout := range map[time.Duration]time.Duration{65 * ms: 20 * ms, 300 * ms: 0, 51 * ms: 50 * ms} {
		s := chosen(0, washout)
		require.Greater(t, took, s.mostSwitch())
		err := s.slowSwitch(took)
		require.EqualError(t, err, "the switch of all threads took "+took.String()+", and --washout is "+s.washout.String())
		enough := washoutFor(took)
		assert.Equal(t, "give --washout "+enough.String(), hint.Of(err))
		assert.LessOrEqual(t, took, chosen(0, enough).mostSwitch())
	}
	assert.LessOrEqual(t, 65*ms, chosen(0, 0).mostSwitch())
	assert.LessOrEqual(t, 45*ms, chosen(0, 10*ms).mostSwitch(), "short switches are never too long")
}

func TestSettlesSlowly(t *testing.T) {
	for _, c := range []struct {
		longs []float64
		want  string
	}{
		{[]float64{0.78, 0.78, 0.78}, "rps was still falling (−22%) during long blocks of as-is and of one-cpu"},
		{[]float64{1.1}, "rps was still rising (+10%) during long blocks of as-is"},
		{[]float64{0.78, 1.01}, ""},
		{[]float64{0.98}, ""},
		{nil, ""},
	} {
		s := &sampler{Source: &Source{metrics: []metric{{text: "rps"}}}}
		for i, ratio := range c.longs {
			s.longs = append(s.longs, longBlock{ratio, []string{"as-is", "one-cpu"}[i%2]})
		}
		warnings := s.settlesSlowly()
		if c.want == "" {
			assert.Empty(t, warnings)
			continue
		}
		require.Len(t, warnings, 1)
		assert.Equal(t, c.want, warnings[0].Message)
	}
}

// A figure of 0, as that of an idle server, cannot be compared: the error names it, and what to do. A setting has the name it was given by.
func TestIdleServer(t *testing.T) {
	err := checkFigure(metric{text: "asked_total"}, 0)
	require.EqualError(t, err, "asked_total is 0: only figures above 0 are compared")
	assert.Contains(t, hint.Of(err), "--load")
	assert.Empty(t, hint.Of(checkFigure(metric{text: "a"}, -1)))
	for _, figure := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		err := checkFigure(metric{text: "a"}, figure)
		require.ErrorIs(t, err, errNotFinite)
		assert.EqualError(t, err, fmt.Sprintf("a is %v: only finite figures are compared", figure))
	}
	require.NoError(t, checkFigure(metric{text: "a"}, math.SmallestNonzeroFloat64))
	one := subject.Setting{Setting: placement.Setting{CPUs: cpuset.Of(0)}}
	nice := one
	nice.Nice = new(5)
	for _, c := range []struct {
		placement string
		of        subject.Setting
		want      string
	}{
		{named.AsIs, subject.Setting{}, "as-is"}, {"one-cpu", one, "one-cpu"}, {"one-cpu", nice, "one-cpu, nice 5"}, {"", nice, "cpus 0, nice 5"},
	} {
		assert.Equal(t, c.want, title(c.placement, c.of))
	}
	s := &sampler{cells: []Cell{{"as-is", subject.Setting{}}, {"one-cpu", one}, {"0", one}}}
	assert.Equal(t, "one-cpu", s.nameOf(one))
	assert.Equal(t, "as-is", s.nameOf(subject.Setting{}))
}

// A block is judged by an endpoint: a series of an unknown type is a gauge, but for a block in which it rose and before which it never
// fell; what is no number costs its block. What only rose is a question after the pilot, and a warning after the run.
func TestJudgedSeries(t *testing.T) {
	const untypedX, nan = "X only rose, and the endpoint does not give its type", "X is NaN: only finite figures are compared"
	for _, c := range []struct {
		metric string
		page   string
		values []string  // of the scrapes, two for each block
		want   []float64 // of the blocks; 0: it is invalid
		fails  string    // as these are
		only   bool
	}{
		{"X", "", []string{"5", "5", "5", "5"}, []float64{5, 5}, "", false},
		{"X", "", []string{"5", "6", "7", "8"}, []float64{0, 0}, untypedX, true},
		{"X", "", []string{"5", "6", "6", "6"}, []float64{0, 6}, untypedX, true},
		{"X", "", []string{"5", "5", "6", "6"}, []float64{5, 6}, "", true},
		{"X", "", []string{"5", "7", "7", "5", "5", "7"}, []float64{0, 6, 6}, untypedX, false},
		{"X", "", []string{"9", "NaN", "5", "7"}, []float64{0, 6}, nan, false},
		{"X", "# TYPE X gauge", []string{"5", "7"}, []float64{6}, "", false},
		{"gauge(X)", "", []string{"5", "7"}, []float64{6}, "", false},
		{"X", "# TYPE X gauge", []string{"NaN", "NaN", "5", "5"}, []float64{0, 5}, nan, false},
		{"X", "# TYPE X gauge", []string{"1e308", "1.7e308", "5", "5"}, []float64{0, 5}, "X is +Inf: only finite figures are compared", false},
		{"rate(X)", "", []string{"5", "5"}, []float64{0}, "rate(X) is 0: only figures above 0 are compared", false},
		{"rate(X)", "# TYPE X gauge", []string{"5", "4"}, []float64{0}, "the counter went down", false},
	} {
		next := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "%s\nX %s\n", c.page, c.values[next])
			next++
		}))
		source := &Source{Metrics: experiment.Metrics{Metric: c.metric, Better: "higher"}, url: server.URL}
		require.NoError(t, source.parseMetrics())
		s := newSampler(experiment.Environment{}, source, nil)
		endpoint, err := metrics.NewEndpoint(server.URL, s.selectors()...)
		require.NoError(t, err)
		for i, want := range c.want {
			b := block{to: edge{at: time.Hour}}
			for edge := range b.scrapes {
				b.scrapes[edge], err = endpoint.Scrape(t.Context())
				require.NoError(t, err)
			}
			s.noteMoves(b)
			var figures Figures
			var sample result.Sample
			s.judge(b, &figures, &sample)
			if want > 0 {
				require.Empty(t, sample.Doubts, "%s %v", c.metric, c.values)
				assert.InDelta(t, want, *figures.Metric, 0, "block %d of %s %v", i, c.metric, c.values)
				continue
			}
			require.Len(t, sample.Doubts, 1, "block %d of %s %v", i, c.metric, c.values)
			assert.Contains(t, sample.Doubts[0].Reason, c.fails)
			assert.Equal(t, result.Invalid, sample.Doubts[0].Grade)
		}
		assert.Empty(t, s.untypedWarnings(), "no block was a sample")
		s.blocks = 1
		assert.Equal(t, c.only, len(s.untypedWarnings()) == 1, "%s %v", c.metric, c.values)
		if err := s.askTypes(); c.only {
			require.EqualError(t, err, "--metric X: "+untypedX)
			assert.Equal(t, "give --metric 'rate(X)' if it counts something, or --metric 'gauge(X)' if it may also fall", hint.Of(err))
		} else {
			require.NoError(t, err)
		}
		endpoint.Close()
		server.Close()
	}
}

// A program in a control group may have a server in another one, but not in its own, nor one that has the program among its descendants.
func TestServerOfGroup(t *testing.T) {
	machine, err := topology.ReadThis(sysfs.This(), func() (cpuset.Set, error) { return linux.GetAffinity(0) })
	require.NoError(t, err)
	group := cgrouptest.Counted(t)
	other := group + "-server"
	require.NoError(t, os.Mkdir(other, 0o755))
	t.Cleanup(func() { assert.NoError(t, os.Remove(other)) })
	program := exec.Command("sleep", "100")
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	require.NoError(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(program.Process.Pid)), 0))
	itself := fmt.Sprintf(": process %d is part of the program itself", program.Process.Pid)
	for server, says := range map[string]string{
		"--with-cgroup=" + other: "", "--with-cgroup=" + group: itself, fmt.Sprint("--with-pid=", program.Process.Pid): itself, fmt.Sprint("--with-pid=", os.Getpid()): itself,
	} {
		source := &Source{}
		set := experiment.NewFlagSet("live")
		source.Register(set)
		require.NoError(t, set.Parse([]string{"--cgroup", group, server, "--metric", "process:cpu"}))
		_, err := source.Open(t.Context(), experiment.Opening{
			Environment: experiment.Environment{Machine: machine},
			Values:      func(flag string) []string { return map[string][]string{"nice": {"0", "5"}}[flag] },
		})
		if says == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, strings.Replace(server, "=", " ", 1)+says)
		}
		require.NoError(t, source.Close())
	}
}

// A run continues only with the load and the program that it has.
func TestIdentify(t *testing.T) {
	server := exec.Command("sleep", "100")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	program, err := subject.Open(subject.Who{PID: server.Process.Pid})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, program.Close()) })
	s := &sampler{Source: &Source{program: program, loadArgv: []string{"/bin/sh"}}}
	files, warnings, err := s.Identify(t.Context(), false)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	require.Len(t, files, 2)
	for i, name := range []string{"/bin/sh", program.Who.String()} {
		assert.Equal(t, name, files[i].Name)
		assert.True(t, files[i].Program, name)
		assert.NotEmpty(t, files[i].SHA256, name)
	}
	later, _, err := s.Identify(t.Context(), true)
	require.NoError(t, err)
	assert.Empty(t, later, "before the load starts")
}

func TestParseMetrics(t *testing.T) {
	parse := func(s Source) (Source, error) { err := s.parseMetrics(); return s, err }
	s, err := parse(Source{Metrics: experiment.Metrics{Metric: "rps=([0-9.]+)\nprocess:run-queue\nasked_total", Better: "higher,lower,higher"}, load: "x", url: "http://h/"})
	require.NoError(t, err)
	assert.Equal(t, result.Higher, s.compared.Better)
	assert.NotNil(t, s.metrics[0].lines)
	assert.NotNil(t, s.metrics[1].own)
	assert.NotNil(t, s.metrics[2].series)
	for text, want := range map[string]metrics.Type{"asked_total": "", `rate(asked{a="b)"})`: metrics.Counter, "gauge( asked )": metrics.Gauge} {
		s, err := parse(Source{Metrics: experiment.Metrics{Metric: text, Better: "higher"}, load: "x", url: "http://h/"})
		require.NoError(t, err)
		require.NotNil(t, s.metrics[0].series, text)
		assert.Equal(t, want, s.metrics[0].as, text)
	}
	s, err = parse(Source{Metrics: experiment.Metrics{Metric: "rate(s [0-9]+)\nhistogram_quantile(0.5, took_bucket)", Better: "higher"}, load: "x", url: "http://h/"})
	require.NoError(t, err)
	assert.NotNil(t, s.metrics[0].lines, "it matches lines")
	assert.Equal(t, "took", s.metrics[1].series.Name)
	for metric, want := range map[string]string{
		"rps=([0-9.]+)\nasked_total":                          "rps",
		"asked_total\nhistogram_quantile(0.99, took_seconds)": "asked_total",
		"histogram_quantile(0.99, took_seconds)\nasked_total": "p99 of took_seconds",
		`asked_total{code="200"}`:                             "asked_total",
		`rate(asked{code="200"})`:                             "rate of asked",
		"process:run-queue":                                   "process:run-queue",
		`^\d+ (?P<time>\d+ \d+)`:                              "lines a second",
		`^(?P<time>\d+ \d+) tps=(\d+)`:                        "tps",
	} {
		s, err := parse(Source{Metrics: experiment.Metrics{Metric: metric, Better: "higher"}, load: "x", url: "http://h/"})
		require.NoError(t, err)
		assert.Equal(t, want, s.compared.Label, metric)
	}
	s, err = parse(Source{Metrics: experiment.Metrics{Metric: "process:cpu"}})
	require.NoError(t, err)
	assert.Equal(t, result.Lower, s.compared.Better, "known")
	for _, c := range []struct {
		s    Source
		says string
	}{
		{Source{Metrics: experiment.Metrics{Metric: "x", Better: "lower"}}, "there is no load whose lines it matches"},
		{Source{Metrics: experiment.Metrics{Metric: "x"}, load: "x"}, "--metric x: say which figure is better: --better higher, or --better lower"},
		{Source{Metrics: experiment.Metrics{Metric: "process:x"}}, "there is no figure process:x"},
		{Source{Metrics: experiment.Metrics{Metric: "(a)(b)", Better: "lower"}, load: "x"}, "it has 2 groups"},
		{Source{Metrics: experiment.Metrics{Metric: "(", Better: "lower"}, load: "x"}, "missing closing )"},
		{Source{Metrics: experiment.Metrics{Metric: "histogram_quantile(2, x)"}, url: "http://h/"}, "a quantile is between 0 and 1"},
		{Source{Metrics: experiment.Metrics{Metric: "histogram_quantile(0.5, x)"}, url: "http://h/"}, "a latency quantile needs a rate beside it"},
		{Source{Metrics: experiment.Metrics{Metric: "rate(x[5m])", Better: "lower"}, url: "http://h/"}, `"x[5m]" selects no metric`},
		{Source{Metrics: experiment.Metrics{Metric: "rate(x)", Better: "lower"}}, "there is no load whose lines it matches"},
		{Source{Metrics: experiment.Metrics{Metric: "a\nb\nc\nd\ne", Better: "lower"}, load: "x"}, "at most 4"},
		{Source{Metrics: experiment.Metrics{Metric: "a\nb", Better: "lower\nlower\nlower"}, load: "x"}, "--better has 3 directions, and --metric 2 figures"},
	} {
		_, err := parse(c.s)
		assert.ErrorContains(t, err, c.says)
	}
}

func TestParseAbort(t *testing.T) {
	for _, c := range []struct {
		bound, unit, first string
		figure             float64
		want               bool
	}{
		{"metric>5.5", "", "", 6, true},
		{"metric>5.5", "", "", 5, false},
		{"metric<5.5", "", "", 5, true},
		{"metric>5", "us", "ms", 6000, true},
		{"metric>5", "us", "ms", 6, false},
		{"metric>5", "us", "", 6, true},
		{"metric>5ms", "us", "us", 6000, true},
		{"metric>5ms", "us", "", 6, false},
		{"metric_2>5", "", "", 6, false},
	} {
		s := Source{abort: c.bound}
		require.NoError(t, s.parseAbort())
		of := map[string]string{}
		if c.first != "" {
			of["metric"] = c.first
		}
		sample := &result.Sample{Values: result.FiguresOf(&Figures{Metric: &c.figure})}
		sample.Printed("metric", c.unit)
		got, err := s.abortIf.holds(sample, of)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%+v", c)
	}
	s := Source{abort: "metric>5ms"}
	require.NoError(t, s.parseAbort())
	_, err := s.abortIf.holds(&result.Sample{Values: result.FiguresOf(&Figures{Metric: new(6.0)})}, nil)
	require.ErrorContains(t, err, "a figure in no unit cannot be compared with one in ms")
	for text, says := range map[string]string{
		"metric": "a column, < or >, and a number", "x>1": "there is no column x", "metric>a": "is not a decimal number",
	} {
		s := Source{abort: text}
		assert.ErrorContains(t, s.parseAbort(), says)
	}
}
