package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
)

// Options is an experiment's options by flag name. Whether the run was just made or read back from a journal, it comes
// through JSON, so that both look the same here.
type Options map[string]any

// OptionsOf reads an experiment's options. Numbers stay as they were written: a limit above 2^53 must not be rounded. What a stranger's file
// has in place of options has none.
func OptionsOf(options any) (all Options) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&all) != nil {
		return nil
	}
	return all
}

// Text shows an option: "" when it is absent or has its zero value (0, false, an empty text or list).
func (s Options) Text(name string) string { return optionText(s[name]) }

func optionText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case bool:
		if !value {
			return ""
		}
		return "true"
	case string:
		return value
	case json.Number:
		if n, err := value.Float64(); err == nil && n == 0 {
			return ""
		}
		return value.String()
	case []any:
		items := make([]string, len(value))
		for i, item := range value {
			if items[i] = optionText(item); items[i] == "" {
				items[i] = fmt.Sprint(item) // a 0 in a list of CPUs is a CPU
			}
		}
		return strings.Join(items, ",")
	case map[string]any:
		var items []string
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if text := optionText(value[name]); text != "" {
				items = append(items, name+":"+text)
			}
		}
		return strings.Join(items, ",")
	}
	return fmt.Sprint(value)
}

// Names lists the options that are set: those of first in that order, then the others by name.
func (s Options) Names(first ...string) []string {
	names := slices.Clone(first)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return s.Text(name) == "" })
}

// Option shows an option as its flag's words, "split contiguous"; a switch is its name alone.
func Option(name, text string) string {
	if text == "true" && name != "command" {
		return strings.ReplaceAll(name, "_", " ")
	}
	x, err := strconv.ParseFloat(text, 64)
	for suffix, show := range map[string]func(float64) string{
		"_seconds": units.Seconds, "_bytes": func(x float64) string { return units.Bytes(uint64(x)) },
	} {
		if trimmed, is := strings.CutSuffix(name, suffix); is && err == nil {
			name, text = trimmed, show(x)
		}
	}
	return strings.ReplaceAll(name, "_", " ") + " " + text
}
