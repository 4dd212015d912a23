// Package references holds the figures that the texts behind gorun's experiments were published with, as a baseline for
// what gorun measures. It stands beside them, since go:embed reaches no folder above its own file.
package references

import "embed"

// Files are the tables: NAME.tsv. Lines that begin with # name the source and its machine, and say what the figures are;
// the first other line has the names of the columns, and "-" is a figure that the source does not give. Package reference
// reads them.
//
//go:embed *.tsv
var Files embed.FS
