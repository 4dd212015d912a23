package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A command does less work for /dev/null if it is much faster there than into a file, apart from the time of writing.
func TestDoesLess(t *testing.T) {
	for name, c := range map[string]struct {
		of   written
		want bool
	}{
		"grep that ends at its first match": {written{seconds: 0.1, bytes: 1 << 20, nulls: 4, slowest: 0.002}, true},
		"a first execution that was slow":   {written{seconds: 0.1, bytes: 1 << 20, nulls: 4, slowest: 0.09}, false},
		"a writer":                          {written{seconds: 0.03, bytes: 16e6, nulls: 4, slowest: 0.001}, false},
		"a short command, by noise":         {written{seconds: 0.004, bytes: 1, nulls: 4, slowest: 0.001}, false},
		"a command that writes nothing":     {written{seconds: 0.1, nulls: 4, slowest: 0.001}, false},
		"a writer of more than is kept":     {written{seconds: 0.9, bytes: 10, lost: true, nulls: 4, slowest: 0.001}, false},
	} {
		assert.Equal(t, c.want, c.of.doesLess(), name)
		c.of.name = "it"
		assert.Equal(t, c.want, len((&sampler{written: []*written{&c.of}}).doingLess()) > 0, name)
		c.of.nulls = sureNulls
		assert.Empty(t, (&sampler{written: []*written{&c.of}}).doingLess(), "it was not executed again")
		assert.Equal(t, c.want, c.of.due(), name)
	}
}
