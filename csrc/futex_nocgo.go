//go:build !cgo

package csrc

// WakeFutex is the futex on which two threads sleep in turns.
type WakeFutex struct{}

// NewWakeFutex returns an unused WakeFutex.
func NewWakeFutex() *WakeFutex { return &WakeFutex{} }

// Stop does nothing: there are no kernels.
func (*WakeFutex) Stop() {}

// Free does nothing.
func (*WakeFutex) Free() {}

// Wakeups returns an error: this build has no C code.
func Wakeups(WakeupsArgs) (WakeupsResult, error) { return WakeupsResult{}, errNoCgo }
