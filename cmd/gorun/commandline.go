package main

import (
	"regexp"
	"sync"
)

// password is that in a URL (RFC 3986, 3.2.1).
var password = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://[^/@:]*:)[^/@]*@`) })

// commandLine is what a result keeps of the arguments: all but the passwords in URLs.
func commandLine(args []string) []string {
	kept := make([]string, len(args))
	for i, arg := range args {
		kept[i] = password().ReplaceAllString(arg, "${1}xxxxx@")
	}
	return kept
}
