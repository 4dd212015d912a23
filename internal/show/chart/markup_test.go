package chart

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/table"
)

// What is no markup is escaped, of whatever type it is.
func TestMark(t *testing.T) {
	got := mark(`<a b="%s">%s %s %v %v %d %.1f</a>`, `"`, "<b>", Markup("<i/>"), errors.New("<c>"), table.Tone("&"), 3, 4.0)
	assert.Equal(t, Markup(`<a b="&#34;">&lt;b&gt; <i/> &lt;c&gt; &amp; 3 4.0</a>`), got)
}

// Names leave room for cells, however many letters they have.
func TestLongNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 1000), strings.Repeat("\u0301", 1000)} {
		sides := []Side{{Name: name, Group: name}, {Name: name, Group: "b"}}
		_, height, ok := DrawMaps(&Heat{Slanted: true, Title: name, Unit: name, Rows: sides, Columns: sides, At: [][]float64{{1, 2}, {3, 4}}})
		require.True(t, ok)
		assert.Less(t, height, 1000)
	}
}
