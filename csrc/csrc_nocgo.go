//go:build !cgo

// Package csrc holds gorun's C code. This build has none of it: every function returns an error that wraps
// errors.ErrUnsupported.
package csrc

import (
	"errors"
	"fmt"
)

var errNoCgo = fmt.Errorf("this gorun was built without cgo and has no C code: %w", errors.ErrUnsupported)

// Stop asks running kernels to end.
type Stop struct{}

// NewStop returns a flag that is not set.
func NewStop() *Stop { return &Stop{} }

// Set does nothing: there are no kernels.
func (*Stop) Set() {}

// Clear does nothing.
func (*Stop) Clear() {}

// Free does nothing.
func (*Stop) Free() {}
