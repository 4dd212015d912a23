package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/linux/linuxtest"
)

var (
	allPrivileges = flag.Bool("privileges", false, "try every command without every privilege, and not a share of them")
	onlyWithout   = flag.String("privileges-without", "", "a regular expression: try these conditions only")
)

// From somebody on are users and groups of whom no process is there.
const somebody = 61234

// A condition is what is taken away from gorun.
type condition struct {
	name  string
	lacks []string // in the words of the table
	linuxtest.Without
}

// conditions are all, each one in turn.
func conditions() (all []condition) {
	add := func(name string, w linuxtest.Without, lacks ...string) {
		if w.User != 0 {
			w.User += len(all) // its limits are its own
		}
		all = append(all, condition{name: name, Without: w, lacks: append(slices.Clone(lacks), name)})
	}
	capabilities := slices.Sorted(maps.Keys(linuxtest.Capabilities))
	for _, name := range capabilities {
		add(name, linuxtest.Without{Capability: name})
	}
	// What an ordinary user lacks depends on kernel.perf_event_paranoid: from 2 on, counters of the kernel.
	ordinary := capabilities
	if level, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err != nil || string(level) > "1\n" {
		ordinary = append(slices.Clone(ordinary), "perf_event_open")
	}
	add("an ordinary user", linuxtest.Without{User: somebody}, ordinary...)
	add("perf_event_paranoid 4", linuxtest.Without{ // which answers so, whatever is to be counted
		User: somebody, Filter: []linuxtest.Refusal{{Call: "perf_event_open", Errno: syscall.EACCES}},
	}, append(slices.Clone(capabilities), "perf_event_open")...)
	add("no_new_privs", linuxtest.Without{NewPrivs: true})

	limits := map[string]uint64{ // below what gorun would take, where it takes any
		"RLIMIT_AS": 2 << 30, "RLIMIT_CORE": 0, "RLIMIT_CPU": 60, "RLIMIT_DATA": 1 << 30, "RLIMIT_FSIZE": 100, "RLIMIT_LOCKS": 0,
		"RLIMIT_MEMLOCK": 0, "RLIMIT_MSGQUEUE": 0, "RLIMIT_NICE": 0, "RLIMIT_NOFILE": 16, "RLIMIT_NPROC": 100, "RLIMIT_RSS": 0,
		"RLIMIT_RTPRIO": 0, "RLIMIT_RTTIME": 1, "RLIMIT_SIGPENDING": 0, "RLIMIT_STACK": 64 << 10,
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		w := linuxtest.Without{User: somebody, Limits: map[string]uint64{name: limits[name]}}
		add(name, w, ordinary...)
	}

	paths := []string{
		"/proc", "/proc/cpuinfo", "/proc/meminfo", "/proc/pressure", "/proc/stat", "/proc/sys", "/sys",
		"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel",
	}
	below := func(dir string) (all []string) {
		for _, path := range paths {
			if strings.HasPrefix(path, dir+"/") {
				all = append(all, path)
			}
		}
		return all
	}
	for _, path := range paths {
		add(path, linuxtest.Without{Hidden: []string{path}}, below(path)...)
	}
	add("/proc and /sys", linuxtest.Without{Hidden: []string{"/proc", "/sys"}}, slices.Concat(paths, []string{"any"})...)
	add("/proc, hidepid=2", linuxtest.Without{
		User: somebody, Mounts: []linuxtest.Mount{{Type: "proc", Dir: "/proc", Options: "hidepid=2"}},
	}, ordinary...)
	add("/proc, subset=pid", linuxtest.Without{
		Mounts: []linuxtest.Mount{{Type: "proc", Dir: "/proc", Options: "subset=pid"}},
	}, below("/proc")...)
	v2 := linuxtest.Without{Mounts: []linuxtest.Mount{{Type: "cgroup2", Dir: "/sys/fs/cgroup"}}}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		add("cgroup v2", v2) // what the machine has anyway
	} else {
		add("cgroup v2, controllers in v1", v2, "/sys/fs/cgroup")
	}

	for _, call := range slices.Sorted(maps.Keys(linuxtest.Calls)) {
		for name, errno := range map[string]syscall.Errno{"EPERM": syscall.EPERM, "ENOSYS": syscall.ENOSYS} {
			add(call+" "+name, linuxtest.Without{Filter: []linuxtest.Refusal{{Call: call, Errno: errno}}}, call)
		}
	}
	return all
}

// commandsTried are command lines that take little time, by what the table calls them. $CPU is one that we have.
var commandsTried = []struct{ name, args string }{
	{"topo", "topo --format json"},
	{"compare", "compare $RUN $RUN"},
	{"report", "report --out $DIR/page.html $RUN"},
	{"journal verify", "journal verify $RUN"},
	{"primes", "primes $PRIMES"},
	{"primes --out", "primes $PRIMES --out $DIR/out.jsonl"},
	{"primes --cpus", "primes $PRIMES --cpus $CPU"},
	{"primes --pin-cpus", "primes $PRIMES --pin-cpus $CPU"},
	{"primes --pin-thread", "primes $PRIMES --pin-thread"},
	{"primes --nice 5", "primes $PRIMES --nice 5"},
	{"primes --nice -5", "primes $PRIMES --nice -5"},
	{"primes --sched batch", "primes $PRIMES --sched batch"},
	{"primes --sched fifo:1", "primes $PRIMES --sched fifo:1"},
	{"contend", "contend --count 1000 $JSON"},
	{"c2c", "c2c --samples 1 $JSON"},
	{"numa", "numa --mem float --cpu float --load 0 $NUMA"},
	{"numa --mem 0", "numa --mem 0 --cpu $CPU --load 0 $NUMA"},
	{"numa --load", "numa --mem float --cpu float --load 10 $NUMA"},
	{"pair", "pair --samples 1 --warmup 0 $JSON -- $CPU $CPU 1000"},
	{"bind", "bind --processes 2 --checks 10 --array 4KiB --passes 10 --trials 1 $JSON"},
	{"futex", "futex --round-trips 10 --samples 1 --warmup 0 $JSON -- $CPU $CPU"},
	{"exec", "exec -- /bin/true"},
	{"exec --cpus", "exec --cpus $CPU -- /bin/true"},
	{"exec --nice 5", "exec --nice 5 -- /bin/true"},
	{"exec --nice -5", "exec --nice -5 -- /bin/true"},
	{"exec --sched batch", "exec --sched batch -- /bin/true"},
	{"exec --mempolicy", "exec --mempolicy bind:0 -- /bin/true"},
	{"exec --stat", "exec --stat -- /bin/true"},
	{"exec --timeout", "exec --timeout 1m -- /bin/true"},
	{"exec --placements", "exec --placements unbound,one-cpu --samples 1 $JSON -- /bin/true"},
	{"matrix primes", "matrix primes --workers 1,2 --limit 2000 --samples 1 --warmup 0 $JSON"},
}

// groups are words of the table for several commands.
var groups = map[string]func(command string) bool{
	"every run": func(c string) bool {
		return !slices.Contains([]string{"topo", "compare", "report", "journal verify", "exec --stat", "exec --timeout"}, c) &&
			!slices.Contains(becoming, c)
	},
	"every run in gorun's process": func(c string) bool {
		return slices.Contains([]string{"primes", "contend", "c2c", "futex"}, strings.Fields(c)[0]) || c == "matrix primes"
	},
}

// becoming are the commands where gorun becomes another program.
var becoming = []string{"exec", "exec --cpus", "exec --nice 5", "exec --nice -5", "exec --sched batch", "exec --mempolicy"}

// An outcome is what a command line came to.
type outcome struct {
	code     int
	failed   bool
	said     string            // error and hint
	warnings map[string]string // messages by code
	invalid  []string          // reasons
	doubts   []string          // reasons of suspect samples
	wrong    string            // what no command may do, whatever it lacks
}

// A tablerow is a row of the topic's table.
type tablerow struct {
	text     string
	features []string
	needs    []string
	how      string   // refused, warning, invalid, suspect
	quoted   []string // parts of what is said
	tried    int
}

var backquoted = regexp.MustCompile("`([^`]*)`")

// readTable returns the rows of the topic.
func readTable(t *testing.T) (rows []*tablerow) {
	t.Helper()
	text, err := topics.ReadFile("topics/privileges.md")
	require.NoError(t, err)
	quotes := func(cell string) (all []string) {
		for _, m := range backquoted.FindAllStringSubmatch(cell, -1) {
			all = append(all, m[1])
		}
		return all
	}
	for line := range strings.Lines(string(text)) {
		cells := tableCells(line)
		if cells == nil || cells[0] == "Feature" || strings.HasPrefix(cells[0], "---") {
			continue
		}
		require.Len(t, cells, 3, line)
		row := &tablerow{text: strings.TrimSpace(line), features: quotes(cells[0]), needs: quotes(cells[1]), quoted: quotes(cells[2])}
		if len(row.features) == 0 {
			require.Contains(t, groups, cells[0])
			row.features = []string{cells[0]}
		}
		row.how, _, _ = strings.Cut(cells[2], ":")
		require.Contains(t, []string{"refused", "warning", "invalid", "suspect"}, row.how, line)
		require.NotEmpty(t, row.needs, line)
		require.NotEmpty(t, row.quoted, line)
		rows = append(rows, row)
	}
	return rows
}

// about reports whether a row is about a command without what a condition takes away.
func (r *tablerow) about(command string, c condition) bool {
	of := func(feature string) bool {
		if group := groups[feature]; group != nil {
			return group(command)
		}
		return feature == command || strings.HasPrefix(command, feature+" ")
	}
	lacking := func(name string) bool { return slices.Contains(c.lacks, name) }
	return slices.ContainsFunc(r.features, of) && slices.ContainsFunc(r.needs, lacking)
}

// says reports whether a text has all parts that the row quotes.
func (r *tablerow) says(text string) bool {
	return !slices.ContainsFunc(r.quoted, func(part string) bool { return !strings.Contains(text, part) })
}

// bench is where the commands are tried.
type bench struct {
	dir, gorun, without, run string
	cpu                      string
}

// newBench copies gorun to where every user may run it.
func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "gorun-privileges-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	l := &bench{
		dir: dir, gorun: filepath.Join(dir, "gorun"), without: filepath.Join(dir, "without"), run: filepath.Join(dir, "run.jsonl"),
	}
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(l.gorun, binary, 0o755))
	require.NoError(t, os.Symlink("gorun", l.without))
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	l.cpu = cpuset.Of(allowed.First()).String()
	out, err := exec.Command(l.gorun, "matrix", "primes", "--limit", "2000", "--workers=1,2", "--samples=2", "--warmup=0", "--out",
		l.run).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Chmod(l.run, 0o644))
	return l
}

// noise is what a busy machine does to a sample, and what the laboratory's machine lacks whatever is taken away.
var noise = regexp.MustCompile(`other programs used|hypervisor stole|had a load of|too short|clock|threads ran in only|waited`)

// try runs a command line without what a condition takes away. impossible is why that cannot be taken away here.
func (l *bench) try(t *testing.T, args string, w linuxtest.Without) (o outcome, impossible string) {
	t.Helper()
	work, err := os.MkdirTemp(l.dir, "work")
	require.NoError(t, err)
	defer os.RemoveAll(work)
	require.NoError(t, os.Chmod(work, 0o777))
	const json, few = "--format json --quiet", "--workers 4 --limit 2000 --samples 2 --warmup 0 --format json --quiet"
	line := strings.NewReplacer("$CPU", l.cpu, "$RUN", l.run, "$DIR", work, "$JSON", json, "$PRIMES", few, "$NUMA",
		"--buffer 64KiB --accesses 1000 --samples 1 --numa-balancing keep "+json).Replace(args)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // none takes two seconds on a quiet machine
	defer cancel()
	cmd := exec.CommandContext(ctx, l.without, append([]string{w.Argument(), l.gorun}, strings.Fields(line)...)...)
	cmd.Dir, cmd.WaitDelay = work, time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	o = outcomeOf(stdout.Bytes(), stderr.String())
	o.code = cmd.ProcessState.ExitCode()
	switch {
	case ctx.Err() != nil:
		o.wrong = "it goes on for ever"
	case o.code == linuxtest.ExitImpossible:
		return o, strings.TrimSpace(stderr.String())
	case o.wrong != "":
	case o.failed != (err != nil):
		o.wrong = fmt.Sprintf("exit code %d: %s", o.code, &stderr)
	case o.failed && o.code != exitFailed && o.code != exitOwn:
		o.wrong = fmt.Sprintf("exit code %d: %s", o.code, o.said)
	case o.failed && (o.code == exitOwn) != (strings.HasPrefix(args, "exec") && !strings.Contains(args, "--placements")):
		o.wrong = fmt.Sprintf("exit code %d of %s", o.code, args)
	}
	return o, ""
}

// outcomeOf reads what a command has written.
func outcomeOf(stdout []byte, stderr string) (o outcome) {
	var doc struct {
		Warnings []json.RawMessage
		Samples  []struct {
			Placement struct{ Verified bool }
			Quality   struct {
				Verdict string
				Reasons []string
			}
		}
	}
	_ = json.NewDecoder(bytes.NewReader(stdout)).Decode(&doc) // a text has none of it
	o.warnings = map[string]string{}
	for _, raw := range doc.Warnings {
		var w struct{ Code, Message string }
		if json.Unmarshal(raw, &w) != nil { // as topo has them
			w.Code, w.Message = "odd-machine", string(raw)
		}
		o.warnings[w.Code] += w.Message + "\n"
	}
	for _, s := range doc.Samples {
		switch {
		case s.Quality.Verdict == "invalid":
			o.invalid = append(o.invalid, s.Quality.Reasons...)
		case !s.Placement.Verified:
			o.wrong = "a sample counts whose placement was not verified"
		}
		if s.Quality.Verdict == "suspect" {
			o.doubts = append(o.doubts, s.Quality.Reasons...)
		}
	}
	errors, hints := 0, 0
	for line := range strings.Lines(stderr) {
		switch {
		case strings.HasPrefix(line, "gorun: error: "):
			errors++
			o.said += line
		case strings.HasPrefix(line, "gorun: hint: "):
			hints++
			o.said += line
		case strings.HasPrefix(line, "gorun: warning: "):
			o.warnings["odd-machine"] += line
		case strings.HasPrefix(line, "goroutine "), strings.HasPrefix(line, "panic: "), strings.HasPrefix(line, "fatal error: "),
			strings.HasPrefix(line, "runtime"), strings.HasPrefix(line, "SIG"):
			o.wrong = "it fell over: " + stderr
		}
	}
	o.failed = errors > 0
	if o.wrong == "" && (errors > 1 || hints > 1 || o.failed && !strings.HasPrefix(o.said, "gorun: error: ")) {
		o.wrong = "not one error and one hint: " + o.said
	}
	if o.failed && hints == 0 && !strings.HasSuffix(strings.TrimSpace(o.said), ")") {
		o.wrong = "no way out: " + o.said
	}
	return o
}

// differences returns what the outcome of a command has that the table does not say, and what it says that is not so.
// Without rows the outcome must be as that of a command which lacks nothing.
func (o outcome) differences(usual outcome, rows []*tablerow) (all []string) {
	if o.wrong != "" {
		return []string{o.wrong}
	}
	refusals := slices.DeleteFunc(slices.Clone(rows), func(r *tablerow) bool { return r.how != "refused" })
	if o.failed {
		if !slices.ContainsFunc(refusals, func(r *tablerow) bool { return r.says(o.said) }) {
			all = append(all, "refused: "+o.said)
		}
		return all
	}
	for _, r := range refusals {
		all = append(all, "not refused, as in "+r.text)
	}
	said := func(how, text string) bool {
		return slices.ContainsFunc(rows, func(r *tablerow) bool { return r.how == how && r.says(text) })
	}
	for code, message := range o.warnings {
		if usual.warnings[code] == "" && code != "unsettled-clock" && !said("warning", code+": "+message) {
			all = append(all, "warning: "+code+": "+message)
		}
	}
	for how, reasons := range map[string][2][]string{"invalid": {o.invalid, usual.invalid}, "suspect": {o.doubts, usual.doubts}} {
		for _, reason := range reasons[0] {
			if !noise.MatchString(reason) && !slices.Contains(reasons[1], reason) && !said(how, reason) {
				all = append(all, how+": "+reason)
			}
		}
	}
	for _, r := range rows {
		has := false
		switch r.how {
		case "warning":
			for code, message := range o.warnings {
				has = has || r.says(code+": "+message)
			}
		case "invalid":
			has = slices.ContainsFunc(o.invalid, r.says)
		case "suspect":
			has = slices.ContainsFunc(o.doubts, r.says)
		}
		if !has {
			all = append(all, "not so: "+r.text)
		}
	}
	return all
}

// share reports whether a pair is tried: all of them are too many for every day, and each row of the table has some.
func share(rows []*tablerow, command string, c condition) bool {
	if *allPrivileges {
		return true
	}
	one := uint32(6)
	if testing.Short() {
		one = 40
	}
	h := fnv.New32a()
	h.Write([]byte(command + "\n" + c.name))
	if h.Sum32()%one == 0 {
		return true
	}
	return slices.ContainsFunc(rows, func(r *tablerow) bool { return r.tried == 0 })
}

// Whatever privilege is taken away, each command works, or reports what it lacks as the table of `gorun help privileges`
// says: no row of that says what is not so, and nothing is lacking that has no row.
func TestPrivileges(t *testing.T) {
	l := newBench(t)
	rows := readTable(t)
	var mu sync.Mutex // of rows and counts
	counts := map[string]int{}
	usual := map[string]outcome{}
	var commands []string
	args := map[string]string{}
	for _, c := range commandsTried {
		o, impossible := l.try(t, c.args, linuxtest.Without{})
		require.Empty(t, impossible)
		if runtime.NumCPU() == 1 && slices.Contains([]string{"primes --cpus", "exec --placements"}, c.name) {
			continue // there is one choice of CPUs
		}
		if o.failed {
			t.Logf("%s is not tried: %s", c.name, o.said)
			continue
		}
		require.Empty(t, o.wrong, c.name)
		usual[c.name], args[c.name] = o, c.args
		commands = append(commands, c.name)
	}
	only := regexp.MustCompile(*onlyWithout)
	t.Run("without", func(t *testing.T) {
		for _, c := range conditions() {
			t.Run(c.name, func(t *testing.T) {
				if !only.MatchString(c.name) {
					t.Skip("not asked for")
				}
				if raced && c.Limits["RLIMIT_AS"]+c.Limits["RLIMIT_DATA"] > 0 {
					t.Skip("the race detector takes terabytes")
				}
				if c.Limits["RLIMIT_AS"] > 0 && !linux.Cgo {
					t.Skip("without cgo a thread takes little address space")
				}
				if few := c.Limits["RLIMIT_AS"] + c.Limits["RLIMIT_NPROC"]; few > 0 && runtime.NumCPU() > 4 {
					t.Skip("the threads of so many CPUs do not fit in, whatever runs")
				}
				if runtime.NumCPU() == 1 && slices.Contains(c.lacks, "sched_setaffinity") {
					t.Skip("on one CPU there is nothing to set")
				}
				t.Parallel()
				if _, impossible := l.try(t, "version", c.Without); impossible != "" {
					t.Skip(impossible)
				}
				for _, command := range commands {
					about := slices.DeleteFunc(slices.Clone(rows), func(r *tablerow) bool { return !r.about(command, c) })
					mu.Lock()
					tried := share(about, command, c)
					for _, r := range about {
						if tried {
							r.tried++
						}
					}
					mu.Unlock()
					if !tried {
						continue
					}
					o, _ := l.try(t, args[command], c.Without)
					for _, difference := range o.differences(usual[command], about) {
						t.Errorf("%s: %s", command, difference)
					}
					mu.Lock()
					counts["tried"]++
					switch {
					case o.failed:
						counts["refused"]++
					case len(about) > 0:
						counts["reported"]++
					default:
						counts["worked"]++
					}
					mu.Unlock()
				}
			})
		}
	})
	for _, r := range rows {
		if r.tried == 0 {
			t.Logf("not tried here: %s", r.text)
		}
	}
	t.Logf("%d conditions, %d commands; pairs: %d tried, %d worked, %d worked and reported what is missing, %d refused",
		len(conditions()), len(commands), counts["tried"], counts["worked"], counts["reported"], counts["refused"])
}

// The topic is shown by gorun help, without the marks of Markdown tables.
func TestTopics(t *testing.T) {
	for _, topic := range newTopics() {
		o := dryRun(t, []string{"help", topic.Use})
		assert.Zero(t, o.code)
		assert.Contains(t, o.stdout, topic.Long)
		assert.NotContains(t, o.stdout, "| ")
	}
}
