package term

import (
	"reflect"
	"strings"
	"unicode"

	"gorun/internal/result"
)

// Clean copies a value, and makes every text in it safe to show: a run may come from a stranger's journal, and a name
// in it could hold escapes that move the cursor, or letters that turn the line around (https://trojansource.codes).
// White space becomes a blank, and what cannot be printed the replacement character, so that a text stays one line.
func Clean[T any](value T) T {
	return Map(value, func(text string) string { return strings.Map(printable, text) })
}

// Map copies a value, with every text in it changed by the function.
func Map[T any](value T, change func(text string) string) T {
	v := reflect.ValueOf(&value).Elem()
	v.Set(mapped(v, change))
	return value
}

func mapped(v reflect.Value, change func(text string) string) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if v.IsNil() {
			return v
		}
	}
	out := reflect.New(v.Type()).Elem()
	switch v.Kind() {
	case reflect.String:
		out.SetString(change(v.String()))
	case reflect.Pointer:
		out.Set(reflect.New(v.Type().Elem()))
		out.Elem().Set(mapped(v.Elem(), change))
	case reflect.Interface:
		out.Set(mapped(v.Elem(), change))
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapped(v.Index(i), change))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for item := v.MapRange(); item.Next(); {
			out.SetMapIndex(mapped(item.Key(), change), mapped(item.Value(), change))
		}
	case reflect.Struct:
		out.Set(v)
		if figures, ok := v.Interface().(result.Figures); ok {
			out.Set(reflect.ValueOf(figures.Map(change)))
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapped(v.Field(i), change))
			}
		}
	default:
		return v
	}
	return out
}

// printable returns the text shown for a character.
func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case !unicode.IsPrint(r):
		return unicode.ReplacementChar
	}
	return r
}
