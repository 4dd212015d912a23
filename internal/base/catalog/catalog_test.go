package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type fruit struct{ name, taste string }

func (f fruit) Entry() (name, usage string) { return f.name, f.taste }

func TestCatalog(t *testing.T) {
	fruits := []fruit{{"plum", "sweet"}, {"lemon", "sour"}}
	found, err := Find(fruits, "fruit", "lemon")
	require.NoError(t, err)
	assert.Equal(t, fruits[1], found)
	for _, name := range []string{"", "Lemon", "plum\tsweet"} {
		found, err = Find(fruits, "fruit", name)
		assert.Zero(t, found)
		require.Error(t, err, name)
	}
	assert.EqualError(t, err, `unknown fruit "plum\tsweet": there are plum, lemon`)
	assert.Equal(t, []string{"plum", "lemon"}, Names(fruits))
	assert.Equal(t, "plum, lemon", List(fruits))
	assert.Equal(t, []string{"plum\tsweet", "lemon\tsour"}, Completions(fruits))
	assert.Empty(t, Completions[fruit](nil))
}
