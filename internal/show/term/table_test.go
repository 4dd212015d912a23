package term

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gorun/internal/record/column"
	"gorun/internal/record/table"
)

func judgedTable() table.Table {
	t := table.Table{Title: "Title", Notes: []string{"A note."}, Columns: []table.Column{
		{Title: "op", Label: true},
		{Title: "CPUs", Label: true},
		{Title: "moves", Rank: 1},
		{Title: "why", Rank: 2},
		{Title: "time"},
		{Title: "verdict"},
	}}
	for _, op := range []string{"xadd", "load"} {
		t.Rows = append(t.Rows, table.Row{Name: "operation " + op, Values: []table.Value{
			table.Text(op), table.CPUs("0-1"), table.Count(5), table.Text("because"),
			table.Spread{Median: 0.002, Least: 0.001, Most: 0.003, Unit: column.Seconds},
			table.Phrases{{Text: "the same"}},
		}})
	}
	return t
}

// Ranges go first, then the columns of the highest ranks, then names stand for labels; what is left folds.
func TestTableGivesWay(t *testing.T) {
	for _, c := range []struct {
		width int
		head  string // of its columns
		notes string
	}{
		{80, "op CPUs moves why time range verdict", "A note."},
		{60, "op CPUs moves why time verdict", "A note."},
		{46, "op CPUs moves time verdict", "A note."},
		{36, "op CPUs time verdict", "A note."},
	} {
		lines := strings.Split(Table(judgedTable(), Options{Width: c.width}), "\n")
		assert.Equal(t, "Title", lines[0])
		assert.Equal(t, c.head, strings.Join(strings.Fields(lines[1]), " "), c.width)
		assert.Equal(t, c.notes, strings.Join(strings.Fields(strings.Join(lines[4:], " ")), " "), c.width)
	}
	assert.Contains(t, Table(judgedTable(), Options{Width: 30}),
		"\n  cell     time  verdict\n  xadd  2.00 ms  the same\n", "names stand for labels")
	assert.Contains(t, Table(judgedTable(), Options{Width: 24}),
		"\n  cell     time\n  xadd  2.00 ms\n    the same\n", "words below their rows")
	assert.Equal(t, ""+
		"  a      first\n  1  something\n\n"+
		"  a     second\n  1  different\n", Table(table.Of([]int{1}).
		With("a", func(int) table.Value { return table.Count(1) }).
		With("first", func(int) table.Value { return table.Given("something") }).
		With("second", func(int) table.Value { return table.Given("different") }).
		Table("", ""), Options{Width: 20}))
	assert.Equal(t, "  name\n    some words that\n      have no room\n", Table(table.Table{Columns: make([]table.Column, 2), Rows: []table.Row{
		{Values: []table.Value{table.Text("name"), table.Phrases{{Text: "some words that have no room"}}}},
	}}, Options{Width: 20}), "without titles")
	assert.Empty(t, Table(table.Table{Columns: []table.Column{{Title: "a"}}}, Options{}), "without rows")
	one := table.Of([]int{7}).With("a", func(n int) table.Value { return table.Count(n) }).Table("", "")
	assert.Equal(t, "  a\n  7\n", Table(one, Options{}))
}

// No line is wider than the page, whatever a table holds, if a column and the first have room beside each other.
func TestTableKeepsItsWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{0,9}`)
		values := rapid.OneOf(
			rapid.Just[table.Value](nil), rapid.Map(word, func(s string) table.Value { return table.Text(s) }),
			rapid.Map(rapid.Float64Range(0, 1e4), func(x float64) table.Value {
				return table.Spread{Median: x, Least: x / 2, Most: x * 3, Unit: column.Seconds}
			}),
		)
		in := table.Table{Title: rapid.StringMatching(`[a-z ]*`).Draw(t, "title"), Rows: make([]table.Row, 2)}
		named, judged := rapid.Bool().Draw(t, "named"), rapid.Bool().Draw(t, "judged")
		for range rapid.IntRange(1, 9).Draw(t, "columns") {
			in.Columns = append(in.Columns, table.Column{
				Title: word.Draw(t, "title"), Rank: rapid.IntRange(0, 2).Draw(t, "rank"), Label: rapid.Bool().Draw(t, "label"),
			})
			for i := range in.Rows {
				in.Rows[i].Values = append(in.Rows[i].Values, values.Draw(t, "value"))
			}
		}
		for i := range in.Rows {
			row := &in.Rows[i]
			if named {
				row.Name = rapid.StringMatching(`[a-z -]{1,60}`).Draw(t, "name")
			}
			if judged {
				row.Values = append(row.Values, table.Phrases{{Text: rapid.StringMatching(`([a-z]{1,60} ){0,9}`).Draw(t, "words")}})
			}
		}
		if judged {
			in.Add("verdict")
		}
		width := rapid.IntRange(40, 130).Draw(t, "width")
		for line := range strings.Lines(Table(in, Options{Width: width, Verbose: rapid.Bool().Draw(t, "verbose")})) {
			assert.LessOrEqual(t, Width(strings.TrimSuffix(line, "\n")), width, "%q", line)
		}
	})
}

// So it is with the rows of a table.
func TestTableOfManyRows(t *testing.T) {
	long := table.Of(make([]int, 1<<18)).With("a", func(n int) table.Value { return table.Count(n) }).Table("", "")
	assert.Equal(t, 1+1<<18, strings.Count(Table(long, Options{}), "\n"))
}

func TestBar(t *testing.T) {
	opts := Options{Terminal: true, Width: barFrom + 16}
	for share, want := range map[float64]string{
		-1: "", 0: "", 1.0 / 128: "▏", 0.5 + 3.0/128: "████████▍", 1.7: strings.Repeat("█", 16),
	} {
		assert.Equal(t, want, bar(share, opts), "%v", share)
	}
	assert.Empty(t, bar(1, Options{Terminal: true, Width: barFrom + minBar - 1}))
	assert.Equal(t, maxBar, Width(bar(1, Options{Terminal: true, Width: 500})))
}
