//go:build !cgo

package csrc

import "unsafe"

// SharedBytes is the size of a Shared where there are kernels; here only their memory has a size.
const SharedBytes = 256

// Shared lets processes start together.
type Shared struct{}

// SharedAt returns one that nothing waits for.
func SharedAt(unsafe.Pointer) *Shared { return &Shared{} }

// Open does nothing: there are no kernels.
func (*Shared) Open() {}

// Stop does nothing.
func (*Shared) Stop() {}

// StartNS is 0.
func (*Shared) StartNS() int64 { return 0 }

// Work is not in this build.
func Work(WorkArgs) (WorkResult, error) { return WorkResult{}, errNoCgo }

// Checks is not in this build.
func Checks(ChecksArgs) (ChecksResult, error) { return ChecksResult{}, errNoCgo }
