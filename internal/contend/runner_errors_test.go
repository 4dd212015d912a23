package contend

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A common error of several threads is reported once.
func TestUnlikeErrors(t *testing.T) {
	a, b := errors.New("no CPU 1"), errors.New("no memory")
	assert.Equal(t, []error{a, b}, distinctErrors([]error{nil, a, nil, errors.New("no CPU 1"), b, a}))
	assert.Empty(t, distinctErrors(make([]error, 3)))
}
