// Package presets holds the matrices that come with gorun. It stands beside them, since go:embed reaches no folder
// above its own file; the go command leaves testdata out of ./... but imports from it.
package presets

import "embed"

// Files are the presets: NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
