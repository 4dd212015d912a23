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

// sentences are keys whose texts are for people. What they say is in other keys, and a gorun that words it otherwise must be
// able to read older journals.
var sentences = []string{"words", "reason"}

// differs compares two values as JSON has them, but for sentences.
func differs(what string, recorded, follows any) error {
	switch x := recorded.(type) {
	case map[string]any:
		y, ok := follows.(map[string]any)
		if !ok {
			break
		}
		names := maps.Clone(y)
		maps.Copy(names, x)
		for _, sentence := range sentences {
			delete(names, sentence)
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
