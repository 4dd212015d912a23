//go:build !cgo

package csrc

// Migrate returns an error: this build has no C code.
func Migrate(MigrateArgs) (MigrateResult, error) { return MigrateResult{}, errNoCgo }
