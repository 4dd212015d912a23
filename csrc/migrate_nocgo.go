//go:build !cgo

package csrc

// Migrate is not in this build.
func Migrate(MigrateArgs) (MigrateResult, error) { return MigrateResult{}, errNoCgo }
