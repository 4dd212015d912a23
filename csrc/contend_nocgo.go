//go:build !cgo

package csrc

// Gate releases threads together.
type Gate struct{}

// NewGate returns a gate that nothing waits at.
func NewGate(int) *Gate { return &Gate{} }

// Reset does nothing: there are no kernels.
func (*Gate) Reset(int) {}

// Free does nothing.
func (*Gate) Free() {}

// HasLSE is false: nothing here could use it.
func HasLSE() bool { return false }

// Ops are none.
func Ops() []Op { return nil }

// Contend is not in this build.
func Contend(ContendArgs) (ContendResult, error) { return ContendResult{}, errNoCgo }

// PingPongMethods are none.
func PingPongMethods() []string { return nil }

// PingPong is not in this build.
func PingPong(PingPongArgs) (PingPongResult, error) { return PingPongResult{}, errNoCgo }
