package manual

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/render/term"
)

// document has all that a topic may have.
const document = `A first line with ` + "`--flag *`" + ` and
a second one with *emphasis*, **strong words**, 2 * 3 * 4 and [a link](https://example.org/a-b).

## A part

- one
- another that
  goes on
1. a step

` + "```" + `
gorun primes | wc -l

.second 'line'
` + "```" + `

| Fault | Report | Lost |
| --- | --- | --- |
| a first | ` + "`one`" + ` \| two | all |
| a second | | none |

| word | means |
| --- | --- |
| same | equal |

  indented
	further

'Quoted' and .dotted \ ends.
`

func TestText(t *testing.T) {
	assert.Equal(t, "A first line with `--flag *` and a second\none with emphasis, strong words, 2 * 3 * 4\nand a link (https://example.org/a-b).\n"+`
A part

  - one
  - another that goes on
  1. a step

  gorun primes | wc -l

  .second 'line'

  a first
      Report: `+"`one`"+` | two
      Lost: all
  a second
      Lost: none

  same
      equal

  indented
  further

'Quoted' and .dotted \ ends.
`, Text(document, term.Options{Width: 42}))
}

func TestRows(t *testing.T) {
	assert.Equal(t, [][]string{{"a first", "`one` | two", "all"}, {"a second", "", "none"}, {"same", "equal"}}, Rows(document))
}

// A heading is bold where there are colours, and what is longer than a line is broken below its beginning.
func TestTextOfATerminal(t *testing.T) {
	assert.Equal(t, "\x1b[1mTitle\x1b[0m\n\n  - some words\n    more\n",
		Text("# Title\n- some words more\n", term.Options{Width: 15, Colour: true}))
}

func TestPage(t *testing.T) {
	p := NewPage("gorun-x", 7, "what it's for", "gorun 1.0-dev")
	p.Heading("Description")
	p.Markdown(document)
	p.Term("--flag 'x'", "the `meaning`")
	assert.Equal(t, "gorun-x.7", p.File())
	assert.Equal(t, `.TH "GORUN\-X" "7" "" "gorun 1.0\-dev" "gorun"
.nh
.ad l
.SH NAME
gorun\-x \- what it\(aqs for
.SH DESCRIPTION
.PP
A first line with \fB\-\-flag *\fP and a second one with \fIemphasis\fP, \fBstrong words\fP, 2 * 3 * 4 and a link (https://example.org/a\-b).
.SS A part
.IP \(bu 3
one
.IP \(bu 3
another that goes on
.IP 1. 3
a step
.PP
.RS 2
.EX
gorun primes | wc \-l

\&.second \(aqline\(aq
.EE
.RE
.TP
a first
Report: \fBone\fP | two
.br
Lost: all
.TP
a second
Lost: none
.TP
same
equal
.PP
.RS 2
.EX
indented
further
.EE
.RE
.PP
\(aqQuoted\(aq and .dotted \e ends.
.TP
\fB\-\-flag \(aqx\(aq\fP
the \fBmeaning\fP
`, string(p.Bytes()))
}
