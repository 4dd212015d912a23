package main

import (
	"context"

	"github.com/spf13/cobra"

	"gorun/internal/experiment"
	"gorun/internal/publish/document"
	"gorun/internal/run"
	"gorun/internal/sample/measure"
	"gorun/internal/work/doctor"
)

// doctorOptions are the flags of `gorun doctor`.
type doctorOptions struct {
	env     env
	sysroot string
	format  string
	fix     bool
}

func newDoctor(e env) *cobra.Command {
	o := &doctorOptions{env: e}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show whether measurements on this machine can be trusted, and which of gorun's features work here",
		Long: "Show whether measurements of placement on this machine can be trusted, and which of gorun's features work here.\n" +
			"For two seconds gorun compares equal runs on all CPUs, which shows the least difference that a run can find. Then\n" +
			"each condition of the machine is listed with its value, its effect and the remedy. No privilege is needed, and\n" +
			"nothing is changed. The exit code is 3 where the machine is not ready.",
		Example: "  gorun doctor\n" +
			"  gorun doctor --fix\n" +
			"  gorun doctor --format prometheus > /var/lib/prometheus/node-exporter/gorun.prom",
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), o) },
	}
	flags := experiment.NewFlagSet("doctor")
	run.AddFormat(flags, &o.format, document.For[*doctor.Report]())
	flags.StringVar(&o.sysroot, "sysroot", "", "examine a captured machine: a `directory` that holds sys/, or a .txtar")
	flags.BoolVar(&o.fix, "fix", false, "print commands that change what was found, and how to undo each; none is run")
	flags.Files("sysroot", "txtar")
	addFlags(e, cmd, flags)
	return cmd
}

func runDoctor(ctx context.Context, o *doctorOptions) error {
	if err := document.For[*doctor.Report]().Check(o.format); err != nil {
		return err
	}
	root, err := run.OpenRoot(o.env.Root, o.sysroot)
	if err != nil {
		return err
	}
	live := o.sysroot == ""
	m, err := run.ReadMachine(root, live)
	if err != nil {
		return err
	}
	host, _ := measure.ReadHost(root, m, o.env.Environ())
	report := doctor.Examine(ctx, doctor.Subject{Root: root, Machine: m, Live: live, Host: host})
	if ctx.Err() != nil {
		return errInterrupted
	}
	report.Tool = tool()
	if err := showDoctor(o, report); err != nil {
		return err
	}
	if !report.Ready {
		return errNotReady
	}
	return nil
}

func showDoctor(o *doctorOptions, report *doctor.Report) error {
	if o.fix {
		return report.Fixes(o.env.Stdout)
	}
	return document.Show(o.env.Stdout, report, o.format, o.env.Show)
}
