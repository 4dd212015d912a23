package term

import (
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestFlowKeepsPartsAndWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-zé]{1,12}`), 1, 30).Draw(t, "parts")
		width := rapid.IntRange(14, 60).Draw(t, "width")
		block := Flow(parts, " · ", "  ", width)
		assert.Equal(t, parts, strings.FieldsFunc(block, func(r rune) bool { return strings.ContainsRune(" ·\n", r) }))
		for line := range strings.Lines(block) {
			assert.LessOrEqual(t, text.StringWidth(strings.TrimSuffix(line, "\n")), width)
		}
	})
}
