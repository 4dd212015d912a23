package table

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/column"
)

// texts are the cells of a sheet as people read them, its titles first.
func texts(t Table) (lines [][]string) {
	sheet := t.Sheet()
	var head []string
	for _, c := range sheet.Columns {
		head = append(head, c.Title)
	}
	lines = append(lines, head)
	for _, row := range sheet.Rows {
		var line []string
		for _, cell := range row {
			line = append(line, cell.Text)
		}
		lines = append(lines, line)
	}
	return lines
}

// Times of a column have one unit, unless it has things that nobody compares, and a range has a column of its own.
func TestUnitsOfColumns(t *testing.T) {
	times := func(apart bool) Table {
		return Table{Columns: []Column{{Title: "cell"}, {Title: "time", Apart: apart}}, Rows: []Row{
			{Values: []Value{Text("a"), Spread{0.0052, 0.005, 0.006, column.Seconds}}},
			{Values: []Value{Text("b"), Spread{0.25, 0.25, 0.25, column.Seconds}}},
			{Values: []Value{Text("c"), Number{9e6, column.Nanoseconds}}},
			{Values: []Value{Text("d"), nil}},
		}}
	}
	assert.Equal(t, [][]string{
		{"cell", "time", "range"},
		{"a", "5.20 ms", "5.00 ms … 6.00 ms"},
		{"b", "250.00 ms", ""},
		{"c", "9.00 ms", ""},
		{"d", "-", ""},
	}, texts(times(false)))
	assert.Equal(t, "250 ms", texts(times(true))[2][1])
	assert.Equal(t, "9.00 ms", texts(times(true))[3][1])
}

// What is no number is unknown, and the exact number goes with what is rounded.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		value       Value
		text, exact string
	}{
		{nil, "-", ""},
		{Number{math.NaN(), column.Seconds}, "-", ""},
		{Spread{math.Inf(1), 0, 1, column.Count}, "-", ""},
		{Known[int](nil), "-", ""},
		{Known(new(uint64(7))), "7", "7"},
		{Number{0.12345, column.Share}, "12.3 %", "0.12345"},
		{Number{12.345, column.Percent}, "12.3 %", "12.345"},
		{Number{-1, column.Bytes}, "0 B", "-1"},
		{Number{3 << 30, column.Bytes}, "3 GiB", "3221225472"},
		{Number{1.5, column.None}, "1.50", "1.5"},
		{Given("007"), "007", "007"},
		{CPUs("0-3"), "0-3", ""},
	} {
		sheet := (&Table{Columns: []Column{{}}, Rows: []Row{{Values: []Value{c.value}}}}).Sheet()
		assert.Equal(t, c.text, sheet.Rows[0][0].Text, "%v", c.value)
		assert.Equal(t, c.exact, sheet.Rows[0][0].Exact, "%v", c.value)
	}
}

// Numbers line up at the right, and some words among them do not change that.
func TestAlignment(t *testing.T) {
	t1 := Table{Columns: []Column{{}, {}, {}}, Rows: []Row{
		{Values: []Value{Text("a"), Count(1), Bar(0.5)}}, {Values: []Value{Count(1), Text("float"), nil}}, {Values: []Value{Text("b"), nil, nil}},
	}}
	sheet := t1.Sheet()
	assert.False(t, sheet.Columns[0].Right)
	assert.True(t, sheet.Columns[1].Right)
	assert.True(t, sheet.Columns[2].Bar)
}

func TestBuilderLeavesOutWhatNothingHas(t *testing.T) {
	built := Of([]int{1, 2}).
		With("n", func(n int) Value { return Count(n) }).
		With("none", func(int) Value { return nil }).
		With("empty", func(int) Value { return Text("") }).
		With("some", func(n int) Value {
			if n == 1 {
				return nil
			}
			return Text("two")
		}).
		Table("name", "title", "note")
	assert.Equal(t, [][]string{{"n", "some"}, {"1", "-"}, {"2", "two"}}, texts(built))
	assert.Equal(t, []string{"note"}, built.Notes)
}
