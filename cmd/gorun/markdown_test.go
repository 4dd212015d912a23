package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/show/term"
)

func TestMarkdown(t *testing.T) {
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

Done.
`, markdown("A first line with `--flag *`"+` and
a second one with *emphasis*, **strong words**, 2 * 3 * 4 and [a link](https://example.org/a-b).

## A part

- one
- another that
  goes on
1. a step

`+"```"+`
gorun primes | wc -l

.second 'line'
`+"```"+`

| Fault | Report | Lost |
| --- | --- | --- |
| a first | `+"`one`"+` \| two | all |
| a second | | none |

| word | means |
| --- | --- |
| same | equal |

  indented

Done.
`, term.Options{Width: 42}))
}
