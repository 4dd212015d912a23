package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/experiment"
	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// gorun help shows each topic, after the help of the command with its name if there is one.
func TestTopics(t *testing.T) {
	root := newRoot(defaultEnv())
	general := dryRun(t, []string{"--help"}).stdout
	require.Contains(t, topicNames(), "contend")
	for _, name := range topicNames() {
		topic, ok := readTopic(name)
		require.True(t, ok)
		shown := topic.title + "\n\n" + markdown(topic.text, term.Options{Width: topicWidth})
		o := dryRun(t, []string{"help", name})
		assert.Zero(t, o.code)
		cmd, _, err := root.Find([]string{name})
		require.NoError(t, err)
		if of, ok := topicOf(cmd); ok {
			assert.Equal(t, topic, of)
			help := dryRun(t, []string{name, "--help"}).stdout
			assert.True(t, strings.HasSuffix(help, "\ngorun help "+name+" has more: "+topic.title+".\n"), name)
			described, _, _ := strings.Cut(help, "\n\nUsage:")
			assert.True(t, strings.HasPrefix(o.stdout, described), name)
			assert.True(t, strings.HasSuffix(o.stdout, "\n\n"+shown), name)
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden && experiment.IsRare(f) && (experiment.OwnerOf(f) == "" || experiment.OwnerOf(f) == name) {
					assert.Contains(t, help, "  --"+f.Name, name)
					assert.Regexp(t, "\n *--"+f.Name+" |, --"+f.Name+" ", o.stdout, name)
				}
			})
		} else {
			assert.Equal(t, shown, o.stdout)
			assert.Contains(t, general, fmt.Sprintf("  %-11s %s\n", name, topic.title))
		}
	}
}

// The topic of the schema has each key of each object, with its type and its possible values.
func TestSchemaTopic(t *testing.T) {
	text := schemaTopic().text
	for _, want := range []string{
		"## Sample\n", "| `seconds` | number |", "| `samples` | list of Sample |", "One of: valid, suspect, invalid. |",
		"| `verdicts` | object of Verdict by name |", "| number or null |",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "| any |  |")
	assert.Equal(t, strings.Count(string(result.JSONSchema), `"description"`),
		1+strings.Count(text, "\n## ")+strings.Count(text, "\n| `"), "each description is there once")
}
