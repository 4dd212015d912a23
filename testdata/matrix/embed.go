// Package presets holds the matrices that come with gorun. It is in their directory, since go:embed cannot embed files of a
// parent directory. The pattern ./... does not match packages in testdata, but they can be imported.
package presets

import "embed"

// Files are the presets: NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
