//go:build !cgo

package csrc

// ProbePrepare is not in this build.
func ProbePrepare(ProbeArgs) error { return errNoCgo }

// Probe is not in this build.
func Probe(ProbeArgs) (ProbeResult, error) { return ProbeResult{}, errNoCgo }
