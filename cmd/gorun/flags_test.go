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
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/child"
	"gorun/internal/experiment"
	"gorun/internal/result"
	"gorun/internal/tests"
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
	"topo", "doctor", "compare -- run.jsonl run.jsonl", "compare -- run.jsonl", "report --out=page.html -- run.jsonl",
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
func dryRun(t *testing.T, args []string) flagOutcome {
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
			child.Report(&stderr, err)
		}
		done <- flagOutcome{code: exitCode(err), stdout: stdout.String(), stderr: stderr.String()}
	}()
	return tests.Receive(t, fmt.Sprintf("end of %.300q", args), done)
}

// fault returns the fault of the outcome of a command line with a flag; "" if there is none.
func (o flagOutcome) fault(flag string) string {
	unprintable := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }
	switch {
	case o.panicked != "":
		return o.panicked
	case o.code == exitDone:
		return ""
	case o.code != exitUsage:
		return fmt.Sprintf("exit code %d: %s", o.code, o.stderr)
	case o.stdout != "":
		return "it printed a result as well"
	case strings.Count(o.stderr, "gorun: error: ") != 1 || !strings.HasPrefix(o.stderr, "gorun: error: "):
		return "not one error: " + o.stderr
	case !strings.Contains(o.stderr, "--"+flag):
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
	random := rand.New(rand.NewPCG(1, 0))
	tried := map[string]bool{}
	tryFlagValues(t, func(flag, class string, values []string) []string {
		if tried[flag+" "+class] && random.IntN(4) != 0 {
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

// tryFlagValues tries those values of a class that choose returns for a flag of a command.
func tryFlagValues(t *testing.T, choose func(flag, class string, values []string) []string) {
	host, err := filepath.Abs("../../testdata/hosts/qemu-numa2.txtar")
	require.NoError(t, err)
	archive, err := txtar.ParseFile("../../testdata/runs/matrix.txtar")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("run.jsonl", archive.Files[0].Data, 0o600))

	accepted, refused := map[string]int{}, map[string]int{}
	for _, base := range flagBases {
		words, rest, _ := strings.Cut(base, " -- ")
		args := strings.Fields(words)
		cmd, _, err := newRoot(defaultEnv()).Find(args)
		require.NoError(t, err)
		if cmd.Flags().Lookup("sysroot") != nil {
			args = append(args, "--sysroot="+host)
		}
		if cmd.Flags().Lookup("dry-run") != nil {
			args = append(args, "--dry-run")
		}
		line := func(flags ...string) []string {
			return slices.Concat(args, flags, []string{"--"}, strings.Fields(rest))
		}
		o := dryRun(t, line())
		require.Zero(t, o.code, "%s: %s%s", base, o.stderr, o.panicked)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			for _, class := range flagValues {
				for _, value := range choose(flag.Name, class.name, class.values) {
					if class.name == long {
						value = strings.Repeat(value, 100_000/len(value))
					}
					given := []string{"--" + flag.Name + "=" + value}
					if class.name == "twice" {
						given = append(given, given[0])
					}
					o := dryRun(t, line(given...))
					if o.code == exitDone {
						accepted[class.name]++
					} else {
						refused[class.name]++
					}
					fault := o.fault(flag.Name)
					if value == "" && o.code == exitDone {
						fault = "it takes an empty value"
					}
					if fault != "" {
						t.Errorf("%s %.200q: %.3000s", base, given, fault)
					}
				}
			}
		})
	}
	for _, class := range flagValues {
		t.Logf("%-12s %4d accepted, %4d refused", class.name, accepted[class.name], refused[class.name])
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
		if name == "ab" {
			name = "exec"
		}
		x, err := experiment.Find(views, name)
		require.NoError(t, err)
		seen++
		require.Equal(t, cmd.Flags().Lookup("resume") != nil, x.Resumes(&result.Run{Command: words}), "%s", words)
	})
	require.Greater(t, seen, 2*len(rows))
}
