//go:build !cgo

package output

// closedAtStart returns false, since this cannot be known: the Go runtime has opened /dev/null in the place of a closed
// stdout.
func closedAtStart() bool { return false }
