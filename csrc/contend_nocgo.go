//go:build !cgo

package csrc

// Gate releases threads at the same time.
type Gate struct{}

// NewGate returns a gate that holds nothing back.
func NewGate(int) *Gate { return &Gate{} }

// Reset does nothing: there are no kernels.
func (*Gate) Reset(int) {}

// Free does nothing.
func (*Gate) Free() {}

// HasLSE returns false: without C code nothing could use it.
func HasLSE() bool { return false }

// Ops returns none.
func Ops() []Op { return nil }

// Contend returns an error: this build has no C code.
func Contend(ContendArgs) (ContendResult, error) { return ContendResult{}, errNoCgo }

// PingPongMethods returns none.
func PingPongMethods() []string { return nil }

// PingPong returns an error: this build has no C code.
func PingPong(PingPongArgs) (PingPongResult, error) { return PingPongResult{}, errNoCgo }
