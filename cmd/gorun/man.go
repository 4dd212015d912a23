package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/manual"
	"gorun/internal/output"
)

// manOptions are the arguments of `gorun man`.
type manOptions struct {
	env  env
	root *cobra.Command
	dir  string
}

func newMan(e env, runF func(context.Context, *manOptions) error) *cobra.Command {
	o := &manOptions{env: e}
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the man pages to a directory",
		Long: "Each command has a page in section 1 of the manual, gorun-COMMAND.1, and each help topic without a command one\n" +
			"in section 7, gorun-TOPIC.7. The directory is made if there is none; pages that are there already are replaced.",
		Example: "  gorun man pages && man -l pages/gorun-primes.1",
		Args:    oneDirectory("man"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.root, o.dir = cmd.Root(), args[0]
			return runF(cmd.Context(), o)
		},
		ValidArgsFunction: completeDirectory,
	}
}

func runMan(ctx context.Context, o *manOptions) error {
	files := map[string][]byte{}
	for _, page := range manPages(o.root) {
		files[page.File()] = page.Bytes()
	}
	return writeFiles(ctx, o.env, output.Named{Path: o.dir}, files)
}

// manPages returns a page for each command, and one for each topic that belongs to none.
func manPages(root *cobra.Command) (pages []*manual.Page) {
	forEach(root, func(cmd *cobra.Command) {
		switch {
		case cmd == root || cmd.IsAvailableCommand():
			pages = append(pages, commandPage(cmd))
		case cmd.IsAdditionalHelpTopicCommand():
			pages = append(pages, topicPage(cmd))
		}
	})
	return pages
}

// source returns the name and the version of the program for the foot of a page.
func source() string { return "gorun " + version }

// pageOf returns the name of a command's man page.
func pageOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// topicPage returns the page of a topic that belongs to no command.
func topicPage(cmd *cobra.Command) *manual.Page {
	t, _ := readTopic(cmd.Name())
	page := manual.NewPage(pageOf(cmd), 7, t.title, source())
	page.Heading("Description")
	page.Markdown(t.text)
	page.Heading("See also")
	page.Markdown("**" + pageOf(cmd.Root()) + "**(1)")
	return page
}

// commandPage returns the page of a command: its help, and the topic with its name.
func commandPage(cmd *cobra.Command) *manual.Page {
	page := manual.NewPage(pageOf(cmd), 1, cmd.Short, source())
	page.Heading("Synopsis")
	if cmd.HasAvailableSubCommands() {
		page.Markdown("**" + cmd.CommandPath() + "** COMMAND")
	} else {
		page.Markdown("**" + cmd.CommandPath() + "**" + strings.TrimPrefix(cmd.UseLine(), cmd.CommandPath()))
	}
	page.Heading("Description")
	page.Markdown(cmd.Long)
	if cmd.Long == "" {
		page.Markdown(cmd.Short + ".")
	}
	if cmd.Example != "" {
		page.Heading("Examples")
		page.Code(strings.ReplaceAll("\n"+cmd.Example, "\n  ", "\n")[1:] + "\n")
	}
	optionsOf(page, cmd)
	if t, ok := topicOf(cmd); ok {
		page.Heading(t.title)
		page.Markdown(t.text)
	}
	var others []string
	for _, other := range cmd.Commands() {
		switch {
		case other.IsAvailableCommand():
			others = append(others, "**"+pageOf(other)+"**(1)")
		case other.IsAdditionalHelpTopicCommand():
			others = append(others, "**"+pageOf(other)+"**(7)")
		}
	}
	if cmd.HasParent() {
		others = append(others, "**"+pageOf(cmd.Parent())+"**(1)")
	}
	page.Heading("See also")
	page.Markdown(strings.Join(others, ", "))
	return page
}

// optionsOf describes the flags of a command by their groups. For the flags of every run it names their own page.
func optionsOf(page *manual.Page, cmd *cobra.Command) {
	var groups []*flagGroup
	everyRun := false
	for _, g := range groupFlags(cmd.LocalFlags()) {
		if slices.Contains(shared, g.title) {
			everyRun = true
			continue
		}
		groups = append(groups, g)
	}
	if len(groups) == 0 && !everyRun {
		return
	}
	page.Heading("Options")
	for _, g := range groups {
		page.Subheading(g.title)
		for _, line := range g.lines() {
			page.Term(line.flag, line.usage)
		}
	}
	if everyRun {
		page.Subheading("Flags of every run")
		page.Markdown("**gorun-flags**(7) describes them.")
	}
}
