package main

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gorun/internal/experiment"
	"gorun/internal/machine/topology"
)

// complete registers a function that completes a flag. Cobra keeps such functions for the life of the process, so they are
// registered only in a process that completes a command line.
func complete(e env, cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if len(e.Args) > 0 && strings.HasPrefix(e.Args[0], cobra.ShellCompRequestCmd) {
		_ = cmd.RegisterFlagCompletionFunc(flag, by)
	}
}

// addFlags adds a set of flags to a command, with their completion.
func addFlags(e env, cmd *cobra.Command, set *experiment.FlagSet) {
	cmd.Flags().SortFlags = false
	cmd.Flags().AddFlagSet(set.FlagSet)
	for _, c := range set.Completions {
		if c.On == nil && c.Words == nil {
			_ = cmd.MarkFlagFilename(c.Flag, c.Files...)
			continue
		}
		complete(e, cmd, c.Flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			words, err := c.Values(func() (*topology.Machine, error) { return topology.Read(e.Root) }, typed)
			switch {
			case err != nil:
				return nil, cobra.ShellCompDirectiveError
			case c.OrFiles:
				return words, cobra.ShellCompDirectiveDefault
			case c.Between != "" || c.On != nil:
				return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// writeBashCompletion writes cobra's script for bash, which then names the package that it needs where that is missing: without it, bash
// would say at each tab that it does not know a function.
func writeBashCompletion(root *cobra.Command, flags *pflag.FlagSet, to io.Writer) error {
	var script bytes.Buffer
	plain, _ := flags.GetBool("no-descriptions") // cobra's flag
	if err := root.GenBashCompletionV2(&script, !plain); err != nil {
		return err
	}
	const needs = "    _get_comp_words_by_ref "
	text := strings.Replace(script.String(), needs, `    if ! declare -F _get_comp_words_by_ref >/dev/null; then
        printf '\ngorun: completion needs the package bash-completion\n' >&2
        return 1
    fi
`+needs, 1)
	_, err := io.WriteString(to, text)
	return err
}

// completeCommand completes a command of the user: its name by the programs in PATH, or by files if it has a slash, and its
// arguments by files.
func completeCommand(e env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || strings.Contains(typed, "/") {
			return nil, cobra.ShellCompDirectiveDefault
		}
		search := ""
		for _, variable := range e.Environ() {
			if value, ok := strings.CutPrefix(variable, "PATH="); ok {
				search = value
			}
		}
		found := map[string]bool{}
		for _, dir := range filepath.SplitList(search) {
			entries, _ := os.ReadDir(dir) // PATH may name directories that do not exist
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), typed) && !entry.IsDir() {
					info, err := os.Stat(filepath.Join(dir, entry.Name())) // Stat follows links
					found[entry.Name()] = found[entry.Name()] || err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
				}
			}
		}
		maps.DeleteFunc(found, func(_ string, program bool) bool { return !program })
		return slices.Sorted(maps.Keys(found)), cobra.ShellCompDirectiveNoFileComp
	}
}
