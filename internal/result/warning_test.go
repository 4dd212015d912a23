package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOneEach(t *testing.T) {
	assert.Equal(t, []Warning{
		{"other-run", "another run: PID 1; PID 2: a", "flock"},
		{"odd-machine", "a.b: empty", ""},
		{"odd-machine", "c: empty", ""},
		{"budget", "another run: PID 3", "flock"},
		{"other-run", "another run: PID 4", ""},
		{"other-run", "another", "flock"},
	}, OneEach([]Warning{
		{"other-run", "another run: PID 1", "flock"},
		{"odd-machine", "a.b: empty", ""},
		{"odd-machine", "c: empty", ""},
		{"budget", "another run: PID 3", "flock"},
		{"other-run", "another run: PID 4", ""},
		{"other-run", "another run: PID 2: a", "flock"},
		{"other-run", "another", "flock"},
	}))
}
