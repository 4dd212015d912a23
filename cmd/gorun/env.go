package main

import (
	"os"
	"time"

	"gorun/internal/child"
	"gorun/internal/output"
	"gorun/internal/render/term"
	"gorun/internal/run"
	"gorun/internal/sysfs"
)

// env is the environment of a command: its streams, its clock, its machine. Tests replace parts of it.
type env = run.Env

func defaultEnv() env {
	return env{
		Root:   sysfs.Live(),
		Stdout: output.NewStdout(), Stderr: os.Stderr,
		Show:     term.OptionsFor(os.Stdout, os.Getenv),
		Progress: term.OptionsFor(os.Stderr, os.Getenv),
		Now:      time.Now,
		Self:     child.Self{Path: "/proc/self/exe", Argv: os.Args[:1]}, // this one, even if the file was replaced
		Environ:  os.Environ,
		Tool:     tool(), Views: views,
	}
}
