package term

import (
	"cmp"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"gorun/internal/table"
)

// leastWords is the narrowest column in which verdicts can be read: "slower: +1.1% to +2.9%," fits.
const leastWords = 28

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
	words := longestWords(sheet)
	if opts.Verbose {
		words = min(words, 2+leastWords) // they may take several lines
	}
	fits := func(words int) bool { return width(sheet)+words <= opts.Columns() || t.Whole }
	if !fits(words) {
		sheet = without(sheet, func(c table.SheetColumn) bool { return c.Range })
	}
	for words = min(words, 2+leastWords); !fits(words); {
		last := slices.MaxFunc(sheet.Columns, func(a, b table.SheetColumn) int { return cmp.Compare(a.Rank, b.Rank) })
		if last.Rank == 0 {
			sheet = named(t, sheet, opts)
			break
		}
		sheet = without(sheet, func(c table.SheetColumn) bool { return c.Title == last.Title && c.Rank == last.Rank })
	}
	block := ""
	if t.Title != "" {
		block = Title(t.Title, opts)
	}
	block += lines(sheet, fits(0), opts)
	for _, note := range t.Notes {
		block += Paragraph("  ", note, opts.Columns()-2)
	}
	return block
}

// lines lays out a sheet. Words stand in its last column, or below their rows if they have no room there. A sheet that does not fit
// without them is set in parts.
func lines(sheet table.Sheet, fits bool, opts Options) string {
	at := wordsAt(sheet)
	if at < 0 {
		return Page(parts(sheet, fits, opts))
	}
	room := opts.Columns() - width(sheet) - 2
	switch {
	case room >= longestWords(sheet)-2 || room >= leastWords:
	case !fits && len(sheet.Columns) > 2:
		room = max(12, opts.Columns()-columnWidth(sheet, 0)-2)
	default:
		rest := withoutWords(sheet)
		all := slices.Collect(strings.Lines(grid(rest)))
		head := len(all) - len(sheet.Rows) // 0 without titles
		block := strings.Join(all[:head], "")
		for i, row := range sheet.Rows {
			block += all[head+i]
			for _, line := range WrapPhrases(row[at].Words, opts.Columns()-4, opts) {
				block += "    " + line + "\n"
			}
		}
		return block
	}
	for _, row := range sheet.Rows {
		row[at].Text = strings.Join(WrapPhrases(row[at].Words, room, opts), "\n")
	}
	return Page(parts(sheet, fits, opts))
}

// parts lays out a sheet whose columns, where they do not fit, are set below each other, with the first before each part.
func parts(sheet table.Sheet, fits bool, opts Options) (blocks []string) {
	if fits && wordsAt(sheet) < 0 || len(sheet.Columns) == 1 {
		return []string{grid(sheet)}
	}
	used, first := columnWidth(sheet, 0), columnWidth(sheet, 0)
	from := 1
	part := func(to int) {
		n := -1
		blocks = append(blocks, grid(without(sheet, func(table.SheetColumn) bool { n++; return n > 0 && (n < from || n >= to) })))
		from, used = to, first
	}
	for n := range sheet.Columns[1:] {
		if wide := columnWidth(sheet, n+1); used > first && used+wide > opts.Columns() {
			part(n + 1)
			used += wide
		} else {
			used += wide
		}
	}
	part(len(sheet.Columns))
	return blocks
}

// grid lays out a sheet under its columns' titles, without rules. Without any title there is no heading line.
func grid(sheet table.Sheet) string {
	w := pretty.NewWriter()
	var header pretty.Row
	var configs []pretty.ColumnConfig
	titled := false
	for n, c := range sheet.Columns {
		align := text.AlignLeft
		if c.Right {
			align = text.AlignRight
		}
		configs = append(configs, pretty.ColumnConfig{Number: n + 1, Align: align, AlignHeader: align})
		header, titled = append(header, c.Title), titled || c.Title != ""
	}
	w.SetColumnConfigs(configs)
	if titled {
		w.AppendHeader(header)
	}
	for _, row := range sheet.Rows {
		var cells pretty.Row
		for _, cell := range row {
			cells = append(cells, cell.Text)
		}
		w.AppendRow(cells)
	}
	style := pretty.StyleDefault
	style.Options = pretty.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "  ", ""
	style.Format.Header = text.FormatDefault // it upper-cases otherwise, and "µs" would become "ΜS"
	w.SetStyle(style)
	return TrimLines(w.Render())
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

// width returns the columns of the screen that a sheet takes without its words.
func width(sheet table.Sheet) (sum int) {
	for n := range sheet.Columns {
		if n != wordsAt(sheet) {
			sum += columnWidth(sheet, n)
		}
	}
	return sum
}

// wordsAt returns the index of the column of a sheet that has words; -1: there is none.
func wordsAt(sheet table.Sheet) int {
	at := -1
	for _, row := range sheet.Rows {
		at = max(at, slices.IndexFunc(row, func(c table.Cell) bool { return c.Words != nil }))
	}
	return at
}

// longestWords returns the width of the longest phrase of a sheet, or of the title above, with the gap before it; 0: it has no words.
func longestWords(sheet table.Sheet) int {
	at := wordsAt(sheet)
	if at < 0 {
		return 0
	}
	longest := Width(sheet.Columns[at].Title)
	for _, row := range sheet.Rows {
		for _, phrase := range row[at].Words {
			longest = max(longest, Width(phrase.Text))
		}
	}
	return 2 + longest
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

// without returns the sheet without some columns.
func without(sheet table.Sheet, gone func(table.SheetColumn) bool) (left table.Sheet) {
	left.Rows = make([][]table.Cell, len(sheet.Rows))
	for n, c := range sheet.Columns {
		if gone(c) {
			continue
		}
		left.Columns = append(left.Columns, c)
		for i, row := range sheet.Rows {
			left.Rows[i] = append(left.Rows[i], row[n])
		}
	}
	return left
}

// withoutWords returns the sheet without its column of words.
func withoutWords(sheet table.Sheet) table.Sheet {
	n, at := -1, wordsAt(sheet)
	return without(sheet, func(table.SheetColumn) bool { n++; return n == at })
}

// named returns the sheet with the names of the rows in place of the columns that tell them apart; the names are cut where they do
// not fit either.
func named(t table.Table, sheet table.Sheet, opts Options) table.Sheet {
	names, titled := make([]string, len(t.Rows)), false
	for i, row := range t.Rows {
		if names[i] = row.Name; row.Name == "" {
			return sheet
		}
	}
	for _, c := range sheet.Columns {
		titled = titled || c.Title != ""
	}
	sheet = without(sheet, func(c table.SheetColumn) bool { return c.Label })
	least := min(longestWords(sheet), 2+leastWords)
	for i, name := range Apart(names, max(12, opts.Columns()-width(sheet)-max(4, 2+least))) {
		sheet.Rows[i] = slices.Insert(sheet.Rows[i], 0, table.Cell{Text: name})
	}
	title := ""
	if titled {
		title = "cell"
	}
	sheet.Columns = slices.Insert(sheet.Columns, 0, table.SheetColumn{Column: table.Column{Title: title, Label: true}})
	return sheet
}

// MarkdownTable lays out a table as one of GitHub Flavored Markdown, which always has a heading line.
func MarkdownTable(t table.Table) string {
	if len(t.Rows) == 0 {
		return ""
	}
	sheet := without(t.Sheet(), func(c table.SheetColumn) bool { return c.Range || c.Bar })
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
