package main

import (
	"io"
	"io/fs"
	"os"
	"time"

	"gorun/internal/child"
	"gorun/internal/render/term"
)

// env is what a command takes from its surroundings: what tests replace.
type env struct {
	root           fs.FS // the live machine, rooted at /
	stdin          io.Reader
	stdout, stderr io.Writer
	show           term.Options // what stdout can show
	progress       term.Options // what stderr can show
	now            func() time.Time
	self           child.Self // this program, to be started again in an environment
	args           []string   // the command line, without the program
	environ        func() []string
}

func defaultEnv() env {
	return env{
		root:   os.DirFS("/"),
		stdin:  os.Stdin,
		stdout: os.Stdout, stderr: os.Stderr,
		show:     term.OptionsFor(os.Stdout, os.Getenv),
		progress: term.OptionsFor(os.Stderr, os.Getenv),
		now:      time.Now,
		self:     child.Self{Path: "/proc/self/exe", Argv: os.Args[:1]}, // this one, even if the file was replaced
		environ:  os.Environ,
	}
}
