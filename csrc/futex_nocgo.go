//go:build !cgo

package csrc

// Bed is where two threads sleep in turns.
type Bed struct{}

// NewBed returns one that nobody sleeps in.
func NewBed() *Bed { return &Bed{} }

// Stop does nothing: there are no kernels.
func (*Bed) Stop() {}

// Free does nothing.
func (*Bed) Free() {}

// Wakeups is not in this build.
func Wakeups(WakeupsArgs) (WakeupsResult, error) { return WakeupsResult{}, errNoCgo }
