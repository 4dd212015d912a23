//go:build !cgo

package csrc

// Bed is the futex on which two threads sleep in turns.
type Bed struct{}

// NewBed returns an unused Bed.
func NewBed() *Bed { return &Bed{} }

// Stop does nothing: there are no kernels.
func (*Bed) Stop() {}

// Free does nothing.
func (*Bed) Free() {}

// Wakeups returns an error: this build has no C code.
func Wakeups(WakeupsArgs) (WakeupsResult, error) { return WakeupsResult{}, errNoCgo }
