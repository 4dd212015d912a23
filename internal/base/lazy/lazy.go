// Package lazy compiles regular expressions when they are first used, and not when a program starts: each process of a sample
// starts one.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the expression. It panics if the expression is wrong, as regexp.MustCompile does.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
