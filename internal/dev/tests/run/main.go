// Command run runs `go test` for the Makefile.
//
//	run test [-skips FILE] ARGUMENTS OF GO TEST    prints what go test prints, and why tests were skipped
//	run flaky [-rounds N] [-conditions NAMES] …    runs the tests again and again under each condition of flaky.go
package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) > 0 && args[0] == "test":
		err = test(args[1:])
	case len(args) > 0 && args[0] == "flaky":
		err = flaky(args[1:])
	default:
		err = fmt.Errorf("%q: want test or flaky", args)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// goTest returns the command `go test -json`.
func goTest(args ...string) *exec.Cmd {
	cmd := exec.Command(cmp.Or(os.Getenv("GO"), "go"), append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// test runs the tests once.
func test(args []string) error {
	file := ""
	if len(args) > 1 && args[0] == "-skips" {
		file, args = args[1], args[2:]
	}
	r := newReport(os.Stdout)
	if err := r.run(goTest(args...)); err != nil {
		return err
	}
	if file == "" {
		return nil
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if err := writeSkips(out, r.skips); err != nil {
		return err
	}
	return out.Close()
}

// writeSkips writes a line for each test that was skipped, with its reason.
func writeSkips(w io.Writer, skips map[string][]string) error {
	for _, why := range slices.Sorted(maps.Keys(skips)) {
		for _, test := range skips[why] {
			if _, err := fmt.Fprintf(w, "%s: %s\n", test, why); err != nil {
				return err
			}
		}
	}
	return nil
}
