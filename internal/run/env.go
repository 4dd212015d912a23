// Package run drives every run: it plans the cells, opens the outputs, takes the samples in the order of a schedule,
// judges them, and shows the result. It knows an experiment only by its row.
package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/files/input"
	"gorun/internal/machine/topology"
	"gorun/internal/publish/render"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
	"gorun/internal/start/launch"
)

// Env is the environment of a run, which tests replace.
type Env struct {
	Root           fs.FS // the live machine, rooted at /
	Stdout, Stderr io.Writer
	Show           term.Options // the abilities of stdout
	Progress       term.Options // the abilities of stderr
	Now            func() time.Time
	Self           launch.Self // this program, to be started again in an environment
	Args           []string    // the command line, without the program
	Environ        func() []string
	Tool           result.Tool
	Views          render.Views
	// Conditions returns those of the machine that a reader of a result should know, in words; nil: none.
	Conditions func(root fs.FS, m *topology.Machine, host result.Host) []string
}

// Files opens the files that the user named.
func (e Env) Files() input.Opener { return input.Opener{Named: e.Stderr} }

// warn prints a warning before a run, whose result has the others.
func (e Env) warn(w result.Warning) {
	fmt.Fprintf(e.Stderr, "gorun: warning: %s\n", hint.Printable(w.Message))
	if w.Hint != "" {
		fmt.Fprintf(e.Stderr, "gorun: hint: %s\n", hint.Printable(w.Hint))
	}
}

// Errors that are not printed because their cause has been shown.
var (
	ErrDoubtful    = errors.New("a sample is suspect or invalid (--strict)")
	ErrFailOn      = errors.New("a cell has a verdict that --fail-on names")
	ErrInterrupted = errors.New("interrupted")
)

// Undecided is the error of a run whose --fail-on is not answered, if --exit-undecided was given.
type Undecided struct {
	Code int
	Why  error // what is to be reported; nil: it was
}

func (u Undecided) Error() string {
	if u.Why != nil {
		return u.Why.Error()
	}
	return "--fail-on is undecided"
}
func (u Undecided) Unwrap() error { return u.Why }

// Gated returns the error of a run by what --fail-on found; undecided is --exit-undecided.
func Gated(gate *result.Gate, undecided int) error {
	switch {
	case gate == nil:
	case gate.Result == result.GateFailed:
		return ErrFailOn
	case gate.Result == result.GateUndecided && undecided != 0:
		return Undecided{Code: undecided}
	}
	return nil
}

// OwnFailure is a failure of gorun itself, in a run that otherwise passes on the exit code of a command.
type OwnFailure struct{ error }

func (f OwnFailure) Unwrap() error { return f.error }

// withFlags returns a command line with additional flags. They follow the name of gorun's command, because later
// arguments may belong to a command of the user's.
func withFlags(args []string, flags ...string) []string {
	words := 1
	if len(args) > 1 && args[0] == "matrix" {
		words = 2
	}
	return slices.Insert(slices.Clone(args), min(words, len(args)), flags...)
}

// password matches the password in a URL (RFC 3986, 3.2.1).
var password = lazy.Regexp(`(://[^/@:]*:)[^/@]*@`)

// CommandLine returns the arguments as a result keeps them: without the passwords in URLs.
func CommandLine(args []string) []string {
	kept := make([]string, len(args))
	for i, arg := range args {
		kept[i] = password().ReplaceAllString(arg, "${1}xxxxx@")
	}
	return kept
}
