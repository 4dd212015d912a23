package term

import (
	"reflect"
	"strings"
	"sync"
	"unicode"

	"gorun/internal/record/result"
)

// Clean copies a value, and makes every text in it safe to show: a run may come from a stranger's journal, and a name
// in it could hold escapes that move the cursor, or letters that turn the line around (https://trojansource.codes).
// White space becomes a blank, and what cannot be printed the replacement character, so that a text stays one line. Words of
// a command stay as they are: shell.Join makes a printable line of them.
func Clean[T any](value T) T {
	v := reflect.ValueOf(&value).Elem()
	v.Set(cleaned(v))
	return value
}

// texts has what hasText found.
var texts sync.Map

// hasText reports whether values of a type may have a text in them.
func hasText(t reflect.Type) bool {
	if has, known := texts.Load(t); known {
		return has.(bool)
	}
	texts.Store(t, true) // of a type that has itself in it
	has := false
	switch t.Kind() {
	case reflect.String, reflect.Interface:
		has = true
	case reflect.Pointer, reflect.Slice:
		has = hasText(t.Elem())
	case reflect.Map:
		has = hasText(t.Key()) || hasText(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			has = has || t.Field(i).IsExported() && hasText(t.Field(i).Type)
		}
		has = has || t == reflect.TypeFor[result.Figures]() || t == reflect.TypeFor[result.Samples]()
	}
	texts.Store(t, has)
	return has
}

// cleaned copies a value, with every text in it made printable. Parts without texts are shared with the copy.
func cleaned(v reflect.Value) reflect.Value {
	if v.IsValid() && !hasText(v.Type()) {
		return v
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if v.IsNil() || v.Type() == reflect.TypeFor[result.Argv]() {
			return v
		}
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(printable(v.String()))
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(cleaned(v.Elem()))
	case reflect.Interface:
		out.Set(cleaned(v.Elem()))
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(cleaned(v.Index(i)))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for item := v.MapRange(); item.Next(); {
			out.SetMapIndex(cleaned(item.Key()), cleaned(item.Value()))
		}
	case reflect.Struct:
		out.Set(v)
		plain := func(text string) bool { return printable(text) == text }
		switch of := v.Interface().(type) {
		case result.Figures:
			out.Set(reflect.ValueOf(of.Map(plain, Clean[any])))
		case result.Samples:
			if of.HasText(func(text string) bool { return !plain(text) || strings.Contains(text, `\`) }) { // as JSON, which may escape letters
				out.Set(reflect.ValueOf(of.Map(func(_ int, s *result.Sample) { *s = Clean(*s) })))
			}
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(cleaned(v.Field(i)))
			}
		}
	default:
		return v
	}
	return out
}

// printable returns what is shown for a text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
