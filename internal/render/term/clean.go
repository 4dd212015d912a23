package term

import (
	"reflect"
	"strings"
	"unicode"

	"gorun/internal/result"
)

// Clean copies a value, and makes every text in it safe to show: a run may come from a stranger's journal, and a name
// in it could hold escapes that move the cursor, or letters that turn the line around (https://trojansource.codes).
// White space becomes a blank, and what cannot be printed the replacement character, so that a text stays one line. Words of
// a command stay as they are: shell.Join makes a printable line of them.
func Clean[T any](value T) T {
	v := reflect.ValueOf(&value).Elem()
	v.Set(mapped(v, func(text string) string { return strings.Map(printable, text) }, func(word string) string { return word }))
	return value
}

// mapped copies a value, with every text in it changed by one function, and the words of commands by another one.
func mapped(v reflect.Value, change, word func(text string) string) reflect.Value {
	if v.Type() == reflect.TypeFor[result.Argv]() {
		change = word
	}
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
		out.Elem().Set(mapped(v.Elem(), change, word))
	case reflect.Interface:
		out.Set(mapped(v.Elem(), change, word))
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapped(v.Index(i), change, word))
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for item := v.MapRange(); item.Next(); {
			out.SetMapIndex(mapped(item.Key(), change, word), mapped(item.Value(), change, word))
		}
	case reflect.Struct:
		out.Set(v)
		if figures, ok := v.Interface().(result.Figures); ok {
			out.Set(reflect.ValueOf(figures.Map(change)))
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapped(v.Field(i), change, word))
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
