// Package run drives every run: it plans the cells, opens the outputs, takes the samples in the order of a schedule, has
// them judged, and shows the result. It knows an experiment only by its row.
package run

import (
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"sync"
	"time"

	"gorun/internal/child"
	"gorun/internal/render"
	"gorun/internal/render/term"
	"gorun/internal/result"
)

// Env is what a run takes from its surroundings: what tests replace.
type Env struct {
	Root           fs.FS // the live machine, rooted at /
	Stdout, Stderr io.Writer
	Show           term.Options // what stdout can show
	Progress       term.Options // what stderr can show
	Now            func() time.Time
	Self           child.Self // this program, to be started again in an environment
	Args           []string   // the command line, without the program
	Environ        func() []string
	Tool           result.Tool
	Views          render.Views
	Meeting        string // the address at which runs notice each other; "": none
}

// Errors that say nothing that has not been shown.
var (
	ErrDoubtful    = errors.New("a sample is suspect or invalid (--strict)")
	ErrInterrupted = errors.New("interrupted")
)

// OwnFailure is one of gorun itself where it passes on the exit code of a command.
type OwnFailure struct{ error }

func (f OwnFailure) Unwrap() error { return f.error }

// withFlags returns a command line with flags added to it. They follow the experiment's name: what comes later may be a
// command of the user's.
func withFlags(args []string, experiment string, flags ...string) []string {
	return slices.Insert(slices.Clone(args), slices.Index(args, experiment)+1, flags...)
}

// password is that in a URL (RFC 3986, 3.2.1).
var password = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://[^/@:]*:)[^/@]*@`) })

// CommandLine is what a result keeps of the arguments: all but the passwords in URLs.
func CommandLine(args []string) []string {
	kept := make([]string, len(args))
	for i, arg := range args {
		kept[i] = password().ReplaceAllString(arg, "${1}xxxxx@")
	}
	return kept
}
