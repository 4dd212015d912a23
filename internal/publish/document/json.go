package document

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"gorun/internal/record/result"
	"gorun/internal/show/term"
)

// writeJSON writes a document as itself, indented by two spaces, with "<", ">" and "&" as themselves. Lists and maps that the schema
// promises are never null.
func writeJSON(w io.Writer, d Document, _ term.Options) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(withLists(reflect.ValueOf(d)).Interface()); err != nil {
		return fmt.Errorf("cannot write JSON: %w", err)
	}
	return nil
}

// withLists copies a value with an empty list or map in place of each that is nil: encoding/json would write null.
func withLists(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(withLists(v.Elem()))
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(withLists(v.Index(i)))
		}
	case reflect.Map:
		if v.IsNil() {
			out.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Struct:
		if samples, is := v.Interface().(result.Samples); is {
			out.Set(reflect.ValueOf(samples.Map(func(_ int, s *result.Sample) { *s = withLists(reflect.ValueOf(*s)).Interface().(result.Sample) })))
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			absent := strings.Contains(field.Tag.Get("json"), ",omit") && v.Field(i).IsZero()
			if field.IsExported() && !absent {
				out.Field(i).Set(withLists(v.Field(i)))
			}
		}
	}
	return out
}
