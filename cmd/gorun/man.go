//go:build man

package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// With the tag, this program writes the man pages into a directory and ends (`make man`). gorun itself has no code for them.
func init() {
	root := newRoot(defaultEnv())
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	forEach(root, func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "help" {
			return
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "\n", " ") })
		var page bytes.Buffer
		name, section, source := pageName(cmd), "1", "gorun "+version
		if t, ok := topicOf(cmd); ok {
			cmd.Long += "\n\n# " + t.title + "\n\n" + definitions(t.text)
		}
		for _, g := range append(cmd.Groups(), &cobra.Group{Title: "Commands"}) {
			cmd.Long += contents(strings.ToUpper(g.Title), "1", cmd, func(c *cobra.Command) bool {
				return c.GroupID == g.ID && c.IsAvailableCommand() && c.Name() != "help"
			})
		}
		cmd.Long += contents("HELP TOPICS", "7", cmd, (*cobra.Command).IsAdditionalHelpTopicCommand)
		if cmd.IsAdditionalHelpTopicCommand() {
			section = "7"
			t, _ := readTopic(cmd.Name())
			page.Write(md2man.Render(fmt.Appendf(nil, "%% %q %q \"\" %q\n# NAME\n%s \\- %s\n\n# DESCRIPTION\n%s\n# SEE ALSO\n**gorun(1)**\n",
				strings.ToUpper(name), section, source, name, t.title, definitions(t.text))))
		} else if err := doc.GenMan(cmd, &doc.GenManHeader{Section: section, Source: source}, &page); err != nil {
			log.Fatal(err)
		}
		// cobra indents the meaning of a flag by a tab, which moves only its first line.
		text := regexp.MustCompile(`(?m)^\t(.*)$`).ReplaceAll(page.Bytes(), []byte(".RS 4\n$1\n.RE"))
		if err := os.WriteFile(filepath.Join(os.Args[1], name+"."+section), text, 0o644); err != nil {
			log.Fatal(err)
		}
	})
	os.Exit(0)
}

// contents is a section with the pages of some commands below cmd, and what each is for.
func contents(title, section string, cmd *cobra.Command, wanted func(*cobra.Command) bool) (text string) {
	for _, c := range cmd.Commands() {
		if wanted(c) {
			text += fmt.Sprintf("**%s**(%s)\n: %s\n\n", pageName(c), section, c.Short)
		}
	}
	if text == "" {
		return ""
	}
	return "\n\n# " + title + "\n\n" + text
}

// pageName is the name of a command's page.
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// definitions makes the rows of tables definitions of their first cells, since troff does not break the lines of its tables.
func definitions(text string) string {
	var out strings.Builder
	var titles []string // of the open table's columns
	for line := range strings.Lines(text) {
		switch {
		case !strings.HasPrefix(line, "|"):
			titles = nil
			out.WriteString(line)
		case titles == nil:
			titles = tableRow(strings.TrimSpace(line), nil)
		case !strings.HasPrefix(line, "| ---"):
			cells := tableRow(strings.TrimSpace(line), titles)
			fmt.Fprintf(&out, "%s\n: %s\n\n", cells[0], strings.Join(cells[1:], ". "))
		}
	}
	return out.String()
}
