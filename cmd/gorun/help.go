package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gorun/internal/base/hint"
	"gorun/internal/experiment"
	"gorun/internal/run"
	"gorun/internal/show/term"
)

// shared are the groups of flags that are the same in every run: each command's help names them in one line, and
// `gorun help flags` describes them.
var shared = []string{experiment.GroupCPUs, experiment.GroupOrder, experiment.GroupOutput, experiment.GroupMetrics}

// help writes what a command is for, and how it is used.
func help(e env, cmd *cobra.Command) error {
	_, err := io.WriteString(cmd.OutOrStdout(), reflow(cmp.Or(cmd.Long, cmd.Short), textWidth(e))+"\n")
	return errors.Join(err, usage(e, cmd))
}

// reflow breaks the lines of each paragraph anew, at width. Paragraphs are separated by empty lines; one with an indented line
// stays as it is.
func reflow(text string, width int) string {
	paragraphs := strings.Split(strings.TrimRight(text, "\n"), "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") && !strings.Contains(p, "\n ") {
			p = strings.TrimRight(term.Paragraph("", p, width), "\n")
		}
		paragraphs[i] = p
	}
	return strings.Join(paragraphs, "\n\n") + "\n"
}

// usage writes how a command is used, its examples, its commands, and its flags by groups.
func usage(e env, cmd *cobra.Command) error {
	var out strings.Builder
	width := textWidth(e)
	section := func(title, text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			fmt.Fprintf(&out, "\n%s:\n%s\n", title, text)
		}
	}
	lines := ""
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() {
		lines = "  " + cmd.UseLine() + "\n"
	}
	if cmd.HasAvailableSubCommands() {
		lines += "  " + cmd.CommandPath() + " COMMAND\n"
	}
	section("Usage", lines)
	section("Examples", cmd.Example)
	for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Commands"}) {
		section(g.Title, commandList(cmd.Commands(), g.ID, width, (*cobra.Command).IsAvailableCommand))
	}
	asked, _ := cmd.Flags().GetBool("help") // false for gorun help, which shows more
	rare := &flagGroup{title: "More flags (gorun help" + strings.TrimPrefix(cmd.CommandPath(), "gorun") + ")"}
	others := &flagGroup{} // of another command
	every := &flagGroup{title: "Flags of every run (gorun help flags)"}
	for _, g := range groupFlags(cmd.LocalFlags()) {
		described := &flagGroup{title: g.title}
		for _, f := range g.flags {
			to := described
			switch owner := experiment.OwnerOf(f); {
			case slices.Contains(shared, g.title):
				to = every
			case owner != "" && cmd.CommandPath() != "gorun "+owner:
				to = others
				to.title = fmt.Sprintf("Flags of gorun %s, each for several values (gorun %[1]s --help)", owner)
			case asked && experiment.IsRare(f):
				to = rare
			}
			to.flags = append(to.flags, f)
		}
		section(described.title, described.describe(width))
	}
	for _, g := range [...]*flagGroup{rare, others, every} {
		if len(g.flags) > 0 {
			section(g.title, "  "+term.Flow(g.names(), "  ", "  ", width-2))
		}
	}
	section("Help topics", commandList(cmd.Commands(), "", width, (*cobra.Command).IsAdditionalHelpTopicCommand))
	switch {
	case !cmd.HasParent():
		out.WriteString("\ngorun help COMMAND or TOPIC describes it.\n")
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(&out, "\n%s COMMAND --help describes a command.\n", cmd.CommandPath())
	}
	if t, ok := topicOf(cmd); ok && asked {
		fmt.Fprintf(&out, "\ngorun help %s has more: %s.\n", cmd.Name(), t.title)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), strings.TrimPrefix(out.String(), "\n"))
	return err
}

// commandList returns a line for each command of a group that is wanted.
func commandList(all []*cobra.Command, group string, width int, wanted func(*cobra.Command) bool) (lines string) {
	for _, c := range all {
		if c.GroupID == group && wanted(c) {
			lines += term.Paragraph(fmt.Sprintf("  %-11s ", c.Name()), c.Short, width)
		}
	}
	return lines
}

// flagGroup is a group of flags that help shows together.
type flagGroup struct {
	title string
	flags []*pflag.Flag
}

// groupFlags returns the groups of flags, in the order of the first flag of each.
func groupFlags(flags *pflag.FlagSet) (groups []*flagGroup) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		title := experiment.GroupOf(f)
		if title == "" {
			title = experiment.GroupOwn
		}
		i := slices.IndexFunc(groups, func(g *flagGroup) bool { return g.title == title })
		if i < 0 {
			i, groups = len(groups), append(groups, &flagGroup{title: title})
		}
		groups[i].flags = append(groups[i].flags, f)
	})
	return groups
}

func (g *flagGroup) names() (all []string) {
	for _, f := range g.flags {
		all = append(all, "--"+f.Name)
	}
	return all
}

// describe returns the flags with their usage and defaults, in lines of at most width columns.
func (g *flagGroup) describe(width int) string {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.SortFlags = false
	for _, f := range g.flags {
		shown := *f
		shown.Usage = strings.ReplaceAll(f.Usage, "\n", " ")
		if shown.DefValue == "0s" {
			shown.DefValue = "0" // a zero default, which pflag leaves out
		}
		set.AddFlag(&shown)
	}
	return set.FlagUsagesWrapped(width)
}

// newHelp is `gorun help`, which refuses a command or topic that does not exist.
func newHelp(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND or TOPIC]",
		Short: "Describe a command or a topic",
		RunE: func(cmd *cobra.Command, args []string) error {
			described, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = unknownCommand(described, rest[0])
			}
			if err != nil {
				return err
			}
			described.InitDefaultHelpFlag()
			err = described.Help()
			if t, ok := topicOf(described); ok && err == nil {
				fmt.Fprintln(cmd.OutOrStdout())
				err = t.show(e, cmd.OutOrStdout())
			}
			return err
		},
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeHelp,
	}
}

// completeHelp completes the names of commands and topics.
func completeHelp(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	described, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, c := range described.Commands() {
		if (c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()) && strings.HasPrefix(c.Name(), typed) {
			names = append(names, c.Name()+"\t"+c.Short)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// unknownCommand returns the error for a word that does not name a command of cmd, or a topic. Its hint suggests similar names.
func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return hint.Usage(hint.With(fmt.Errorf("unknown command %q", word),
		hint.Near(word, names)+cmd.CommandPath()+" --help lists the commands"))
}

// likeFlag returns a question that suggests flags whose names are similar to the unknown one of err; "" if there are none.
func likeFlag(cmd *cobra.Command, err error) string {
	missing := new(pflag.NotExistError)
	if !errors.As(err, &missing) {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return hint.Near("--"+missing.GetSpecifiedName(), names)
}

// flagsTopic describes the flags that are the same in every run.
func flagsTopic() topic {
	_, set := run.New(env{}, rows[0])
	text := "Each experiment has flags of its own: `gorun EXPERIMENT --help`. These are the same in all.\n\n" +
		"A number of samples that is given is not cut by the default budget. A budget that is given cuts them; it also counts what\n" +
		"comes before the samples, and ends what is in progress. What is complete then is judged.\n"
	for _, g := range groupFlags(set.FlagSet) {
		if slices.Contains(shared, g.title) {
			text += "\n## " + g.title + "\n\n```\n" + g.describe(topicWidth-2) + "```\n"
		}
	}
	return topic{name: "flags", title: "The flags of every run", text: text}
}
