// Package fastjson decodes JSON faster than encoding/json, by the package that Go has as encoding/json/v2 in later versions.
package fastjson

import (
	std "encoding/json"

	"github.com/go-json-experiment/json"
)

// Unmarshal decodes a text into *v, which must be zero. What encoding/json refuses is refused with its error, and what only the faster
// package refuses (a name that comes twice, a text that is not UTF-8) is decoded as encoding/json does. But names of fields must be
// written as they are declared: upper and lower case differ.
func Unmarshal[V any](text []byte, v *V) error {
	if json.Unmarshal(text, v) == nil {
		return nil
	}
	*v = *new(V)
	return std.Unmarshal(text, v)
}
