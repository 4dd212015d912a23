// Package launch starts processes, each under a setting. Run starts a Group of one or more, supervises them and all their descendants,
// and returns their outcome. Self.Start and Self.Ask do that for processes of gorun itself. Exec replaces this process by a command.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"gorun/csrc"
	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/files/input"
	"gorun/internal/place/placement"
)

// environ returns the environment of a command with a setting.
func environ(s placement.Setting, env []string) []string {
	if s.GOMAXPROCS == 0 {
		return env
	}
	return with(env, fmt.Sprintf("GOMAXPROCS=%d", s.GOMAXPROCS))
}

// with returns an environment with these variables, in place of those with their names.
func with(env []string, variables ...string) []string {
	name := func(variable string) string {
		name, _, _ := strings.Cut(variable, "=")
		return name
	}
	return append(slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		return slices.ContainsFunc(variables, func(own string) bool { return name(own) == name(variable) })
	}), variables...)
}

// The exit codes of a command that never ran, as in env(1), nice(1) and timeout(1). For a command that a signal ended,
// the code is 128 plus the signal's number.
const (
	ExitRefused  = 125 // the setting is not possible
	ExitCannot   = 126 // found, but cannot be run
	ExitNotFound = 127
	exitSignal   = 128
)

// PassOn makes ExitRefused the exit code of this process, which passes on that of a command, if the kernel refuses it what the Go
// runtime needs.
func PassOn() { csrc.ExitWhereRefused(ExitRefused) }

// ExitError is the error of a command that never ran.
type ExitError struct {
	Code int // one of the exit codes above
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }

func (e *ExitError) Unwrap() error { return e.Err }

// runError makes the ExitError of a program that was not found or cannot be run.
func runError(name string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	code := ExitCannot
	if errors.Is(err, fs.ErrNotExist) {
		code = ExitNotFound
		if why := missing(name); why != nil {
			err = why
		}
	}
	return &ExitError{code, fmt.Errorf("run %q: %w", name, err)}
}

// missing says what a file that exists needs, and the kernel did not find (ENOENT in execve(2)).
func missing(path string) error {
	words, err := interpreter(context.Background(), path)
	switch {
	case err != nil:
		return nil
	case words == nil:
		return errors.New("the loader that it names does not exist: it may be built for another system")
	}
	return fmt.Errorf("its interpreter %q does not exist", words[0])
}

// interpreter returns the words of the first line of a script, without "#!"; nil: it is no script.
func interpreter(ctx context.Context, path string) (words []string, err error) {
	file, err := input.Opener{}.Open(ctx, path, input.Any)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, 256) // as much as the kernel reads (BINPRM_BUF_SIZE)
	n, _ := io.ReadFull(file, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	script, isScript := strings.CutPrefix(line, "#!")
	if !isScript {
		return nil, nil
	}
	words = strings.FieldsFunc(script, func(r rune) bool { return r == ' ' || r == '\t' }) // a carriage return is part of a name
	return append(words, "")[:max(1, len(words))], nil
}

// Exec applies the setting to this process and replaces it by the command (execve(2)). It returns only on failure, with
// an *ExitError. The command has this process's descriptors, signals and exit code. argv[0] is looked up in env's PATH.
func Exec(s placement.Setting, argv, env []string) error {
	path, err := find(argv, env)
	if err != nil {
		return err
	}
	runtime.LockOSThread() // never unlocked: on failure the process ends
	_, mismatches, err := s.Give()
	if err == nil && len(mismatches) > 0 {
		err = errors.New(mismatches[0])
	}
	if err != nil {
		return &ExitError{ExitRefused, err}
	}
	return execute(path, argv, func(path string, argv []string) error { return syscall.Exec(path, argv, environ(s, env)) })
}

// execute runs a file by a function, or, as execvp(3) does, by the shell if the kernel cannot execute it.
func execute(path string, argv []string, by func(path string, argv []string) error) error {
	err := by(path, argv)
	if errors.Is(err, syscall.ENOEXEC) {
		argv = append([]string{"/bin/sh", path}, argv[1:]...)
		err = by(argv[0], argv)
	}
	if err != nil {
		err = runError(argv[0], err)
	}
	return err
}

// find looks a command up like execvp(3): in the directories of PATH unless its name has a slash. A file that cannot be
// run counts only if no later one can.
func find(argv, env []string) (path string, err error) {
	if len(argv) == 0 {
		return "", &ExitError{ExitNotFound, errors.New("no command was given")}
	}
	name := argv[0]
	if strings.Contains(name, "/") {
		return name, runnable(name)
	}
	if name == "" {
		return "", runError(name, fs.ErrNotExist)
	}
	err = &ExitError{ExitNotFound, hint.With(fmt.Errorf("run %q: no such command in PATH", name), whyNotFound(name))}
	search := "/bin:/usr/bin" // as in execvp(3), without a PATH
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			search = value
		}
	}
	for _, dir := range filepath.SplitList(search) {
		path := filepath.Join(dir, name)
		if dir == "" {
			path = "./" + name // an empty part of PATH is the working directory
		}
		is := runnable(path)
		if is == nil {
			return path, nil
		}
		_, hidden := os.Stat(path) // in a directory that may not be searched, as of another user
		if errors.Is(is, fs.ErrPermission) && !errors.Is(hidden, fs.ErrPermission) {
			err = is
		}
	}
	return "", err
}

// whyNotFound returns what to do about a command that no directory of PATH has.
func whyNotFound(name string) string {
	if runnable("./"+name) == nil {
		return "write " + shell.Quote("./"+name) + " for the program in this directory"
	}
	if strings.ContainsAny(name, " \t\n") {
		if _, err := shell.Split(name); err != nil {
			return "in quotes, it is the name of one program; as a command, it is --shell --command " + shell.Quote(name)
		}
		return "in quotes, it is the name of one program: leave them out, or use --command " + shell.Quote(name)
	}
	if way := shell.Builtin(name); way != "" {
		return way
	}
	return "a program outside PATH needs its path, and an alias or a function of your shell is no program"
}

// runnable returns an *ExitError if a file cannot be run, or nil; the kernel may still refuse it.
func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		err = syscall.EISDIR
	case err == nil && info.Mode()&0o111 == 0:
		err = fs.ErrPermission
	}
	if err != nil {
		return runError(path, err)
	}
	return nil
}
