//go:build !cgo

package csrc

// ProbePrepare returns an error: this build has no C code.
func ProbePrepare(ProbeArgs) error { return errNoCgo }

// Probe returns an error: this build has no C code.
func Probe(ProbeArgs) (ProbeResult, error) { return ProbeResult{}, errNoCgo }
