package matrix_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gorun/internal/judge/matrix"
)

func TestSplitList(t *testing.T) {
	for text, want := range map[string]string{
		"":           "",
		"1":          "1",
		"1,2":        "1|2",
		"1,,2,":      "1||2|",
		`1\,2,3`:     "1,2|3",
		`\,`:         ",",
		`\,,\,`:      ",|,",
		`a\\,b`:      `a\|b`,
		`a\\\,b`:     `a\,b`,
		`a\`:         `a\`,
		`a\\`:        `a\`,
		`C:\d,\\x\n`: `C:\d|\\x\n`,
	} {
		assert.Equal(t, want, strings.Join(matrix.SplitList(text), "|"), text)
	}
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.StringMatching(`[a\\,]{0,6}`), 1, 4).Draw(t, "values")
		assert.Equal(t, values, matrix.SplitList(matrix.JoinList(values)))
	})
}
