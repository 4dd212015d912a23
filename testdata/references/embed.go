// Package references holds the figures that the texts behind gorun's experiments were published with, as a baseline for
// gorun's measurements. It is in their directory, since go:embed cannot embed files of a parent directory.
package references

import "embed"

// Files are the tables: NAME.tsv. Lines that begin with # name the source and its machine, and describe the figures. The first
// other line has the names of the columns, and "-" is a figure that the source does not give. Package reference reads them.
//
//go:embed *.tsv
var Files embed.FS
