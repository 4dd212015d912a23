package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/experiment"
	"gorun/internal/topology"
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
			switch {
			case c.List:
				return listWords(c.Words(), typed)
			case c.Words != nil:
				return c.Words(), cobra.ShellCompDirectiveNoFileComp
			}
			m, err := topology.Read(e.Root)
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			return c.On(m, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		})
	}
}

// listWords returns the completions of a list that is joined by commas: the typed parts but the last, followed by each word
// that begins with the last part and is not in the list yet. A description may follow each word after a tab. After a comma it
// is left out: cobra's script for bash drops a word that has a comma and a description.
func listWords(words []string, typed string) (all []string, directive cobra.ShellCompDirective) {
	parts := strings.Split(typed, ",")
	there, last := parts[:len(parts)-1], parts[len(parts)-1]
	before := strings.TrimSuffix(typed, last)
	for _, word := range words {
		name, _, _ := strings.Cut(word, "\t")
		switch {
		case !strings.HasPrefix(name, last) || slices.Contains(there, name):
		case before == "":
			all = append(all, word)
		default:
			all = append(all, before+name)
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
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
