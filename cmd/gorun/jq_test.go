package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// jq is the script command `jq FILE PATH [WANT]`: the value at a path such as samples.0.values.primes must exist and, if WANT is
// given, equal it. `! jq FILE PATH` requires that there is no such value. The document must be as the schema says, as each line of a
// journal FILE.jsonl, where the path is that of the last line.
func jq(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: jq FILE PATH [WANT]")
	}
	text := ts.ReadFile(args[0])
	if strings.HasSuffix(args[0], ".jsonl") {
		for line := range strings.Lines(text) {
			ts.Check(conform(line))
			text = line
		}
	} else if strings.Contains(text, `"schema": "gorun/`) {
		ts.Check(conform(text))
	}
	var doc any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	ts.Check(dec.Decode(&doc))
	got, ok := lookup(doc, strings.Split(args[1], "."))
	switch {
	case neg && len(args) == 2:
		if ok {
			ts.Fatalf("%s is there: %v", args[1], got)
		}
		return
	case !ok:
		ts.Fatalf("%s is not there", args[1])
	}
	if len(args) == 3 && (fmt.Sprint(got) == args[2]) == neg {
		ts.Fatalf("%s is %v", args[1], got)
	}
}

// lookup walks keys of objects and indices of lists; "length" is a list's length.
func lookup(doc any, path []string) (any, bool) {
	for _, key := range path {
		switch node := doc.(type) {
		case map[string]any:
			value, ok := node[key]
			if !ok {
				return nil, false
			}
			doc = value
		case []any:
			if key == "length" {
				doc = len(node)
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(node) {
				return nil, false
			}
			doc = node[i]
		default:
			return nil, false
		}
	}
	return doc, true
}
