package table

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/record/column"
)

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

func TestColumnsThatNothingHasAreLeftOut(t *testing.T) {
	built := Of([]int{1}).
		With("n", func(n int) Value { return Count(n) }).
		With("none", func(int) Value { return nil }).
		With("empty", func(int) Value { return Text("") }).
		Table("", "")
	assert.Len(t, built.Columns, 1)
}

// A program gets all digits of a number, times in seconds, and nothing for what is not known.
func TestExact(t *testing.T) {
	for want, v := range map[string]Value{
		"0.12345678901234568":      Seconds(0.12345678901234568),
		"0.0000012345678901234567": Number{1234.5678901234567, column.Nanoseconds},
		"1234567":                  Spread{1234567, 1, 2e9, column.Count},
		"0x10":                     Given("0x10"), "0-3": CPUs("0-3"), "-": Text("-"),
		"slower, faster": Phrases{{Text: "slower, "}, {Text: "faster"}},
		"":               Seconds(math.NaN()),
	} {
		assert.Equal(t, want, Exact(v))
	}
	assert.Empty(t, Exact(nil))
	assert.Empty(t, Exact(Bar(0.5)), "it is drawn")
}
