package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux/linuxtest"
)

// An outcome has the reports of a command line.
type outcome struct {
	code     int
	failed   bool
	said     string            // the error and its hint
	warnings map[string]string // messages by code
	invalid  []string          // reasons of invalid samples
	doubts   []string          // reasons of suspect samples
	wrong    string            // a fault that no missing privilege excuses; "": none
}

// bench is a directory in which commands are tried, with a copy of gorun that every user may execute.
type bench struct {
	dir, gorun, without, run string
	cpu                      string
}

// newBench makes the directory, and a journal in it for commands that read one.
func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("", "gorun-privileges-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	b := &bench{
		dir: dir, gorun: filepath.Join(dir, "gorun"), without: filepath.Join(dir, "without"), run: filepath.Join(dir, "run.jsonl"),
	}
	self, err := os.Executable()
	require.NoError(t, err)
	binary := tests.Read(t, self)
	require.NoError(t, os.WriteFile(b.gorun, binary, 0o755))
	require.NoError(t, os.Symlink("gorun", b.without))
	b.cpu = strconv.Itoa(allowed(t).First())
	out, err := exec.Command(b.gorun, "matrix", "primes", "--limit", "2000", "--workers=1,2", "--samples=2", "--warmup=0", "--out",
		b.run).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, os.Chmod(b.run, 0o644))
	return b
}

// noise matches reasons and warnings that depend on how busy the machine is, or on the machine itself.
var noise = regexp.MustCompile(`other programs used|hypervisor stole|major page faults|had a load of|too short|clock|threads ran in only|waited|quota stopped`)

// line returns the words of a command line; those that begin with $ stand for others.
func (b *bench) line(args, work string) []string {
	const json, few = "--format json --quiet", "--workers 4 --limit 2000 --samples 2 --warmup 0 --format json --quiet"
	return strings.Fields(strings.NewReplacer("$CPU", b.cpu, "$RUN", b.run, "$DIR", work, "$JSON", json, "$PRIMES", few, "$NUMA",
		"--buffer 64KiB --accesses 1000 --samples 1 --numa-balancing keep "+json).Replace(args))
}

// try runs a command line without the privileges in w, and returns its outcome. impossible is the reason why they cannot be
// taken away here, or "".
func (b *bench) try(t *testing.T, args string, w linuxtest.Without) (o outcome, impossible string) {
	t.Helper()
	work, err := os.MkdirTemp(b.dir, "work")
	require.NoError(t, err)
	defer os.RemoveAll(work)
	require.NoError(t, os.Chmod(work, 0o777))
	ctx, cancel := context.WithTimeout(t.Context(), tests.Hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.without, append([]string{w.Argument(), b.gorun}, b.line(args, work)...)...)
	cmd.Dir, cmd.WaitDelay = work, time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	o = outcomeOf(stdout.Bytes(), stderr.String())
	o.code = cmd.ProcessState.ExitCode()
	switch {
	case ctx.Err() != nil:
		o.wrong = "it did not end"
	case o.code == linuxtest.ExitImpossible:
		return o, strings.TrimSpace(stderr.String())
	case o.wrong != "":
	case o.failed != (err != nil && o.code != exitDoubtful):
		o.wrong = fmt.Sprintf("exit code %d: %s", o.code, &stderr)
	case o.failed && o.code != exitFailed && o.code != exitOwn:
		o.wrong = fmt.Sprintf("exit code %d: %s", o.code, o.said)
	case o.failed && (o.code == exitOwn) != (strings.HasPrefix(args, "exec") && !strings.Contains(args, "--placements")):
		o.wrong = fmt.Sprintf("exit code %d of %s", o.code, args)
	}
	return o, ""
}

// outcomeOf returns the outcome of a command that wrote this to stdout and stderr.
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
	_ = json.NewDecoder(bytes.NewReader(stdout)).Decode(&doc) // text that is not JSON leaves doc empty
	o.warnings = map[string]string{}
	for _, raw := range doc.Warnings {
		var w struct{ Code, Message string }
		if json.Unmarshal(raw, &w) != nil { // topo prints warnings as plain strings
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
			o.wrong = "it crashed: " + stderr
		}
	}
	o.failed = errors > 0
	if o.wrong == "" && (errors > 1 || hints > 1 || o.failed && !strings.HasPrefix(o.said, "gorun: error: ")) {
		o.wrong = "not one error and one hint: " + o.said
	}
	if o.failed && hints == 0 && !strings.HasSuffix(strings.TrimSpace(o.said), ")") {
		o.wrong = "an error without a hint: " + o.said
	}
	return o
}
