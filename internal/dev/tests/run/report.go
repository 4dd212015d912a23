package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// An event is a line of `go test -json` (go doc test2json).
type event struct{ Action, Package, Test, Output string }

// A report prints the events of tests like go test, without the output of tests that pass.
type report struct {
	out             io.Writer
	output          map[[2]string]*strings.Builder // of tests and packages that run, by package and test
	passed, skipped int
	failed          []string            // tests of which no subtest failed
	skips           map[string][]string // tests by the reason
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[[2]string]*strings.Builder{}, skips: map[string][]string{}}
}

// run runs a command whose stdout are events, and reports them.
func (r *report) run(cmd *exec.Cmd) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.read(out)
	err = cmd.Wait()
	r.end()
	return err
}

// read reads the events. Lines that are no events are printed as they are.
func (r *report) read(in io.Reader) {
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case line == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(r.out, line)
		default:
			r.add(e)
		}
		if err != nil {
			return
		}
	}
}

func (r *report) add(e event) {
	key := [2]string{e.Package, e.Test}
	text := r.output[key]
	if text == nil {
		text = &strings.Builder{}
		r.output[key] = text
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		text.WriteString(e.Output)
	case "pass", "fail", "skip":
		delete(r.output, key)
		if e.Test == "" {
			r.endPackage(e.Action, text.String())
		} else {
			r.endTest(e, text.String())
		}
	}
}

// endPackage prints a package's last line, or everything if it failed. A package without tests is skipped in silence.
func (r *report) endPackage(action, output string) {
	output = strings.TrimRight(output, "\n")
	switch action {
	case "pass":
		fmt.Fprintln(r.out, output[strings.LastIndexByte(output, '\n')+1:])
	case "fail":
		fmt.Fprintln(r.out, output)
	}
}

// endTest counts a test, and prints the output of one that failed.
func (r *report) endTest(e event, output string) {
	test := strings.TrimPrefix(e.Package, "gorun/") + " " + e.Test
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		fmt.Fprint(r.out, output)
		if !slices.ContainsFunc(r.failed, func(other string) bool { return strings.HasPrefix(other, test+"/") }) {
			r.failed = append(r.failed, test)
		}
	case "skip":
		r.skipped++
		why := reason(output)
		r.skips[why] = append(r.skips[why], test)
	}
}

// said matches a line that a test printed, after its place in the sources.
var said = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (.*)$`)

// reason returns the reason in the output of a test that was skipped.
func reason(output string) string {
	all := said.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return "no reason"
	}
	return all[len(all)-1][1]
}

// end prints how many tests were skipped for each reason, and the counts.
func (r *report) end() {
	if len(r.skips) > 0 {
		fmt.Fprintln(r.out, "\nNot run:")
	}
	for _, why := range slices.Sorted(maps.Keys(r.skips)) {
		fmt.Fprintf(r.out, "%5d  %s\n", len(r.skips[why]), why)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, len(r.failed), r.skipped)
}
