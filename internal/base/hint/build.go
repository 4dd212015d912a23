//go:build !cgo || !linux

package hint

const _ int = "gorun needs Linux, a C compiler and CGO_ENABLED=1"
