package command

import (
	"errors"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/kernel/linux"
)

// AsIs is the placement in which each thread of a program that runs keeps the CPUs that it had.
const AsIs = "as-is"

// RunningPlacements returns the placements that can matter to a program that runs. Nobody can give it a memory policy.
func RunningPlacements(m experiment.Machine) []Placement { return runningOn(m).ofRunning() }

// RunningPlacement returns the placement of this name for a program that runs.
func RunningPlacement(m experiment.Machine, name string) (Placement, error) {
	p, err := runningOn(m).lookup(name)
	if err == nil && p.Mempolicy != linux.MempolicyDefault {
		err = hint.With(errors.New("another process's memory policy cannot be set"),
			"with a control group, --vary mems=… places memory; gorun exec --placements starts a program with a policy")
	}
	return p, err
}

func runningOn(m experiment.Machine) scope {
	g := newScope(m, memoryNodes(m))
	g.running = true
	return g
}

func (g scope) ofRunning() []Placement {
	return slices.DeleteFunc(g.placements(nil), func(p Placement) bool { return p.Mempolicy != linux.MempolicyDefault })
}

// named lists the placements of a machine, for hints.
func (g scope) named() string {
	names, of := []string{}, g.placements(nil)
	if g.running {
		names, of = append(names, AsIs), g.ofRunning()
	}
	for _, p := range of {
		names = append(names, p.Name)
	}
	list := "there are " + strings.Join(names, ", ")
	if g.running {
		list += "; CPUs, as 0-3 or node:0; and auto for all that can matter here"
	}
	return list
}
