package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/place/subject/programtest"
	"gorun/internal/publish/metrics"
)

const readme = "../../README.md"

// shortened replaces parts of the documents' commands that take too long for a test, or that two tests cannot use at once.
var shortened = strings.NewReplacer("10m", "1s", "--duration 10s", "--duration 1s", "127.0.0.1:9464", "127.0.0.1:0",
	"go run ./cmd/gorun", "gorun")

// typed matches a line that a reader types, and shown the first line of the description in its output: "gorun primes: …".
var (
	typed = regexp.MustCompile(`^(gorun|go run ./cmd/gorun) [a-z0-9]+( |$)`)
	shown = regexp.MustCompile(`^gorun [a-z0-9 ]+: `)
	// ofLive matches a line in the output of a run of gorun live.
	ofLive = regexp.MustCompile(`--pid [0-9]`)
	budget = regexp.MustCompile(`--budget [0-9]+[smh]`)
	step   = regexp.MustCompile(`^ *(- )?(run: )?`) // what comes before a command of a CI job, in YAML
)

// quick has flags that make slow commands quick, by the beginning of the command.
var quick = map[string]string{
	"gorun primes ":                      " --samples 1 --warmup 0",
	"gorun matrix primes ":               " --samples 1 --limit 2000",
	"gorun matrix contend ":              " --samples 1 --count 2000", // on a busy machine no window may count
	"gorun matrix c2c ":                  " --samples 1",
	"gorun contend ":                     " --count 2000",
	"gorun c2c":                          " --samples 1",
	"gorun bind":                         " --processes 2 --checks 100 --array 4KiB --passes 2 --trials 1",
	"gorun numa":                         " --samples 1 --accesses 1000 --settle 1ms --buffer 64KiB",
	"gorun pair ":                        " --samples 1 --warmup 0",
	"gorun futex":                        " --samples 1 --warmup 0",
	"gorun memory":                       " --samples 1 --warmup 0 --buffer 1MiB --time 1ms --accesses 1000",
	"gorun matrix memory ":               " --samples 1 --buffer 1MiB --time 1ms",
	"gorun migrate":                      " --working-set 16KiB --moves 5 --samples 2",
	"gorun exec --placements ":           " --samples 1",
	"gorun exec --copies 1,":             " --samples 1",
	"gorun exec --copies 2 --placements": " --samples 1",
	"gorun matrix exec ":                 " --samples 1",
	"gorun ab ":                          " --samples 1",
	"gorun doctor":                       " || test $? = 3",             // a busy machine is not ready
	"gorun fleet node ":                  " --budget 2s || test $? = 1", // on a slow one, nothing may fit
	"gorun bench ":                       " --samples 1 --benchtime 10x",
	"gorun live --pid ":                  " --samples 1 --block 20ms",
}

// possible reports whether a command can run here: a pair needs two CPUs, and the process must be allowed to use the CPUs that the command names.
func possible(line string, cpus cpuset.Set) bool {
	for _, cpu := range []int{0, 1} {
		if strings.Contains(line, "placement=0,1") && !cpus.Contains(cpu) {
			return false
		}
		if (strings.HasPrefix(line, "gorun pair 0") || strings.HasPrefix(line, "gorun futex 0")) && strings.Contains(line, fmt.Sprintf(" %d", cpu)) && !cpus.Contains(cpu) {
			return false
		}
	}
	return cpus.Len() > 1 || !strings.Contains(line, "c2c") && !strings.Contains(line, "--placements") && !strings.Contains(line, "--dedicate") &&
		!strings.Contains(line, "placement=auto")
}

// before adds flags to a command line of gorun, before the command that gorun runs.
func before(line, flags string) string {
	own, command, runs := strings.Cut(line, " -- ")
	if !runs {
		return line + flags
	}
	return own + flags + " -- " + command
}

// documents returns the paths of the files whose commands are executed: README.md and the help topics.
func documents(t *testing.T) []string {
	t.Helper()
	files := tests.Glob(t, "topics/*.md")
	require.NotEmpty(t, files)
	return append([]string{readme}, files...)
}

// TestLiveDocuments executes every gorun command in the code blocks of README.md and of the help topics, in order. A command that
// is in several of them is executed once. Each document has a directory of its own.
func TestLiveDocuments(t *testing.T) {
	tests.Live(t)
	cpus := allowed(t)
	recorded, err := txtar.ParseFile("../../testdata/runs/compare.txtar")
	require.NoError(t, err)
	executed := map[string]bool{}
	for _, document := range documents(t) {
		var commands []string
		for _, line := range blocks(t, document) {
			if line = quickened(line); line != "" && possible(line, cpus) && !executed[line] {
				executed[line] = true
				commands = append(commands, line)
			}
		}
		if len(commands) == 0 {
			continue
		}
		t.Run(filepath.Base(document), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "commands.txtar")
			require.NoError(t, os.WriteFile(path, txtar.Format(scriptOf(commands, recorded)), 0o644))
			testscript.Run(t, testscript.Params{Files: []string{path}, Setup: func(env *testscript.Env) error {
				env.Setenv("GORACE", os.Getenv("GORACE"))
				env.Setenv("GITHUB_STEP_SUMMARY", "summary.md")
				env.Setenv("GITHUB_BASE_REF", "main")
				env.Setenv("GOCACHE", goCache())
				pid := programtest.Start(t, "threads", "1").Process.Pid
				return os.WriteFile(filepath.Join(env.WorkDir, "server.pid"), fmt.Appendln(nil, pid), 0o644)
			}})
		})
	}
	require.Greater(t, len(executed), 40, "the documents show their commands in code blocks")
}

// quickened returns the command of a line of a code block, changed so that it is quick; "" if it is not a command of gorun.
func quickened(line string) string {
	if !typed.MatchString(line) || shown.MatchString(line) || ofLive.MatchString(line) {
		return ""
	}
	line = budget.ReplaceAllString(shortened.Replace(line), "--budget 1h") // a slow machine takes its one sample, too
	for command, flags := range quick {
		if strings.HasPrefix(line, command) {
			line = before(line, flags)
		}
	}
	return line
}

// commit makes a repository of a module, with a branch and one of a remote.
const commit = `exec git init -q -b main
exec git add go.mod internal
exec git -c user.name=a -c user.email=a@example.com commit -q -m first
exec git update-ref refs/remotes/origin/main HEAD
`

// module is a module with benchmarks in the packages that documents name.
var module = []txtar.File{
	{Name: "go.mod", Data: []byte("module example.com/x\n\ngo 1.24\n")},
	{Name: "internal/base/shell/x_test.go", Data: []byte("package shell\n\nimport \"testing\"\n\nfunc BenchmarkParse(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n")},
	{Name: "internal/stats/x_test.go", Data: []byte("package stats\n\nimport \"testing\"\n\nfunc BenchmarkMedian(b *testing.B) {\n\tfor b.Loop() {\n\t}\n}\n")},
}

// slowed makes a repository, or commits to it, and its second commit makes a program slower.
const slowed = `exec git init -q
exec git add Makefile program.sh
exec git -c user.name=a -c user.email=a@example.com commit -q -m fast
exec git tag v1.2
exec sh -c 'echo sleep 0.05 >>program.sh'
exec git -c user.name=a -c user.email=a@example.com commit -q -a -m slow
`

// program is what that repository has.
var program = []txtar.File{
	{Name: "Makefile", Data: []byte("program:\n\tcp program.sh program && chmod 755 program\n")},
	{Name: "program.sh", Data: []byte("#!/bin/sh\n")},
}

// scriptOf returns a script of commands, with a recorded run for each journal that they read and do not write.
func scriptOf(commands []string, recorded *txtar.Archive) *txtar.Archive {
	script := txtar.Archive{
		Comment: []byte("chmod 755 before\nchmod 755 after\nchmod 755 load.sh\nchmod 755 client\n"),
		Files: []txtar.File{
			{Name: "before", Data: []byte("#!/bin/sh\n")},
			{Name: "after", Data: []byte("#!/bin/sh\n")}, // builds
			{Name: "load.sh", Data: []byte("#!/bin/sh\necho requests per second: 12\n")},
			{Name: "client", Data: []byte("#!/bin/sh\nwhile echo requests per second: 12; do sleep 0.01; done\n")},
		},
	}
	for _, needs := range []struct {
		command, script string
		files           []txtar.File
	}{{"gorun bench ", commit, module}, {"gorun bisect ", slowed, program}} {
		if slices.ContainsFunc(commands, func(command string) bool { return strings.HasPrefix(command, needs.command) }) {
			script.Comment = append(script.Comment, needs.script...)
			script.Files = append(script.Files, needs.files...)
		}
	}
	for _, command := range commands {
		script.Comment = fmt.Appendf(script.Comment, "exec sh -c '%s'\n", strings.ReplaceAll(command, "'", "''"))
	}
	for journal, member := range map[string]string{"run.jsonl": "run.jsonl", "before.jsonl": "before.jsonl", "after.jsonl": "run.jsonl"} {
		if !strings.Contains(string(script.Comment), "--out "+journal) {
			i := slices.IndexFunc(recorded.Files, func(f txtar.File) bool { return f.Name == member })
			script.Files = append(script.Files, txtar.File{Name: journal, Data: recorded.Files[i].Data})
		}
	}
	return &script
}

// quoted matches a command in a row of README's table of questions.
var quoted = regexp.MustCompile("`(gorun [^`]*)`")

// blocks returns the lines within the code blocks of a document, and of README's table the commands that can be executed as they are.
func blocks(t *testing.T, document string) []string {
	t.Helper()
	file, err := os.Open(document)
	require.NoError(t, err)
	defer file.Close()
	var lines []string
	inside, job := false, false
	for scan := bufio.NewScanner(file); scan.Scan(); {
		switch {
		case strings.HasPrefix(scan.Text(), "```"):
			inside, job = !inside, scan.Text() == "```yaml"
		case inside && job:
			lines = append(lines, step.ReplaceAllString(scan.Text(), ""))
		case inside:
			lines = append(lines, scan.Text())
		case document == readme && strings.HasPrefix(scan.Text(), "| "):
			for _, command := range quoted.FindAllStringSubmatch(scan.Text(), -1) {
				if !strings.Contains(command[1], "COMMAND") {
					lines = append(lines, command[1])
				}
			}
		}
	}
	return lines
}

// Every make target and flag that the documents name exists.
func TestDocumentsNameWhatExists(t *testing.T) {
	makefile := tests.Read(t, "../../Makefile")
	flags := map[string]bool{"--help": true, "--physcpubind": true, "--log-prefix": true, "--cpuset-cpus": true, "--cpuset-mems": true} // of other programs
	root := newRoot(defaultEnv())
	forEach(root, func(cmd *cobra.Command) {
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(cmd.LocalFlags().FlagUsages(), -1) {
			flags[flag] = true
		}
	})
	for _, name := range append(documents(t), "../../CONTRIBUTING.md") {
		text := tests.Read(t, name)
		for _, target := range regexp.MustCompile("`make ([a-z0-9-]+)").FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, string(makefile), "\n"+target[1]+": ", "%s names make %s", name, target[1])
		}
		for _, flag := range regexp.MustCompile("--[a-z][a-z-]+").FindAllString(string(text), -1) {
			assert.True(t, flags[flag], "%s names %s", name, flag)
		}
	}
}

// The table of metrics in the topic is generated from the code (`make update`).
func TestTopicListsTheMetrics(t *testing.T) {
	var table strings.Builder
	table.WriteString("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range metrics.Families {
		labels := ""
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s%s` | %s | %s | %s |\n", metrics.Prefix, f.Name, f.Type, labels, f.Help)
	}
	text := tests.Read(t, "topics/metrics.md")
	at := regexp.MustCompile(`(?m)^\| metric \|.*\n(\|.*\n)*`).FindIndex(text)
	require.NotNil(t, at)
	if *update {
		text = slices.Concat(text[:at[0]], []byte(table.String()), text[at[1]:])
		require.NoError(t, os.WriteFile("topics/metrics.md", text, 0o644))
		return
	}
	assert.Equal(t, table.String(), string(text[at[0]:at[1]]), "make update")
}
