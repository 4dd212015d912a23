package term

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestApart(t *testing.T) {
	for _, c := range []struct {
		width       int
		names, want []string
	}{
		{30, []string{"gzip -1 -c file", "gzip -2 -c file"}, []string{"gzip -1 -c file", "gzip -2 -c file"}},
		{12, []string{"gzip -1 -c file", "gzip -2 -c file"}, []string{"-1", "-2"}},
		{24, []string{"HEAD a.org/b/c BenchmarkParse/10", "work tree a.org/b/c BenchmarkParse/20"}, []string{"HEAD BenchmarkParse/10", "work tree Be…arkParse/20"}},
		{10, []string{"/a/long/path/old", "/a/long/path/new"}, []string{"/a/lo…/old", "/a/lo…/new"}},
		{9, []string{"tool", "tool --verbose"}, []string{"tool", "--verbose"}},
		{8, []string{"aaaaaaXaaaa", "aaaaaaYaaaa"}, []string{"aaaa…aaa", "1: aaaa…"}},
		{7, []string{"界界界界", "界界界a"}, []string{"界…界界", "界界界a"}},
	} {
		assert.Equal(t, c.want, Apart(c.names, c.width))
	}
}

// Names of any length are cut in a time that grows with their length, and no faster: otherwise this takes hours.
func TestApartOfLongNames(t *testing.T) {
	var many strings.Builder
	for i := range 1 << 18 {
		fmt.Fprintf(&many, "%x ", i)
	}
	names := []string{many.String() + "a", many.String() + "b", strings.Repeat("界", 1<<18)}
	assert.Equal(t, []string{"0 1 2 3 4 5 …ffe 3ffff a", "0 1 2 3 4 5 …ffe 3ffff b", "界界界界界界…界界界界界"}, Apart(names, 24))
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
