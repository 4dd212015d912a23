package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// signals that a script can send.
var signals = map[string]syscall.Signal{"-HUP": syscall.SIGHUP, "-INT": syscall.SIGINT, "-TERM": syscall.SIGTERM}

// exits is the script command `exits CODE[|CODE…] [-INT FILE] ARGS…`: gorun must end with one of these exit codes. Its outputs go to the
// files out and err. With -HUP, -INT or -TERM the signal is sent as soon as FILE, a name or a
// pattern, holds a line.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE[|CODE…] [-INT FILE] ARGS…")
	}
	codes := strings.Split(args[0], "|")
	args = args[1:]
	signal, awaited := signals[args[0]]
	var file string
	if awaited {
		file, args = ts.MkAbs(args[1]), args[2:]
	}

	gorun, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], "gorun"))
	ts.Check(err)
	cmd := exec.Command(gorun, args...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "GOCACHE="+ts.Getenv("GOCACHE"),
		"GIT_CEILING_DIRECTORIES="+ts.Getenv("GIT_CEILING_DIRECTORIES"))
	out, err := os.Create(ts.MkAbs("out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs("err"))
	ts.Check(err)
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = out, errs
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for awaited {
		if found, _ := filepath.Glob(file); len(found) > 0 {
			file = found[0]
		}
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "\n") {
			ts.Check(cmd.Process.Signal(signal))
			break
		}
		select {
		case err := <-ended:
			ts.Fatalf("it ended before the signal: %v\n%s", err, ts.ReadFile("err"))
		case <-time.After(10 * time.Millisecond):
		}
	}
	err = <-ended
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		ts.Check(err)
	}
	if got := strconv.Itoa(cmd.ProcessState.ExitCode()); !slices.Contains(codes, got) {
		ts.Fatalf("exit code %s, and not %s\n%s", got, strings.Join(codes, " or "), ts.ReadFile("err"))
	}
}
