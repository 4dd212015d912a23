// Command run runs `go test` and prints what it prints, without the output of tests that pass. It ends with the number of tests, and
// with the reasons for which tests were skipped: the make targets that run them, and what this machine lacks.
//
//	go run ./internal/tests/run [-skips FILE] ARGUMENTS OF GO TEST
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

func main() {
	args, file := os.Args[1:], ""
	if len(args) > 1 && args[0] == "-skips" {
		file, args = args[1], args[2:]
	}
	goTool := cmp.Or(os.Getenv("GO"), "go")
	cmd := exec.Command(goTool, append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := newReport(os.Stdout)
	r.read(out)
	err = cmd.Wait()
	r.end()
	if file != "" {
		if err := appendSkips(file, r.skips); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err != nil {
		os.Exit(1)
	}
}

// An event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

// A report is what is known of the tests so far.
type report struct {
	out                     io.Writer
	output                  map[[2]string]*strings.Builder // of tests and packages that run, by package and test
	passed, failed, skipped int
	skips                   map[string][]string // tests by the reason
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[[2]string]*strings.Builder{}, skips: map[string][]string{}}
}

// read reads the events. Lines that are no events are printed as they are.
func (r *report) read(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
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

// add adds an event.
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
		r.done(e, text.String())
	}
}

// done counts a test or a package that has ended, and prints a package's line, and all output of what failed.
func (r *report) done(e event, output string) {
	if e.Test == "" {
		if lines := strings.SplitAfter(strings.TrimRight(output, "\n"), "\n"); e.Action == "fail" {
			fmt.Fprintln(r.out, strings.TrimRight(output, "\n"))
		} else if e.Action == "pass" {
			fmt.Fprintln(r.out, lines[len(lines)-1])
		}
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		fmt.Fprint(r.out, output)
	case "skip":
		r.skipped++
		why := reason(output)
		r.skips[why] = append(r.skips[why], strings.TrimPrefix(e.Package, "gorun/")+" "+e.Test)
	}
}

// said matches the place in the sources before a reason.
var said = regexp.MustCompile(`(?m)^ +\w+\.go:\d+: (.*)$`)

// reason returns the reason in the output of a test that was skipped.
func reason(output string) string {
	all := said.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return "no reason"
	}
	return all[len(all)-1][1]
}

// end prints the counts. The tests of other targets were left out; the others could not run here.
func (r *report) end() {
	if len(r.skips) > 0 {
		fmt.Fprintln(r.out, "\nNot run:")
	}
	for _, why := range slices.Sorted(maps.Keys(r.skips)) {
		fmt.Fprintf(r.out, "%5d  %s\n", len(r.skips[why]), why)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}

// appendSkips appends the tests that were skipped to a file, with their reasons.
func appendSkips(file string, skips map[string][]string) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, why := range slices.Sorted(maps.Keys(skips)) {
		for _, test := range skips[why] {
			if _, err = fmt.Fprintf(out, "%s: %s\n", test, why); err != nil {
				return err
			}
		}
	}
	return out.Close()
}
