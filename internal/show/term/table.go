package term

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gorun/internal/record/table"
)

// leastWords is the narrowest column in which verdicts can be read: "slower: +1.1% to +2.9%," fits.
const leastWords = 28

// wordColumn is the last column of a sheet, if that has words: these may be broken into lines.
type wordColumn struct {
	title string
	words []table.Phrases // by row; nil: the sheet has none
	width int             // of the longest first phrase, with the gap before it; others take several lines where it is too narrow for them
}

// Table lays out a table in opts.Width columns. Where there is no room, ranges give way first, then the columns of the highest
// rank, then the rows' names stand for what tells them apart. What is still too wide is set below each other.
func Table(t table.Table, opts Options) string {
	if len(t.Rows) == 0 {
		return ""
	}
	sheet := t.Sheet()
	for _, row := range sheet.Rows {
		for n := range row {
			switch {
			case row[n].CPUs:
				row[n].Text = Shorten(row[n].Text, 24)
			case row[n].Bar != nil:
				row[n].Text = bar(*row[n].Bar, opts)
			}
		}
	}
	sheet, words := splitWords(sheet)
	least := min(words.width, 2+leastWords)
	wanted := words.width
	if opts.Verbose {
		wanted = least // they may take several lines
	}
	room := opts.Columns()
	if t.Whole {
		room = math.MaxInt
	}
	fits := func(words int) bool { return width(sheet)+words <= room }
	if !fits(wanted) {
		sheet = only(sheet, func(_ int, c table.SheetColumn) bool { return !c.Range })
	}
	for !fits(least) {
		last := slices.MaxFunc(sheet.Columns, func(a, b table.SheetColumn) int { return cmp.Compare(a.Rank, b.Rank) })
		if last.Rank == 0 {
			sheet = named(t, sheet, least, opts)
			break
		}
		sheet = only(sheet, func(_ int, c table.SheetColumn) bool { return c.Title != last.Title || c.Rank != last.Rank })
	}
	var blocks []string
	parts := parts(sheet, room)
	for _, part := range parts[:len(parts)-1] {
		blocks = append(blocks, grid(part))
	}
	block := Page(append(blocks, words.beside(parts[len(parts)-1], opts)))
	if t.Title != "" {
		block = Title(t.Title, opts) + block
	}
	notes := ""
	for _, note := range t.Notes {
		notes += Paragraph("  ", note, opts.Columns()-2)
	}
	return Page([]string{block, notes})
}

// splitWords takes the words from a sheet.
func splitWords(sheet table.Sheet) (rest table.Sheet, words wordColumn) {
	last := len(sheet.Columns) - 1
	if !slices.ContainsFunc(sheet.Rows, func(row []table.Shown) bool { return row[last].Words != nil }) {
		return sheet, words
	}
	words.title = sheet.Columns[last].Title
	words.width = 2 + Width(words.title)
	for _, row := range sheet.Rows {
		words.words = append(words.words, row[last].Words)
		if len(row[last].Words) > 0 {
			words.width = max(words.width, 2+Width(row[last].Words[0].Text))
		}
	}
	return only(sheet, func(n int, _ table.SheetColumn) bool { return n < last }), words
}

// beside lays out a sheet with its words in a last column, or below its rows if they have no room there.
func (w wordColumn) beside(sheet table.Sheet, opts Options) string {
	if w.words == nil {
		return grid(sheet)
	}
	if room := opts.Columns() - width(sheet) - 2; room >= min(w.width-2, leastWords) {
		sheet.Columns = append(sheet.Columns, table.SheetColumn{Column: table.Column{Title: w.title}})
		for i := range sheet.Rows {
			sheet.Rows[i] = append(sheet.Rows[i], table.Shown{Text: strings.Join(WrapPhrases(w.words[i], room, opts), "\n")})
		}
		return grid(sheet)
	}
	lines := slices.Collect(strings.Lines(grid(sheet)))
	head := len(lines) - len(sheet.Rows) // 0 without titles
	for i, words := range w.words {
		for _, line := range WrapPhrases(words, opts.Columns()-4, opts) {
			lines[head+i] += "    " + line + "\n"
		}
	}
	return strings.Join(lines, "")
}

// parts returns a sheet, or where it is too wide, several of it, each with its first column.
func parts(sheet table.Sheet, room int) (parts []table.Sheet) {
	if width(sheet) <= room {
		return []table.Sheet{sheet}
	}
	from, used := 1, columnWidth(sheet, 0)
	for n := range sheet.Columns[1:] {
		n++
		if wide := columnWidth(sheet, n); n > from && used+wide > room {
			parts = append(parts, only(sheet, func(i int, _ table.SheetColumn) bool { return i == 0 || from <= i && i < n }))
			from, used = n, columnWidth(sheet, 0)+wide
		} else {
			used += wide
		}
	}
	return append(parts, only(sheet, func(i int, _ table.SheetColumn) bool { return i == 0 || i >= from }))
}

// grid lays out a sheet under its columns' titles, without rules. Without any title there is no heading line. Of the last column, a cell
// may have several lines.
func grid(sheet table.Sheet) string {
	var block strings.Builder
	widths := make([]int, len(sheet.Columns))
	for n := range widths {
		widths[n] = columnWidth(sheet, n)
	}
	add := func(text func(n int) string) {
		line, used := "", 0
		for n, c := range sheet.Columns {
			text, wide := text(n), widths[n]
			if c.Right {
				line = Pad(line, used+wide-Width(text)) + text
			} else {
				line = Pad(line, used+2) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", used+2))
			}
			used += wide
		}
		block.WriteString(line + "\n")
	}
	if slices.ContainsFunc(sheet.Columns, func(c table.SheetColumn) bool { return c.Title != "" }) {
		add(func(n int) string { return sheet.Columns[n].Title })
	}
	for _, row := range sheet.Rows {
		add(func(n int) string { return row[n].Text })
	}
	return TrimLines(block.String())
}

// columnWidth returns the columns of the screen that a column of a sheet takes, with its gap.
func columnWidth(sheet table.Sheet, n int) int {
	widest := Width(sheet.Columns[n].Title)
	for _, row := range sheet.Rows {
		for line := range strings.Lines(row[n].Text) {
			widest = max(widest, Width(strings.TrimSuffix(line, "\n")))
		}
	}
	return 2 + widest
}

// width returns the columns of the screen that a sheet takes.
func width(sheet table.Sheet) (sum int) {
	for n := range sheet.Columns {
		sum += columnWidth(sheet, n)
	}
	return sum
}

const (
	barFrom = 46 // the column where bars begin, as a rule: what is left of the width is theirs
	minBar  = 10 // columns; below that a bar says nothing
	maxBar  = 40
)

// bar draws a part of 1 in eighths of a column (Unicode, Block Elements), if there is a terminal to draw on.
func bar(share float64, opts Options) string {
	width := min(opts.Columns()-barFrom, maxBar)
	if !opts.Terminal || width < minBar {
		return ""
	}
	eighths := int(min(max(share, 0), 1)*float64(width)*8 + 0.5)
	drawn := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		drawn += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return opts.Paint(Green, drawn)
}

// only returns the sheet with some of its columns.
func only(sheet table.Sheet, kept func(n int, c table.SheetColumn) bool) table.Sheet {
	var columns []int
	for n, c := range sheet.Columns {
		if kept(n, c) {
			columns = append(columns, n)
		}
	}
	return sheet.Pick(columns)
}

// named returns the sheet with the names of the rows in place of the columns that tell them apart; the names are cut where they do
// not fit either, beside words of this width.
func named(t table.Table, sheet table.Sheet, words int, opts Options) table.Sheet {
	names := make([]string, len(t.Rows))
	for i, row := range t.Rows {
		if names[i] = row.Name; row.Name == "" {
			return sheet
		}
	}
	title := ""
	if slices.ContainsFunc(sheet.Columns, func(c table.SheetColumn) bool { return c.Title != "" }) {
		title = "cell"
	}
	sheet = only(sheet, func(_ int, c table.SheetColumn) bool { return !c.Label })
	for i, name := range Apart(names, max(12, opts.Columns()-width(sheet)-max(4, words))) {
		sheet.Rows[i] = slices.Insert(sheet.Rows[i], 0, table.Shown{Text: name})
	}
	sheet.Columns = slices.Insert(sheet.Columns, 0, table.SheetColumn{Column: table.Column{Title: title}})
	return sheet
}

// MarkdownTable lays out a table as one of GitHub Flavored Markdown, which always has a heading line.
func MarkdownTable(t table.Table) string {
	if len(t.Rows) == 0 {
		return ""
	}
	sheet := only(t.Sheet(), func(_ int, c table.SheetColumn) bool { return !c.Range && !c.Bar })
	heading, rule := "|", "|"
	for _, c := range sheet.Columns {
		heading += " " + EscapeMarkdown(c.Title) + " |"
		rule += map[bool]string{true: " ---:|", false: ":--- |"}[c.Right]
	}
	block := heading + "\n" + rule + "\n"
	if t.Title != "" {
		block = "**" + EscapeMarkdown(t.Title) + "**\n\n" + block
	}
	for _, row := range sheet.Rows {
		block += "|"
		for _, cell := range row {
			texts := []string{cell.Text}
			for i, phrase := range cell.Words {
				texts = append(texts[:i], phrase.Text)
			}
			block += " " + EscapeMarkdown(strings.Join(texts, "; ")) + " |"
		}
		block += "\n"
	}
	for _, note := range t.Notes {
		block += "\n" + EscapeMarkdown(note) + "\n"
	}
	return block
}
