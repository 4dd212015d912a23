package main

import (
	"flag"
	"hash/fnv"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux/linuxtest"
)

var onlyWithout = flag.String("privileges-without", "", "a regular expression: try these conditions only")

// groups are the names in the table that stand for several commands.
var groups = map[string]func(command string) bool{
	"every run": func(c string) bool {
		return !slices.Contains([]string{"topo", "doctor", "compare", "report", "journal verify", "exec --stat", "exec --timeout"}, c) &&
			!slices.Contains(becoming, c)
	},
	"every run in gorun's process": func(c string) bool {
		return slices.Contains([]string{"primes", "contend", "c2c", "futex", "migrate"}, strings.Fields(c)[0]) || c == "matrix primes"
	},
}

// becoming are the commands in which gorun executes another program in its own place (execve(2)).
var becoming = []string{"exec", "exec --cpus", "exec --nice 5", "exec --nice -5", "exec --sched batch", "exec --mempolicy"}

// A tablerow is a row of the topic's table.
type tablerow struct {
	text     string
	features []string
	needs    []string
	how      string   // kind of report: refused, warning, invalid, suspect
	quoted   []string // texts that the report must contain
	tried    int      // number of tries
}

var backquoted = regexp.MustCompile("`([^`]*)`")

// readTable returns the rows of the table in the topic.
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
	_, table, _ := strings.Cut(string(text), "\n| --- |")
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		require.Len(t, cells, 3, line)
		row := &tablerow{text: strings.Join(cells, " | "), features: quotes(cells[0]), needs: quotes(cells[1]), quoted: quotes(cells[2])}
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

// about reports whether the row applies to a command when a condition takes something away.
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

// says reports whether a text contains everything that the row quotes.
func (r *tablerow) says(text string) bool {
	return !slices.ContainsFunc(r.quoted, func(part string) bool { return !strings.Contains(text, part) })
}

// differences returns each report of a command that has no row, and each row whose report is missing. usual is the command's
// outcome with every privilege; its reports need no row.
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

// share reports whether a command is tried under a condition. There are too many pairs to try all of them each time. Each row
// of the table is tried at least once.
func share(rows []*tablerow, command string, c condition) bool {
	h := fnv.New32a()
	h.Write([]byte(command + "\n" + c.name))
	if tests.Runs("privileges-test") || h.Sum32()%12 == 0 {
		return true
	}
	return slices.ContainsFunc(rows, func(r *tablerow) bool { return r.tried == 0 })
}

// If a privilege is taken away, each command works, or reports the lack in the words of the table of `gorun help privileges`. The
// test fails for a row whose report does not appear, and for a report without a row.
func TestLivePrivileges(t *testing.T) {
	if !tests.Runs("privileges-test") {
		tests.Live(t)
	}
	b := newBench(t)
	rows := readTable(t)
	var mu sync.Mutex // of rows and counts
	counts := map[string]int{}
	usual := map[string]outcome{}
	var commands []string
	args := map[string]string{}
	for _, c := range commandsTried {
		o, impossible := b.try(t, c.args, linuxtest.Without{})
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
					t.Skip("needs a name that -privileges-without matches")
				}
				if raced && c.Limits["RLIMIT_AS"]+c.Limits["RLIMIT_DATA"] > 0 {
					t.Skip("needs a build without the race detector, which reserves terabytes of address space")
				}
				if few := c.Limits["RLIMIT_AS"] + c.Limits["RLIMIT_NPROC"]; few > 0 && runtime.NumCPU() > 4 {
					t.Skip("needs at most 4 CPUs: on more, the threads of the Go runtime alone reach the limit")
				}
				if runtime.NumCPU() == 1 && slices.Contains(c.lacks, "sched_setaffinity") {
					t.Skip("needs two CPUs: on one, no affinity is set")
				}
				t.Parallel()
				if _, impossible := b.try(t, "version", c.Without); impossible != "" {
					t.Skip("needs a privilege itself: ", impossible)
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
					o, _ := b.try(t, args[command], c.Without)
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
