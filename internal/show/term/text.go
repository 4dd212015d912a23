package term

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gorun/internal/base/lazy"
	"gorun/internal/record/table"
	"gorun/internal/stats"

	"github.com/jedib0t/go-pretty/v6/text"
)

var (
	// markdownMark has what Markdown reads as markup anywhere in a line. It makes links of addresses by itself; "$" is GitHub's mark
	// of mathematics.
	markdownMark = lazy.Regexp("[\\\\`*_{}\\[\\]<>#|~&$]|://|(?i:\\bwww\\.)")
	// markdownStart has what makes the beginning of a line an item of a list, or a line a rule.
	markdownStart = lazy.Regexp(`^(\d*)([-+.)]-*)( |$)`)
)

// EscapeMarkdown returns text that Markdown shows as it is, in one line.
func EscapeMarkdown(text string) string {
	text = markdownMark().ReplaceAllStringFunc(strings.Join(strings.Fields(text), " "), func(mark string) string {
		if name, dot := strings.CutSuffix(mark, "."); dot {
			return name + `\.`
		}
		return `\` + mark
	})
	return markdownStart().ReplaceAllString(text, `$1\$2$3`)
}

// TrimLines ends every line after its last visible character, and the text with a newline.
func TrimLines(block string) string {
	var out strings.Builder
	for line := range strings.Lines(block) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}

// Flow joins parts by sep and breaks lines between parts, where width is reached; lines after the first are indented.
func Flow(parts []string, sep, indent string, width int) string {
	var out strings.Builder
	used := 0
	for i, part := range parts {
		size := Width(part)
		switch {
		case i == 0:
		case used+Width(sep)+size > width:
			out.WriteString("\n" + indent)
			used = len(indent)
		default:
			out.WriteString(sep)
			used += Width(sep)
		}
		out.WriteString(part)
		used += size
	}
	return out.String() + "\n"
}

// Paragraph sets a sentence in lines, the first after a label and the others under its end.
func Paragraph(label, sentence string, width int) string {
	indent := strings.Repeat(" ", Width(label))
	words := strings.Fields(sentence)
	if len(words) == 0 {
		return label + "\n"
	}
	words[0] = label + words[0]
	return Flow(words, " ", indent, width)
}

// Width returns the columns of the screen that a text takes.
func Width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// Snip cuts a text that takes more columns than width, and ends it with "…" then.
func Snip(s string, width int) string { return text.Snip(s, width, "…") }

// Apart makes names fit a width so that each is still another one. Where one does not fit, the words that all have are left out, and
// what is longer still is cut in its middle, since names differ at their beginnings or ends; a number tells those apart that do not.
func Apart(names []string, width int) []string {
	short := slices.Clone(names)
	if !slices.ContainsFunc(names, func(name string) bool { return Width(name) > width }) {
		return short
	}
	words, having := make([][]string, len(names)), map[string]int{} // names that have a word
	for i, name := range names {
		words[i] = strings.Fields(name)
		seen := map[string]bool{}
		for _, word := range words[i] {
			if !seen[word] {
				seen[word] = true
				having[word]++
			}
		}
	}
	taken := map[string]bool{}
	for i, name := range names {
		rest := slices.DeleteFunc(words[i], func(word string) bool { return having[word] == len(names) })
		short[i] = cutMiddle(cmp.Or(strings.Join(rest, " "), name), width)
		if taken[short[i]] {
			short[i] = Snip(fmt.Sprintf("%d: %s", i, short[i]), width)
		}
		taken[short[i]] = true
	}
	return short
}

// cutMiddle makes a text fit a width by "…" in its middle.
func cutMiddle(s string, width int) string {
	if Width(s) <= width {
		return s
	}
	head := text.Trim(s, width/2)
	tail, room := len(s), width-Width(head)-1
	for tail > 0 {
		r, size := utf8.DecodeLastRuneInString(s[:tail])
		if room -= text.RuneWidth(r); room < 0 {
			break
		}
		tail -= size
	}
	return head + "…" + s[tail:]
}

// Pad fills a text with blanks up to a width.
func Pad(s string, width int) string { return text.Pad(s, width, ' ') }

// Page sets blocks under each other, with an empty line between two. Empty blocks are left out.
func Page(blocks []string) string {
	blocks = slices.DeleteFunc(blocks, func(block string) bool { return block == "" })
	return strings.Join(blocks, "\n")
}

// Shorten cuts a list after a comma, where it is longer than limit.
func Shorten(list string, limit int) string {
	if limit = max(limit, 0); len(list) <= limit {
		return list
	}
	return list[:strings.LastIndexByte(list[:limit], ',')+1] + "…"
}

// colours are those of tones. A plain one has none.
var colours = map[table.Tone]Colour{
	table.Strong: Bold, table.Faint: Dim, table.Good: Green, table.Bad: Red, table.Doubt: Yellow,
}

// KindColour returns the colour of a verdict.
func KindColour(kind stats.Kind) Colour { return colours[table.ToneOf(kind)] }

// WrapPhrases returns the phrases as lines of at most this width; continuation lines of a phrase are indented.
func WrapPhrases(phrases []table.Phrase, width int, opts Options) []string {
	var lines []string
	for _, phrase := range phrases {
		words := strings.FieldsFunc(phrase.Text, func(r rune) bool { return r == ' ' || r == '\n' }) // a no-break space stays
		for i, word := range words {
			room := width
			if i > 0 {
				room -= 2 // it may begin a continuation line
			}
			words[i] = Snip(word, room)
		}
		for line := range strings.Lines(Flow(words, " ", "  ", width)) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			lines = append(lines, indent+opts.Paint(colours[phrase.Tone], strings.TrimSpace(line)))
		}
	}
	return lines
}

// Title stands above a block.
func Title(title string, opts Options) string {
	return strings.Join(WrapPhrases([]table.Phrase{{Text: title, Tone: table.Strong}}, opts.Columns(), opts), "\n") + "\n"
}
