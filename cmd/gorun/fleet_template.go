package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/base/catalog"
	"gorun/internal/base/hint"
	"gorun/internal/work/fleet"
)

func newFleetTemplate(e env) *cobra.Command {
	var list strings.Builder
	for _, t := range fleet.Templates {
		fmt.Fprintf(&list, "  %-18s %s\n", t.Name, t.Usage)
	}
	return &cobra.Command{
		Use:   "template " + strings.Join(catalog.Names(fleet.Templates[:]), "|"),
		Short: "Print a file by which Slurm, Kubernetes or ssh visits many machines",
		Long: "The file works as it is, with the paths that its first lines name. It is printed, and nothing is run:\n\n" +
			list.String() + "\nOnly with ssh, where the collector names the folder of each node, can no node write visits of another: see gorun\n" +
			"help fleet for what each way can promise.\n",
		Example: "  gorun fleet template slurm > gorun-fleet.sh\n" +
			"  gorun fleet template kubernetes | kubectl apply -f -",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return hint.Usage(hint.With(errors.New("name one template"), "there are "+catalog.List(fleet.Templates[:])))
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(catalog.Completions(fleet.Templates[:]), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := fleet.FindTemplate(args[0])
			if err != nil {
				return hint.Usage(err)
			}
			_, err = io.WriteString(e.Stdout, text)
			return err
		},
	}
}
