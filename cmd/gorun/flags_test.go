package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests"
	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/start/launch"
)

// flagValues are the values that every flag is given, by class. The classes of long values have a text that is repeated.
var flagValues = []struct {
	name   string
	values []string
}{
	{"empty", []string{""}},
	{"negative", []string{"-1", "-5", "-1s", "-9223372036854775808", "-0.5"}},
	{"zero", []string{"0", "00", "0s", "0.0", "0%"}},
	{"huge", []string{
		"9223372036854775807", "9223372036854775808", "18446744073709551615", "99999999999999999999", "1e308", "2562047h",
		"999999999999GiB", "9999999999", "10000000,20000000",
	}},
	{"not a number", []string{"ten", "0x", "1e", "5 5", "--", "=", "%", ",", "("}},
	{"NaN", []string{"NaN", "nan", "Inf", "-Inf", "NaN%"}},
	{"unicode", []string{"κόσμε", "١٢", "\u202etxt.exe", "\xff\xfe", "a\u0301😀"}},
	{"escapes", []string{"\x1b[31mred", "\x1b]0;title\x07", "a\nb", "a\x00b", "\r\x1b[2K", "\u009b31m"}},
	{long, []string{"a", "9", "1,", "a b ", "\x1b[1m", "é", "\x80", "/x"}},
	{"twice", []string{"1", "2", "0", "true", "1s", "all", "table", "-1"}},
	{"directory", []string{".", "./", "/etc", "/proc/self/fd"}},
	{"file", []string{"/dev/full", "/dev/null", "missing/file", "run.jsonl", "deep", "values", "empty", "fifo", "/dev/zero", "/dev/tty"}},
	{"many", []string{numbers(20_000, ","), numbers(20_000, " "), "a=" + numbers(20_000, ","), "a=1:10000", "nice=" + numbers(9_000, ",")}},
}

// numbers returns the numbers from 1 to n.
func numbers(n int, separator string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprint(&text, i+1, separator)
	}
	return strings.TrimSuffix(text.String(), separator)
}

const long = "100 kB"

// flagBases are command lines that are accepted and measure nothing. Each flag is added to them in turn. Words after "--" are
// not flags.
var flagBases = []string{
	"primes", "contend", "c2c", "numa", "pair -- 0 1", "pair --auto", "bind", "futex", "migrate", "exec -- true",
	"exec --placements unbound,one-cpu -- true",
	"matrix primes --workers=2,20",
	"matrix contend --load=one-iteration --dist=0,1",
	"matrix c2c --cpus=0,1 --method=cas,write",
	"matrix numa --mem=0,float --cpu=0 --numa-balancing=keep --preferred-node=none",
	"matrix pair --work=syscall,spin -- 0 1",
	"matrix bind --processes=2,20",
	"matrix futex --round-trips=100,200 -- 0 1",
	"matrix migrate --every=1ms,2ms --working-set=16KiB",
	"matrix exec --nice=1,2 -- true",
	"ab -- true false",
	"live --vary=nice=0,5 --metric=process:cpu",
	"topo", "doctor", "compare -- before.jsonl after.jsonl", "compare -- run.jsonl", "report --out=page.html -- run.jsonl",
	"fleet judge -- visits",
}

// internals matches words of Go that must not be in a message about a flag.
var internals = regexp.MustCompile(`strconv|invalid syntax|goroutine \d|\*[a-z]+\.[A-Z]|json:|yaml:|regexp:|%!`)

// flagOutcome is the outcome of a command line.
type flagOutcome struct {
	code           int
	stdout, stderr string
	panicked       string
}

// dryRun executes a command line in this process.
func dryRun(t testing.TB, args []string) flagOutcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := defaultEnv()
	e.Stdout, e.Stderr, e.Args = &stdout, &stderr, args
	done := make(chan flagOutcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- flagOutcome{panicked: fmt.Sprintf("%v\n%s", p, debug.Stack())}
			}
		}()
		cmd := newRoot(e, args...)
		cmd.SetArgs(args)
		err := cmd.ExecuteContext(context.Background())
		if err != nil {
			launch.Report(&stderr, err)
		}
		done <- flagOutcome{code: exitCode(err), stdout: stdout.String(), stderr: stderr.String()}
	}()
	return tests.Receive(t, fmt.Sprintf("end of %.300q", args), done)
}

// fault returns the fault of the outcome of a command line with flags, of which a refusal must name one; "" if there is none.
func (o flagOutcome) fault(flags ...string) string {
	named := func(flag string) bool { return strings.Contains(o.stderr, "--"+flag) }
	unprintable := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	switch {
	case o.panicked != "":
		return o.panicked
	case o.code == exitDone:
		return ""
	case o.code == exitFailed && strings.Contains(o.stderr, "no space left on device") && slices.ContainsFunc(flags, named):
		return "" // what is written there is the result
	case o.code != exitUsage:
		return fmt.Sprintf("exit code %d: %s", o.code, o.stderr)
	case o.stdout != "":
		return "it printed a result as well"
	case strings.Count(o.stderr, "gorun: error: ") != 1 || !strings.HasPrefix(o.stderr, "gorun: error: "):
		return "not one error: " + o.stderr
	case !slices.ContainsFunc(flags, named):
		return "it does not name the flag: " + o.stderr
	case strings.ContainsFunc(o.stderr, unprintable):
		return fmt.Sprintf("it repeats what is not printed: %q", o.stderr)
	case len(o.stderr) > 4500:
		return fmt.Sprintf("%d bytes: %.200s", len(o.stderr), o.stderr)
	case internals.MatchString(o.stderr):
		return "it has words of Go: " + o.stderr
	}
	return ""
}

// Each flag of each command accepts a value or refuses it. It never panics or runs forever, and a refusal is one error that
// names the flag, with exit code 2. TestFlagValues tries each class with each flag once, on one of the commands that have it, and
// with the other commands by chance.
func TestFlagValues(t *testing.T) {
	if raced {
		t.Skip("needs a build without the race detector: all of it is in one goroutine, and it takes long")
	}
	random := rand.New(rand.NewPCG(1, 0))
	tried := map[string]bool{}
	tryFlagValues(t, func(flag, class string, values []string) []string {
		if tried[flag+" "+class] && random.IntN(10) != 0 {
			return nil
		}
		tried[flag+" "+class] = true
		return values[random.IntN(len(values)):][:1]
	})
}

// TestAllFlagValues tries each value with each flag of each command.
func TestAllFlagValues(t *testing.T) {
	tests.Target(t, "ci-long")
	tryFlagValues(t, func(_, _ string, values []string) []string { return values })
}

// A flagBase is a command line to which flags are added.
type flagBase struct {
	text       string
	args, rest []string // rest are words that are not flags
	flags      []string
}

// line returns the command line with flags.
func (b flagBase) line(flags ...string) []string {
	return slices.Concat(b.args, flags, []string{"--"}, b.rest)
}

// readyBases returns the command lines of flagBases, and a new directory with the files that they name.
func readyBases(t testing.TB) (bases []flagBase, dir string) {
	t.Helper()
	root, err := filepath.Abs("../../testdata")
	require.NoError(t, err)
	archive, err := txtar.ParseFile(root + "/runs/matrix.txtar")
	require.NoError(t, err)
	pair, err := txtar.ParseFile(root + "/runs/compare.txtar")
	require.NoError(t, err)
	fleet, err := txtar.ParseFile(root + "/fleet/slurm-healthy.txtar")
	require.NoError(t, err)
	visits, err := txtar.FS(fleet)
	require.NoError(t, err)
	dir = t.TempDir()
	require.NoError(t, os.CopyFS(dir+"/visits", visits))
	for name, text := range map[string]string{
		"run.jsonl": string(archive.Files[0].Data), "before.jsonl": string(pair.Files[0].Data), "after.jsonl": string(pair.Files[1].Data),
		"empty": "", "deep": strings.Repeat("[", 60_000),
		"values": "experiment: primes\nflags: {workers: [" + numbers(9_000, ",") + "]}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	go otherEnds(t.Context(), dir+"/fifo")
	for _, text := range flagBases {
		words, rest, _ := strings.Cut(text, " -- ")
		base := flagBase{text: text, args: strings.Fields(words), rest: strings.Fields(rest)}
		cmd, _, err := newRoot(defaultEnv()).Find(base.args)
		require.NoError(t, err)
		if cmd.Flags().Lookup("sysroot") != nil {
			base.args = append(base.args, "--sysroot="+root+"/hosts/qemu-numa2.txtar")
		}
		if cmd.Flags().Lookup("dry-run") != nil {
			base.args = append(base.args, "--dry-run")
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name != "restore" { // it would put back what gorun changed outside of the test
				base.flags = append(base.flags, flag.Name)
			}
		})
		bases = append(bases, base)
	}
	return bases, dir
}

// otherEnds is the writer and the reader of a pipe, again and again: what waits for a writer reads an empty file, and what is written there is
// read.
func otherEnds(ctx context.Context, pipe string) {
	for ctx.Err() == nil {
		if writer, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // else nobody reads
			_ = writer.Close()
		}
		reader, err := syscall.Open(pipe, syscall.O_RDONLY|syscall.O_NONBLOCK, 0)
		for text := make([]byte, 1<<16); err == nil; {
			time.Sleep(time.Millisecond)
			if n, readErr := syscall.Read(reader, text); n == 0 || readErr != nil && readErr != syscall.EAGAIN {
				_ = syscall.Close(reader)
				break
			}
		}
	}
}

// given returns the words of a flag with a value of a class.
func given(flag, class, value string) []string {
	if class == long {
		value = strings.Repeat(value, 100_000/len(value))
	}
	words := []string{"--" + flag + "=" + value}
	if class == "twice" {
		words = append(words, words[0])
	}
	return words
}

// tryFlagValues tries those values of a class that choose returns for a flag of a command.
func tryFlagValues(t *testing.T, choose func(flag, class string, values []string) []string) {
	accepted, refused := map[string]int{}, map[string]int{}
	bases, dir := readyBases(t)
	t.Chdir(dir)
	for _, base := range bases {
		o := dryRun(t, base.line())
		require.Zero(t, o.code, "%s: %s%s", base.text, o.stderr, o.panicked)
		for _, flag := range base.flags {
			for _, class := range flagValues {
				for _, value := range choose(flag, class.name, class.values) {
					words := given(flag, class.name, value)
					o, fault := base.try(t, words, flag)
					if o.code == exitDone {
						accepted[class.name]++
					} else {
						refused[class.name]++
					}
					if value == "" && o.code == exitDone {
						fault = "it takes an empty value"
					}
					if fault != "" {
						t.Errorf("%s %.200q: %.3000s", base.text, words, fault)
					}
				}
			}
		}
	}
	for _, class := range flagValues {
		t.Logf("%-12s %4d accepted, %4d refused", class.name, accepted[class.name], refused[class.name])
	}
}

// try executes a command line with the words of flags, one of which a refusal must name, and returns its fault; "": it has none. Without
// the words that are not flags, the refusal must name one too: a wrong flag is reported before a missing argument.
func (b flagBase) try(t testing.TB, words []string, flags ...string) (o flagOutcome, fault string) {
	before := entries(t)
	o = dryRun(t, b.line(words...))
	fault = o.fault(flags...)
	of := func(word string) bool { _, value, _ := strings.Cut(word, "="); return slices.Contains(b.rest, value) } // an argument too
	if fault == "" && aboutFlag.MatchString(o.stderr) && len(b.rest) > 0 && !slices.ContainsFunc(words, of) {
		without := b
		without.rest = nil
		if fault = dryRun(t, without.line(words...)).fault(flags...); fault != "" {
			fault = "without arguments: " + fault
		}
	}
	for _, name := range entries(t) {
		if !slices.Contains(before, name) {
			require.NoError(t, os.RemoveAll(name))
			if o.code != exitDone && fault == "" {
				fault = fmt.Sprintf("it leaves %.100q behind", name)
			}
		}
	}
	return o, fault
}

// aboutFlag matches a refusal of a flag, other than one of an argument that names a flag.
var aboutFlag = regexp.MustCompile(`^gorun: error: (cell .*: )?--`)

func entries(t testing.TB) (names []string) {
	all, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, entry := range all {
		names = append(names, entry.Name())
	}
	return names
}

// Two flags of a command with any values are accepted or refused, as one flag is.
func FuzzFlags(f *testing.F) {
	bases, dir := readyBases(f)
	for i := range bases {
		for n := range 8 {
			f.Add(uint16(i), uint16(7*n), uint16(3*n), uint16(5*n), uint16(n))
		}
	}
	f.Fuzz(func(t *testing.T, base, flag, value, otherFlag, otherValue uint16) {
		t.Chdir(dir)
		b := bases[int(base)%len(bases)]
		names := [2]string{b.flags[int(flag)%len(b.flags)], b.flags[int(otherFlag)%len(b.flags)]}
		var words []string
		for i, n := range [2]uint16{value, otherValue} {
			class := flagValues[int(n)%len(flagValues)]
			words = append(words, given(names[i], class.name, class.values[int(n)/len(flagValues)%len(class.values)])...)
		}
		all := names[:]
		for _, word := range b.args {
			if flag, is := strings.CutPrefix(word, "--"); is {
				flag, _, _ = strings.Cut(flag, "=")
				all = append(all, flag)
			}
		}
		if _, fault := b.try(t, words, all...); fault != "" {
			t.Fatalf("%s %.300q: %.3000s", b.text, words, fault)
		}
	})
}

// neutral are the flags with any value of which --resume continues a run. All others are compared. A new flag belongs here only if a sample
// measures the same whatever its value is.
var neutral = strings.Fields(`
	abort-if apply best budget dry-run estimate exit-undecided export-json export-markdown fail-on format margin metrics-linger metrics-listen metrics-textfile out pid
	precision quiet resume resume-changed samples seed strict svg sysroot until-precision verbose warmup why with-cgroup with-pid`)

// With --resume, each flag is compared or neutral.
func TestFlagsOfAResumedRun(t *testing.T) {
	seen := map[string]bool{}
	forEach(newRoot(env{}), func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("resume") == nil {
			return
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if experiment.IsNeutral(f) {
				seen[f.Name] = true
				require.Contains(t, neutral, f.Name, cmd.CommandPath())
			}
		})
	})
	for _, name := range neutral {
		require.True(t, seen[name], "%s is neutral nowhere", name)
	}
}

// The command that continues a run has --resume where the run's command has it.
func TestResumes(t *testing.T) {
	seen := 0
	forEach(newRoot(env{}), func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		if cmd.Flags().Lookup("out") == nil || cmd.Flags().Lookup("samples") == nil {
			return
		}
		name := words[len(words)-1]
		if name == "ab" || name == "bisect" {
			name = "exec"
		}
		x, err := experiment.Find(views, name)
		require.NoError(t, err)
		seen++
		require.Equal(t, cmd.Flags().Lookup("resume") != nil, x.Resumes(&result.Run{Command: words}), "%s", words)
	})
	require.Greater(t, seen, 2*len(rows))
}
