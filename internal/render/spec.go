package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gorun/internal/result"
)

// spec is an experiment's options by flag name. Whether the run was just made or read back from a journal, it comes
// through JSON, so that both look the same here.
type spec map[string]any

// specOf reads an experiment's options. Numbers stay as they were written: a limit above 2^53 must not be rounded.
func specOf(options any) (spec, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("cannot read the run's options: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var out spec
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("cannot read the run's options: %w", err)
	}
	if out == nil {
		out = spec{} // a run without options has null
	}
	return out, nil
}

// specRun reads a run's options. Where the samples say which kernel ran, that stands for the "auto" that was asked for.
func specRun(run *result.Run) (spec, error) {
	out, err := specOf(run.Spec)
	if err != nil {
		return nil, err
	}
	for i := range run.Samples {
		if kernel, ok := run.Samples[i].Values.Text("kernel"); ok {
			out["kernel"] = kernel
			break
		}
	}
	return out, nil
}

// text shows an option: "" when it is absent or has its zero value (0, false, an empty text or list).
func (s spec) text(name string) string { return optionText(s[name]) }

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

// names lists the options that are set: those of first in that order, then the others by name.
func (s spec) names(first ...string) []string {
	names := slices.Clone(first)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return s.text(name) == "" })
}
