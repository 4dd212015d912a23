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

func TestEscapeMarkdown(t *testing.T) {
	for text, want := range map[string]string{
		"--workers 2, share:1/2 (−3%)": "--workers 2, share:1/2 (−3%)", // as it is
		"<b>x</b>":                     `\<b\>x\</b\>`,
		"[a](http://x)":                `\[a\](http\://x)`,
		"www.example.org":              `www\.example.org`,
		"a|b`c`\\*_~#{}":               "a\\|b\\`c\\`\\\\\\*\\_\\~\\#\\{\\}",
		"&lt; $x$":                     `\&lt; \$x\$`,
		"- a":                          `\- a`,
		"+":                            `\+`,
		"---":                          `\---`,
		"1. a":                         `1\. a`,
		"23)":                          `23\)`,
		"1.5 s":                        "1.5 s",
		" a\n\n# b\t":                  `a \# b`,
	} {
		assert.Equal(t, want, EscapeMarkdown(text))
	}
}

func TestMarkdownGrid(t *testing.T) {
	assert.Equal(t, "| a\\|b |  |\n|:--- | ---:|\n| \\<b\\> | 1\\|2 |\n",
		MarkdownGrid([]Column{Left("a|b"), Right("")}, [][]string{{"<b>", "1|2"}}))
}
