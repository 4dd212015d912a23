package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The topic is shown by gorun help, without the marks of Markdown tables.
func TestTopics(t *testing.T) {
	for _, topic := range newTopics() {
		o := dryRun(t, []string{"help", topic.Use})
		assert.Zero(t, o.code)
		assert.Contains(t, o.stdout, topic.Long)
		assert.NotContains(t, o.stdout, "| ")
	}
}

// A row of a table becomes its first cell, and the others below it with the titles of their columns.
func TestPlainText(t *testing.T) {
	const markdown = "Before.\n\n| Fault | Report | Lost |\n| --- | --- | --- |\n| a first | `one` | all |\n| a second | `two` | none |\n\nAfter.\n"
	assert.Equal(t, "Before.\n\na first\n    Report: `one`\n    Lost: all\na second\n    Report: `two`\n    Lost: none\n\nAfter.\n",
		plainText(markdown))
}
