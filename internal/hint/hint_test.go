package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHint(t *testing.T) {
	inner := With(fmt.Errorf("cannot open it: %w", fs.ErrPermission), "be root")
	assert.Equal(t, "be root", Of(inner))
	assert.ErrorIs(t, inner, fs.ErrPermission)
	assert.EqualError(t, inner, "cannot open it: permission denied")

	outer := With(fmt.Errorf("run: %w", inner), "ask root")
	assert.Equal(t, "ask root", Of(outer))
	assert.Empty(t, Of(errors.New("plain")))
	assert.Empty(t, Of(nil))
}
