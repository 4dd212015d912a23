package main

import (
	"github.com/spf13/cobra"

	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
	"gorun/internal/publish/document"
	"gorun/internal/publish/render"
	"gorun/internal/run"
)

// topoOptions are the flags of `gorun topo`.
type topoOptions struct {
	env     env
	sysroot string
	format  string
	capture bool
}

func newTopo(e env) *cobra.Command {
	o := &topoOptions{env: e}
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Print the machine: packages, NUMA nodes, caches, cores, devices, and which CPUs gorun may use",
		Long: "Print the machine as the kernel describes it: packages, nodes, caches, cores and CPUs, the distances between\n" +
			"nodes, which CPUs gorun may use and why it may not use the others, and the network cards, drives and GPUs of the\n" +
			"PCI bus with their node, their CPUs and where their interrupts go (gorun help devices).",
		Example: "  gorun topo\n" +
			"  gorun topo --capture > host.txtar\n" +
			"  gorun topo --sysroot host.txtar --format json",
		RunE: func(*cobra.Command, []string) error { return runTopo(o) },
	}
	flags := experiment.NewFlagSet("topo")
	run.AddFormat(flags, &o.format, document.For[render.Topology]())
	flags.StringVar(&o.sysroot, "sysroot", "", "a captured machine: a `directory` that holds sys/, or a .txtar")
	flags.BoolVar(&o.capture, "capture", false, "write a description of this machine as a .txtar, for --sysroot")
	flags.Files("sysroot", "txtar")
	addFlags(e, cmd, flags)
	return cmd
}

func runTopo(o *topoOptions) error {
	if err := document.For[render.Topology]().Check(o.format); err != nil {
		return err
	}
	root, err := run.OpenRoot(o.env.Root, o.sysroot)
	if err != nil {
		return err
	}
	if o.capture {
		return topology.Capture(o.env.Stdout, root)
	}
	m, err := run.ReadMachine(root, o.sysroot == "")
	if err != nil {
		return err
	}
	return document.Show(o.env.Stdout, render.TopologyOf(m, m.ReadDetails(root), tool()), o.format, o.env.Show)
}
