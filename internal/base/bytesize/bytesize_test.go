package bytesize

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
)

func TestParseList(t *testing.T) {
	for text, want := range map[string][]uint64{
		"4KiB,512KiB, 256MiB,1GiB": {4 << 10, 512 << 10, 256 << 20, 1 << 30},
		"1MiB,1024KiB,1048576":     {1 << 20},
	} {
		got, err := ParseList(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	const hinted = "write a number of bytes, or of KiB, MiB or GiB, as in 256MiB"
	for _, c := range []struct{ text, want, hint string }{
		{"256MB", `"256MB" is not a size`, hinted},
		{"5000", `"5000" is not a multiple of 4 KiB`, ""},
		{"1.5MiB", `"1.5MiB" is not a size`, hinted},
		{"-4KiB", `"-4KiB" is not a size`, hinted},
		{"99999999999GiB", `"99999999999GiB" is not a size`, hinted},
		{"1MiB,", `"" is not a size`, hinted},
		{"6KiB", `"6KiB" is not a multiple of 4 KiB`, ""},
		{"0MiB", `"0MiB" is not a positive size`, ""},
	} {
		_, err := ParseList(c.text)
		require.EqualError(t, err, c.want)
		assert.Equal(t, c.hint, hint.Of(err))
	}
}

func TestFormat(t *testing.T) {
	for _, text := range []string{"4KiB", "1MiB", "1536KiB", "256MiB", "1GiB", "3GiB", "1025MiB"} {
		sizes, err := ParseList(text)
		require.NoError(t, err)
		assert.Equal(t, text, Format(sizes[0]))
	}
	assert.Equal(t, "100", Format(100))
	assert.Equal(t, "0", Format(0))
}

// Each accepted size is a positive multiple of a page, occurs once, and is parsed again from the text of Format.
func TestParseListProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([0-9]{1,5}[KMG]iB,?|[0-9KMGiB,. -]){0,6}`).Draw(t, "text")
		sizes, err := ParseList(text)
		if err != nil {
			return
		}
		for i, bytes := range sizes {
			require.Positive(t, bytes)
			require.Zero(t, bytes%Page)
			require.NotContains(t, sizes[:i], bytes)
			again, err := ParseList(Format(bytes))
			require.NoError(t, err)
			require.Equal(t, []uint64{bytes}, again)
		}
	})
}
