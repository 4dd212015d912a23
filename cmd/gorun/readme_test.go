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

	"gorun/internal/cpuset"
	"gorun/internal/linux"
	"gorun/internal/metrics"
)

const readme = "../../README.md"

// shortened are the parts of the README's commands that a test cannot wait for, or share with another test.
var shortened = strings.NewReplacer("10m", "1s", "--duration 10s", "--duration 1s", "127.0.0.1:9464", "127.0.0.1:0", "127.0.0.1:9091", "127.0.0.1:1",
	"--metrics-push-every 15s", "--metrics-push-every 1s", "go run ./cmd/gorun", "gorun")

// typed is a line that a reader types, and shown is the first line of what that prints: "gorun primes: …".
var (
	typed = regexp.MustCompile(`^(gorun|go run ./cmd/gorun) [a-z0-9]+( |$)`)
	shown = regexp.MustCompile(`^gorun [a-z0-9 ]+: `)
)

// quick makes commands quick that would take long.
var quick = map[string]string{
	"gorun primes ":            " --samples 1 --warmup 0",
	"gorun matrix primes ":     " --samples 1 --limit 2000",
	"gorun matrix contend ":    " --samples 1 --count 2000", // windows of a busy machine may all be spoilt
	"gorun contend ":           " --count 2000",
	"gorun c2c":                " --budget 1s",
	"gorun bind":               " --processes 2 --checks 100 --array 4KiB --passes 2 --trials 1",
	"gorun numa ":              " --samples 1 --accesses 1000 --settle 1ms --buffer 64KiB --budget 5s",
	"gorun pair ":              " --samples 1 --warmup 0",
	"gorun exec --placements ": " --samples 1",
	"gorun matrix exec ":       " --samples 1",
}

// possible tells whether a command can run here: a build without cgo has no C kernels, a pair needs two CPUs, and those
// that a command names must be ours.
func possible(line string, cpus cpuset.Set) bool {
	for _, kernels := range []string{"contend", "c2c", "numa", "pair", "bind"} {
		if strings.Contains(line, kernels) && !strings.Contains(line, "--dry-run") && !linux.Cgo {
			return false
		}
	}
	for _, cpu := range []int{0, 1} {
		if strings.HasPrefix(line, "gorun pair 0") && strings.Contains(line, fmt.Sprintf(" %d", cpu)) && !cpus.Contains(cpu) {
			return false
		}
	}
	return cpus.Len() > 1 || !strings.Contains(line, "c2c") && !strings.Contains(line, "--placements")
}

// before adds flags to a command line, before a command that it runs.
func before(line, flags string) string {
	own, command, runs := strings.Cut(line, " -- ")
	if !runs {
		return line + flags
	}
	return own + flags + " -- " + command
}

// TestReadme executes every gorun command of the README's code blocks, in order, in one directory.
func TestReadme(t *testing.T) {
	if raced && testing.Short() {
		t.Skip("needs a run without -short: under the race detector it takes minutes")
	}
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	script := strings.Builder{}
	for _, line := range blocks(t) {
		if typed.MatchString(line) && !shown.MatchString(line) {
			line = shortened.Replace(line)
			if !possible(line, cpus) {
				continue
			}
			for command, flags := range quick {
				if strings.HasPrefix(line, command) && !strings.Contains(line, "--load-only") {
					line = before(line, flags)
				}
			}
			fmt.Fprintf(&script, "exec sh -c '%s'\n", strings.ReplaceAll(line, "'", "''"))
		}
	}
	require.Greater(t, strings.Count(script.String(), "\n"), 8, "the README shows its commands in code blocks")
	path := filepath.Join(t.TempDir(), "readme.txtar")
	require.NoError(t, os.WriteFile(path, []byte(script.String()), 0o644))
	testscript.Run(t, testscript.Params{Files: []string{path}, Setup: func(env *testscript.Env) error {
		env.Setenv("GORACE", os.Getenv("GORACE"))
		return nil
	}})
}

// blocks returns the lines within the README's code blocks.
func blocks(t *testing.T) []string {
	t.Helper()
	file, err := os.Open(readme)
	require.NoError(t, err)
	defer file.Close()
	var lines []string
	inside := false
	for scan := bufio.NewScanner(file); scan.Scan(); {
		switch {
		case strings.HasPrefix(scan.Text(), "```"):
			inside = !inside
		case inside:
			lines = append(lines, scan.Text())
		}
	}
	return lines
}

// Every make target and flag that the documents name exists.
func TestDocumentsNameWhatExists(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	flags := map[string]bool{"--help": true, "--physcpubind": true} // the latter is numactl's
	root := newRoot(defaultEnv())
	forEach(root, func(cmd *cobra.Command) {
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(cmd.LocalFlags().FlagUsages(), -1) {
			flags[flag] = true
		}
	})
	for _, name := range []string{readme, "../../CONTRIBUTING.md"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, target := range regexp.MustCompile("`make ([a-z0-9-]+)").FindAllStringSubmatch(string(text), -1) {
			assert.Contains(t, string(makefile), "\n"+target[1]+": ", "%s names make %s", name, target[1])
		}
		for _, flag := range regexp.MustCompile("--[a-z][a-z-]+").FindAllString(string(text), -1) {
			assert.True(t, flags[flag], "%s names %s", name, flag)
		}
	}
}

// The README's table of metrics is made of the code's (`make update`).
func TestReadmeListsTheMetrics(t *testing.T) {
	var table strings.Builder
	table.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range metrics.Families {
		labels := ""
		if len(f.Labels) > 0 {
			labels = "`" + strings.Join(f.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&table, "| `%s%s` | %s | %s | %s |\n", metrics.Prefix, f.Name, f.Type, labels, f.Help)
	}
	text, err := os.ReadFile(readme)
	require.NoError(t, err)
	at := regexp.MustCompile(`(?m)^\| metric \|.*\n(\|.*\n)*`).FindIndex(text)
	require.NotNil(t, at)
	if *update {
		text = slices.Concat(text[:at[0]], []byte(table.String()), text[at[1]:])
		require.NoError(t, os.WriteFile(readme, text, 0o644))
		return
	}
	assert.Equal(t, table.String(), string(text[at[0]:at[1]]), "make update")
}
