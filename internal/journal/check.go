package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gorun/internal/cpuset"
	"gorun/internal/result"
)

const infinite = math.MaxFloat64

// longer reports whether an inner time is longer than the outer time that contains it, with an allowance: the two
// clocks are read one after the other, possibly by different processes.
func longer(inner, outer float64) bool { return inner > outer*1.01+1e-3 }

// checkCells checks the cells of the header.
func checkCells(cells []result.Cell) error {
	named := map[string]int{}
	for i, cell := range cells {
		if first, found := named[cell.Name]; found {
			return fmt.Errorf("cells %d and %d both have the name %q", first, i, cell.Name)
		}
		named[cell.Name] = i
		if cell.Summary != nil || cell.Verdict != nil || cell.Verdicts != nil || cell.Words != "" {
			return fmt.Errorf("cell %d has a verdict or a summary, before the first sample", i)
		}
		for _, name := range slices.Sorted(maps.Keys(cell.CPUs)) {
			list := cell.CPUs[name]
			if set, err := cpuset.Parse(list.List); err != nil || set.Len() != list.Count {
				return fmt.Errorf("cell %d: %q of %q is not a list of %d CPUs", i, list.List, name, list.Count)
			}
		}
		for _, word := range cell.Command {
			name, value, given := strings.Cut(strings.TrimPrefix(word, "--"), "=")
			if flag, known := cell.Flags[name]; given && known && value != flag {
				return fmt.Errorf("cell %d has the value %q of --%s, and %q in its command", i, flag, name, word)
			}
		}
	}
	return nil
}

// checkSample checks a sample by itself.
func checkSample(s *result.Sample) error {
	for _, time := range []struct {
		of      string
		seconds float64
	}{
		{"wall time", s.Seconds},
		{"user time", s.UserSeconds},
		{"system time", s.SystemSeconds},
		{"load time", s.LoadSeconds},
		{"watched time", s.Quality.Signals.WatchedSeconds},
	} {
		if !(time.seconds >= 0) {
			return fmt.Errorf("the sample's %s is %v s", time.of, time.seconds)
		}
	}
	q := s.Quality
	switch {
	case q.Verdict != result.Valid && q.Verdict != result.Suspect && q.Verdict != result.Invalid:
		return fmt.Errorf("%q is not a verdict on a sample", q.Verdict)
	case q.Verdict == result.Valid && len(q.Reasons) > 0:
		return fmt.Errorf("the sample is valid, but has a reason against it")
	case q.Verdict != result.Valid && len(q.Reasons) == 0:
		return fmt.Errorf("the sample is %s, but has no reason", q.Verdict)
	case q.Verdict != result.Invalid && !s.Placement.Verified:
		return fmt.Errorf("the sample is %s, but its placement was not verified", q.Verdict)
	case s.Placement.Verified && len(s.Placement.Mismatches) > 0:
		return fmt.Errorf("the sample's placement was verified, but has a mismatch")
	case s.Placement.Checked < 0:
		return fmt.Errorf("the sample's placement was checked %d times", s.Placement.Checked)
	case s.Good() && s.Seconds == 0:
		return fmt.Errorf("the sample is %s, but took no time", q.Verdict)
	case q.Signals.WatchedSeconds > 0 && longer(s.Seconds, q.Signals.WatchedSeconds):
		return fmt.Errorf("the sample took %v s, but was watched for %v s", s.Seconds, q.Signals.WatchedSeconds)
	}
	if s.Workers == nil {
		return nil
	}
	return checkWorkers(s.Workers)
}

func checkWorkers(w *result.Workers) error {
	d := w.Seconds
	switch {
	case w.Finished < 0 || w.Finished > w.Count:
		return fmt.Errorf("%d of the sample's %d workers finished", w.Finished, w.Count)
	case d.Min > d.Median || d.Median > d.P99 || d.P99 > d.Max || !near(d.Mean, max(d.Min, min(d.Mean, d.Max))):
		return fmt.Errorf("the times of the sample's workers are not in order: %+v", d)
	case d.Mean > 0 && !near(w.Imbalance, d.Max/d.Mean):
		return fmt.Errorf("the imbalance of the sample's workers is %v, but their times give %v", w.Imbalance, d.Max/d.Mean)
	}
	return nil
}

// follows checks the order of samples in designs that a seed does not fully determine: row by row, or pair by pair.
func follows(m *result.Matrix, before []result.Sample, s *result.Sample) error {
	last := result.Slot{Cell: -1}
	if len(before) > 0 {
		last = *before[len(before)-1].Slot
	}
	ok := true
	switch m.Order.Design {
	case result.Rows:
		ok = s.Cell == last.Cell && s.Round == last.Round+1 || s.Cell == last.Cell+1 && s.Round == 0
		ok = ok && (m.Rounds == 0 || s.Round < m.Rounds)
	case result.Pairs:
		ok = s.Round == len(before)/2
		switch first := m.Order.First; {
		case len(before)%2 == 1:
			ok = ok && s.Cell == 1-last.Cell
		case len(before) == 0 && len(first) > 0 && len(first[0]) > 0:
			ok = ok && s.Cell == first[0][0]
		}
	default:
		return nil
	}
	if !ok || s.Block != 0 || s.Control {
		return fmt.Errorf("the sample, of cell %d in round %d, is not the next one in the schedule", s.Cell, s.Round)
	}
	return nil
}

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
	if err := json.Unmarshal(a, &x); err != nil {
		return err
	}
	if err := json.Unmarshal(b, &y); err != nil {
		return err
	}
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
	if recorded == nil && follows == nil {
		return nil
	}
	a, _ := json.Marshal(recorded)
	b, _ := json.Marshal(follows)
	if bytes.Equal(a, b) {
		return nil
	}
	return fmt.Errorf("%s is %s, but the rest of the journal gives %s", what, cut(a), cut(b))
}

// cut shortens a value for a message.
func cut(text []byte) string {
	const most = 80
	if string(text) == "null" {
		return "absent"
	}
	if runes := []rune(string(text)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return string(text)
}
