package report

import (
	"math"
	"strconv"

	"gorun/internal/render/chart"
	"gorun/internal/units"
)

// table is a table of the page.
type table struct {
	Name    string // by which programs find it
	Caption string
	Head    []heading
	Rows    [][]cell // the first cell of a row is its heading
	Cells   bool     // which is the name of a cell of the run
	Notes   []string // below the table
}

// heading is the heading of a column.
type heading struct {
	Text   string
	Number bool // its cells are right-aligned
}

// cell is a text for people, with its number at full precision.
type cell struct {
	Text  string
	Value string // "": not a number
	Class string
	More  []cell // further lines
}

func words(text string) cell { return cell{Text: text} }

// figured returns a cell that shows a number as this text.
func figured(x float64, show func(x float64) string) cell {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return cell{}
	}
	return cell{Text: show(x), Value: strconv.FormatFloat(x, 'g', -1, 64)}
}

func counted(n int) cell { return figured(float64(n), units.Count) }

// headings returns the headings of columns; a text that begins with # is for numbers.
func headings(texts ...string) []heading {
	head := make([]heading, len(texts))
	for i, text := range texts {
		head[i].Text = text
		if text != "" && text[0] == '#' {
			head[i] = heading{text[1:], true}
		}
	}
	return head
}

// tableOf returns the table of a figure: a text that is a number is shown with three digits.
func tableOf(name string, from chart.FigureTable) table {
	t := table{Name: name, Caption: from.Caption, Rows: make([][]cell, len(from.Rows))}
	t.Cells = len(from.Head) > 0 && (from.Head[0] == "cell" || from.Head[0] == "row")
	numbers := make([]int, len(from.Head))
	for i, row := range from.Rows {
		t.Rows[i] = make([]cell, len(row))
		for j, text := range row {
			t.Rows[i][j] = words(text)
			if x, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
				t.Rows[i][j] = cell{Text: shortest(text, x), Value: text}
				if j < len(numbers) {
					numbers[j]++
				}
			}
		}
	}
	for i, text := range from.Head {
		t.Head = append(t.Head, heading{text, i > 0 && numbers[i] > len(from.Rows)/2})
	}
	return t
}

// shortest returns the shorter one of a number's text and the number with three digits.
func shortest(text string, x float64) string {
	if digits := units.Digits(x); len(digits) < len(text) {
		return digits
	}
	return text
}
