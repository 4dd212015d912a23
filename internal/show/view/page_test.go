package view

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
)

// A terminal shows all of a page. Markdown leaves out what only a terminal shows, and keeps what is said below the tables as it is.
func TestPage(t *testing.T) {
	text := func(words string) Text { return func(term.Options) string { return words + "\n" } }
	numbers := table.Table{Rows: []table.Row{{Values: []table.Value{table.Count(7)}}}}
	numbers.Add("n")
	page := Page{
		Answer: []Statement{{Text: "Yes"}, {Text: "Certainly"}}, Copied: text("next: gorun"), Above: []Text{text("map")}, Tables: []table.Table{numbers},
		Below: []Text{text(""), text("how ``` it was")}, Warnings: []result.Warning{
			{Message: "one", Hint: "twice"}, {Message: "two", Hint: "twice"}, {Message: "three", Hint: "else"}, {Message: "four"},
		},
	}
	assert.Equal(t, "Yes\n  Certainly\nnext: gorun\n\nmap\n\n  n\n  7\n\n\n\nhow ``` it was\n\n"+
		"Warnings:\n  ! one\n  ! two\n    hint: twice\n  ! three\n    hint: else\n  ! four\n", page.Text(term.Options{}))
	assert.Equal(t, "**Yes.**\n\n- Certainly.\n\n| n |\n| ---:|\n| 7 |\n\n````\n\n\nhow ``` it was\n````\n\n> one\n\n> two\n\n> three\n\n> four\n", page.Markdown())
	assert.Equal(t, "Warnings:\n  ! one\n", Page{Warnings: Warnings([]string{"one"})}.Text(term.Options{}))
	assert.Empty(t, Page{}.Text(term.Options{}))
}
