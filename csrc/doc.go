// Package csrc holds gorun's C code, in one directory with the cgo bindings, so that plain `go build` and `go install`
// compile it. Each kernel is a plain function: it takes its arguments in one struct, writes its results to another, and
// returns a negative errno on failure. A flag in C memory stops it. It starts no thread, prints nothing and keeps no
// state. Two files are no kernels: start.c starts processes, and refused.c ends a process if Linux refuses what the Go
// runtime needs.
package csrc

import _ "gorun/internal/base/hint" // where a build without cgo or for another system stops
