package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gorun/internal/matrix"
)

// axis is a flag of an experiment that takes several values.
type axis struct {
	flag   matrix.Flag
	kind   string // of the values, for help
	values []string
}

var _ pflag.Value = (*axis)(nil)

// Set appends values: a flag may be given again.
func (a *axis) Set(text string) error {
	values, err := matrix.ParseValues(a.flag, text)
	a.values = append(a.values, values...)
	return err
}

func (a *axis) String() string { return strings.Join(a.values, ",") }
func (a *axis) Type() string   { return a.kind }

// experimentFlags are the flags of an experiment that may differ between cells, in its order: all but those that the
// matrix has itself.
func experimentFlags(x oldExperiment, own *pflag.FlagSet, from *pflag.FlagSet) (flags []matrix.Flag) {
	from.VisitAll(func(f *pflag.Flag) {
		if own.Lookup(f.Name) != nil || slices.Contains(x.single, f.Name) || f.Name == "help" {
			return
		}
		name, _ := pflag.UnquoteUsage(f)
		flags = append(flags, matrix.Flag{
			Name: f.Name, Switch: f.Value.Type() == "bool", List: name == "list", Whole: name == "regex",
			Default: f.DefValue,
		})
	})
	return flags
}

// registerAxes gives cmd the experiment's flags, each for several values.
func registerAxes(cmd *cobra.Command, x oldExperiment, e env) (axes []*axis) {
	from := x.command(e)
	for _, flag := range experimentFlags(x, cmd.Flags(), from.Flags()) {
		original := from.Flags().Lookup(flag.Name)
		a := &axis{flag: flag, kind: original.Value.Type()}
		axes = append(axes, a)
		added := cmd.Flags().VarPF(a, flag.Name, "", original.Usage)
		added.DefValue, added.NoOptDefVal = original.DefValue, original.NoOptDefVal
		if complete, found := from.GetFlagCompletionFunc(flag.Name); found {
			_ = cmd.RegisterFlagCompletionFunc(flag.Name, complete)
		}
	}
	return axes
}
