package main

import (
	"cmp"
	"embed"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gorun/internal/show/term"
)

//go:embed topics/*.md
var topics embed.FS

// topic is a help topic: a file with its name, whose first line is a heading. A topic with the name of a command belongs to the
// command: `gorun help NAME` shows the command's help and then the topic. Any other topic is shown alone.
type topic struct {
	name, title, text string
}

// made are the topics that are generated from the program, and have no file.
var made = map[string]func() topic{"figures": figuresTopic, "flags": flagsTopic, "schema": schemaTopic}

// topicNames returns the names of all topics, in alphabetical order.
func topicNames() []string {
	names := slices.Collect(maps.Keys(made))
	files, _ := fs.Glob(topics, "topics/*.md") // the pattern is valid
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), ".md"))
	}
	slices.Sort(names)
	return names
}

// readTopic returns the topic of a name, and whether there is one.
func readTopic(name string) (topic, bool) {
	if makeTopic, ok := made[name]; ok {
		return makeTopic(), true
	}
	text, err := topics.ReadFile("topics/" + name + ".md")
	title, body, _ := strings.Cut(string(text), "\n")
	return topic{name: name, title: strings.TrimPrefix(title, "# "), text: strings.TrimSpace(body) + "\n"}, err == nil
}

// topicOf returns the topic that belongs to a command, and whether there is one.
func topicOf(cmd *cobra.Command) (topic, bool) {
	if cmd.Parent() != cmd.Root() || !cmd.Runnable() && !cmd.HasSubCommands() {
		return topic{}, false
	}
	return readTopic(cmd.Name())
}

// newTopics returns a command for each help topic that belongs to no command of root. It has only help, and no function.
func newTopics(e env, root *cobra.Command) (all []*cobra.Command) {
	for _, name := range topicNames() {
		if slices.ContainsFunc(root.Commands(), func(cmd *cobra.Command) bool { return cmd.Name() == name }) {
			continue
		}
		t, _ := readTopic(name)
		cmd := &cobra.Command{Use: t.name, Short: t.title}
		cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _ = t.show(e, cmd.OutOrStdout()) }) // output.Stdout remembers the error
		all = append(all, cmd)
	}
	return all
}

// show writes a topic.
func (t topic) show(e env, to io.Writer) error {
	opts := e.Show
	opts.Width = textWidth(e)
	_, err := io.WriteString(to, term.Title(t.title, opts)+"\n"+markdown(t.text, opts))
	return err
}

// topicWidth is the width of a printed topic, in columns: longer lines are hard to read.
const topicWidth = 100

// textWidth is the width of help and topics on this output, in columns.
func textWidth(e env) int { return min(cmp.Or(e.Show.Width, topicWidth), topicWidth) }
