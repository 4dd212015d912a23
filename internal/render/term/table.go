package term

import (
	"cmp"
	"slices"
	"strings"

	"gorun/internal/table"
)

// Table lays out a table in opts.Width columns. Where there is no room, ranges give way first, then the columns of the highest
// rank, then the rows' names stand for what tells them apart. What is still too wide is set below each other.
func Table(t table.Table, opts Options) string {
	if len(t.Rows) == 0 {
		return ""
	}
	sheet := t.Sheet()
	notes := slices.Clone(t.Notes)
	words := longestWords(sheet)
	fits := func(room int) bool {
		needed := sheetWidth(sheet)
		if words > 0 {
			needed += 2 + min(room, words)
		}
		return needed <= opts.Columns()
	}
	if opts.Verbose {
		words = min(words, LeastWords) // they may take several lines
	}
	if !fits(words) {
		sheet = without(sheet, func(c table.SheetColumn) bool { return c.Range })
	}
	for !fits(LeastWords) {
		last := slices.MaxFunc(sheet.Columns, func(a, b table.SheetColumn) int { return cmp.Compare(a.Rank, b.Rank) })
		if last.Rank == 0 {
			break
		}
		notes = append(notes, last.Notes...)
		sheet = without(sheet, func(c table.SheetColumn) bool { return c.Title == last.Title && c.Rank == last.Rank })
	}
	if !fits(LeastWords) {
		sheet = named(t, sheet, opts)
	}
	block := ""
	if t.Title != "" {
		block = Title(t.Title, opts)
	}
	block += lines(sheet, opts)
	for _, note := range notes {
		block += Paragraph("  ", note, opts.Columns()-2)
	}
	return block
}

// lines are the lines of a sheet that fits, or of one whose columns are set below each other.
func lines(sheet table.Sheet, opts Options) string {
	columns, rows := grid(sheet, opts)
	block := ""
	if at := wordsAt(sheet); at >= 0 {
		judged := make([]Judged, len(rows))
		for i := range rows {
			judged[i] = Judged{Cells: rows[i], Words: sheet.Rows[i][at].Words}
		}
		block = JudgedGrid(columns, sheet.Columns[at].Title, judged, opts)
	} else {
		block = FoldedGrid(columns, rows, opts)
	}
	return block
}

// wordsAt returns the index of the column of a sheet that has words, which stand in the last column of lines; -1: there is none.
func wordsAt(sheet table.Sheet) int {
	at := -1
	for _, row := range sheet.Rows {
		at = max(at, slices.IndexFunc(row, func(c table.Cell) bool { return c.Words != nil }))
	}
	return at
}

// grid returns the columns of a sheet other than those of words.
func grid(sheet table.Sheet, opts Options) (columns []Column, rows [][]string) {
	words := wordsAt(sheet)
	rows = make([][]string, len(sheet.Rows))
	for n, c := range sheet.Columns {
		if n == words {
			continue
		}
		columns = append(columns, Column{c.Title, c.Right})
		for i, row := range sheet.Rows {
			text := row[n].Text
			switch {
			case row[n].CPUs:
				text = Shorten(text, 24)
			case row[n].Bar != nil:
				text = bar(*row[n].Bar, opts)
			}
			rows[i] = append(rows[i], text)
		}
	}
	return columns, rows
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

func sheetWidth(sheet table.Sheet) int { return GridWidth(grid(sheet, Options{})) }

func longestWords(sheet table.Sheet) int {
	var all []Judged
	for _, row := range sheet.Rows {
		for _, cell := range row {
			all = append(all, Judged{Words: cell.Words})
		}
	}
	width := LongestPhrase(all)
	if at := wordsAt(sheet); at >= 0 {
		width = max(width, Width(sheet.Columns[at].Title))
	}
	return width
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

// named returns the sheet with the names of the rows in place of the columns that tell them apart; the names are cut where they do
// not fit either.
func named(t table.Table, sheet table.Sheet, opts Options) table.Sheet {
	names := make([]string, len(t.Rows))
	for i, row := range t.Rows {
		if names[i] = row.Name; row.Name == "" {
			return sheet
		}
	}
	sheet = without(sheet, func(c table.SheetColumn) bool { return c.Label })
	room := max(12, opts.Columns()-sheetWidth(sheet)-4)
	for i, name := range Apart(names, room) {
		sheet.Rows[i] = slices.Insert(sheet.Rows[i], 0, table.Cell{Text: name})
	}
	sheet.Columns = slices.Insert(sheet.Columns, 0, table.SheetColumn{Column: table.Column{Title: "cell", Label: true}})
	return sheet
}

// MarkdownTable lays out a table as one of GitHub Flavored Markdown.
func MarkdownTable(t table.Table) string {
	if len(t.Rows) == 0 {
		return ""
	}
	sheet := without(t.Sheet(), func(c table.SheetColumn) bool { return c.Range || c.Bar })
	columns, rows := make([]Column, len(sheet.Columns)), make([][]string, len(sheet.Rows))
	for n, c := range sheet.Columns {
		columns[n] = Column{c.Title, c.Right}
		for i, row := range sheet.Rows {
			texts := []string{row[n].Text}
			if row[n].Words != nil {
				texts = nil
			}
			for _, phrase := range row[n].Words {
				texts = append(texts, phrase.Text)
			}
			rows[i] = append(rows[i], strings.Join(texts, "; "))
		}
	}
	block := MarkdownGrid(columns, rows)
	if t.Title != "" {
		block = "**" + EscapeMarkdown(t.Title) + "**\n\n" + block
	}
	for _, note := range t.Notes {
		block += "\n" + EscapeMarkdown(note) + "\n"
	}
	return block
}
