package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
)

// near reports whether two figures are equal up to rounding: a machine with fused multiply-add rounds once where
// another rounds twice.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b))
}

// agrees returns an error that names the first part of the recorded value that differs from the derived one.
func agrees(what string, recorded, follows any) error {
	a, err := json.Marshal(recorded)
	if err != nil {
		return err
	}
	b, err := json.Marshal(follows)
	if err != nil || bytes.Equal(a, b) {
		return err
	}
	var x, y any
	_ = json.Unmarshal(a, &x) // it was just written
	_ = json.Unmarshal(b, &y)
	return differs(what, x, y)
}

// again are keys that say nothing by themselves: texts for people, and where the time went, which follows from the samples. A gorun that
// words them otherwise, or knows more reasons, must be able to read older journals.
var again = []string{"words", "reason", "why"}

// differs compares two values as JSON has them, without the keys of again.
func differs(what string, recorded, follows any) error {
	switch x := recorded.(type) {
	case map[string]any:
		y, ok := follows.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(y)
		maps.Copy(names, x)
		for _, name := range again {
			delete(names, name)
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if err := differs(what+": "+name, x[name], y[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		y, ok := follows.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			if err := differs(fmt.Sprintf("%s: %d", what, i), x[i], y[i]); err != nil {
				return err
			}
		}
		return nil
	case float64:
		if y, ok := follows.(float64); ok && near(x, y) {
			return nil
		}
	}
	if reflect.DeepEqual(recorded, follows) {
		return nil
	}
	return fmt.Errorf("%s is %s, but the rest of the journal gives %s", what, short(recorded), short(follows))
}

// short returns the beginning of a value for a message.
func short(value any) string {
	const most = 80
	if value == nil {
		return "absent"
	}
	text, _ := json.Marshal(value) // it was JSON
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(text)
}
