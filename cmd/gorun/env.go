package main

import (
	"io/fs"
	"os"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/files/output"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
	"gorun/internal/run"
	"gorun/internal/show/term"
	"gorun/internal/start/launch"
	"gorun/internal/work/doctor"
)

// env is the environment of a command: its streams, its clock, its machine. Tests replace parts of it.
type env = run.Env

func defaultEnv() env {
	return env{
		Root:   sysfs.This(),
		Stdout: output.NewStdout(), Stderr: &hint.Escaper{W: os.Stderr, Keep: "\r"}, // of progress
		Show:     term.OptionsFor(os.Stdout, os.Getenv),
		Progress: term.OptionsFor(os.Stderr, os.Getenv),
		Now:      time.Now,
		Self:     launch.Self{Path: "/proc/self/exe", Argv: os.Args[:1]}, // this one, even if the file was replaced
		Environ:  os.Environ,
		Tool:     tool(), Views: views,
		Conditions: func(root fs.FS, m *topology.Machine, host result.Host) []string {
			return doctor.Digest(doctor.Subject{Root: root, Machine: m, Host: host})
		},
	}
}
