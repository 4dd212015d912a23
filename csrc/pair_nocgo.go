//go:build !cgo

package csrc

import "unsafe"

// SharedBytes is the size of a Shared in a build with kernels; here it only has to be a valid size.
const SharedBytes = 256

// Shared lets processes start together.
type Shared struct{}

// SharedAt returns an empty Shared.
func SharedAt(unsafe.Pointer) *Shared { return &Shared{} }

// Open does nothing: there are no kernels.
func (*Shared) Open() {}

// Stop does nothing.
func (*Shared) Stop() {}

// StartNS is 0.
func (*Shared) StartNS() int64 { return 0 }

// Work returns an error: this build has no C code.
func Work(WorkArgs) (WorkResult, error) { return WorkResult{}, errNoCgo }

// Checks returns an error: this build has no C code.
func Checks(ChecksArgs) (ChecksResult, error) { return ChecksResult{}, errNoCgo }
