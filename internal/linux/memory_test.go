package linux

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageKinds(t *testing.T) {
	for i, p := range PageKinds {
		assert.EqualValues(t, i, p.Kind, "the table is indexed by kind")
		got, err := ParsePageKind(p.Name)
		require.NoError(t, err)
		assert.Equal(t, p.Kind, got)
		assert.Equal(t, p.Name, got.String())
		assert.Zero(t, p.Align&(p.Align-1), "a power of two")
	}
	assert.Equal(t, "page kind 7", PageKind(7).String())
	for _, text := range []string{"", "4K", "4k ", "2M"} {
		_, err := ParsePageKind(text)
		assert.ErrorContains(t, err, "one of 4k, thp, 2m, 1g", text)
	}
}
