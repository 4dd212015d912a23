package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf8"

	"gorun/internal/base/hint"
	"gorun/internal/files/jsonl"
	"gorun/internal/record/result"
)

// The hints of errors in a file that holds no journal, or holds one that was changed.
const (
	noJournal = "give a file that --out wrote; a file that is cut off in its first line has no samples"
	asWritten = "give a file that --out wrote, as it was written"
)

// headerStart is the beginning of every journal.
const headerStart = `{"header":{`

// another returns an error that names the kind of a file whose first line is not that of a journal.
func another(in *bufio.Reader) error {
	head, err := in.Peek(headBytes)
	if err != nil && err != io.EOF {
		return err
	}
	if len(head) == 0 {
		return hint.With(errors.New("it is empty"), noJournal)
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	is, way := "it is a text of another kind", noJournal
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		is, way = "it begins with a byte order mark", "another program saved it: "+asWritten
	case bytes.HasPrefix(head, []byte("[")):
		is = "it is a JSON list"
	case bytes.HasSuffix(line, []byte("}\r")):
		is, way = "its lines end in CR LF", "another program saved it: "+asWritten
	case jsonl.Sealed(line), bytes.HasPrefix(head, []byte(headerStart)), strings.HasPrefix(headerStart, string(head)):
		return nil // or a broken line, which has its own error
	case bytes.HasPrefix(head, []byte(`{"sample":`)), bytes.HasPrefix(head, []byte(`{"footer":`)):
		return nil
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")):
		is, way = "it is a JSON document", "give the journal that --out wrote; what --format json printed is for gorun report"
	case bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]):
		is = "it is a binary file"
	}
	return hint.With(fmt.Errorf("line 1 does not begin a journal: %s", is), way)
}

// inWords rewords an error of package json for a reader of journals.
func inWords(err error) error {
	var invalid *json.UnmarshalTypeError
	if !errors.As(err, &invalid) {
		return errors.New("it is not the JSON of a journal")
	}
	names := map[string]string{"string": "a text", "array": "a list", "object": "an object", "bool": "true or false"}
	is := cmp.Or(names[invalid.Value], invalid.Value) // or "number 1e999"
	want := "a whole number that fits"
	switch invalid.Type.Kind() {
	case reflect.Bool:
		want = "true or false"
	case reflect.String:
		want = "a text"
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		want = "an object"
	case reflect.Float32, reflect.Float64:
		want = "a number that fits"
	}
	return fmt.Errorf("%s is %s instead of %s", cmp.Or(invalid.Field, "the line"), is, want)
}

// checkSchema returns an error with a hint if a run has another schema than this gorun.
func checkSchema(r *result.Run) error {
	if r.Schema == result.Schema {
		return nil
	}
	writer := "the gorun that wrote it"
	if r.Tool.Version != "" {
		writer += ", version " + r.Tool.Version
	}
	return hint.With(fmt.Errorf("its schema is %q, but this gorun reads %q", r.Schema, result.Schema),
		"read it with "+writer+"; to compare it with runs of this gorun, measure it again")
}

// way returns a hint for a journal that contradicts itself. Another version of gorun may judge differently.
func way(writer result.Tool) string {
	text := "use an unchanged copy of the file"
	if writer.Version != "" {
		text += ", or read it with the gorun that wrote it, version " + writer.Version
	}
	return text
}
