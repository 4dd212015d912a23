package render

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/result"
)

// csvFixed are the columns that every experiment has, before the values and the signals.
var csvFixed = []string{
	"index", "seconds", "user_seconds", "system_seconds", "partial", "verdict", "reasons",
}

// csvSlot are the columns that come before them in a matrix: the place of the sample.
var csvSlot = []string{"cell", "cell_name", "control", "round", "block", "elapsed_seconds"}

// CSV writes one row a sample: the fixed columns, the experiment's values by name (the union over the samples, sorted),
// and the quality signals. Figures are unscaled and have the digits that read back as the same float64; what could not
// be had is an empty field. A value whose name is already a column is called "values.NAME".
func CSV(w io.Writer, run *result.Run, _ Options) error {
	run = clean(run)
	names := valueNames(run.Samples)
	signals := signalNames()

	fixed := csvFixed
	if run.Matrix != nil {
		fixed = slices.Concat(csvSlot, csvFixed)
	}
	header := slices.Clone(fixed)
	for _, name := range names {
		if slices.Contains(fixed, name) || slices.Contains(signals, name) {
			name = "values." + name
		}
		header = append(header, name)
	}
	rows := [][]string{append(header, signals...)}
	for i := range run.Samples {
		row, err := csvRow(&run.Samples[i], names)
		if err != nil {
			return err
		}
		if run.Matrix != nil {
			row = append(slotFields(run, &run.Samples[i]), row...)
		}
		rows = append(rows, row)
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("cannot write the samples as CSV: %w", err)
	}
	return nil
}

// slotFields are those of csvSlot; empty where the sample has no place.
func slotFields(run *result.Run, s *result.Sample) []string {
	if s.Slot == nil {
		return make([]string, len(csvSlot))
	}
	name := ""
	if cell := cellOf(run, s); cell != nil {
		name = cell.Name
	}
	return []string{
		strconv.Itoa(s.Cell), name, strconv.FormatBool(s.Control), strconv.Itoa(s.Round), strconv.Itoa(s.Block),
		exact(s.Elapsed),
	}
}

func csvRow(s *result.Sample, names []string) ([]string, error) {
	row := []string{
		strconv.Itoa(s.Index), exact(s.Seconds), exact(s.UserSeconds), exact(s.SystemSeconds),
		strconv.FormatBool(s.Partial), string(s.Quality.Verdict), strings.Join(s.Quality.Reasons, "; "),
	}
	for _, name := range names {
		field, err := csvField(s.Values[name])
		if err != nil {
			return nil, fmt.Errorf("cannot write %s of sample %d as CSV: %w", name, s.Index, err)
		}
		row = append(row, field)
	}
	signals := reflect.ValueOf(s.Quality.Signals)
	for i := range signals.NumField() {
		field := ""
		if signal := reflect.Indirect(signals.Field(i)); signal.IsValid() { // a nil pointer is a signal that is missing
			var err error
			if field, err = csvField(signal.Interface()); err != nil {
				return nil, err
			}
		}
		row = append(row, field)
	}
	return row, nil
}

// csvField shows texts and numbers as themselves, and anything else as JSON.
func csvField(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case float64:
		return exact(value), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// exact is the shortest decimal that reads back as x, with an exponent only where encoding/json has one too: a count
// looks the same before and after a journal.
func exact(x float64) string {
	if size := math.Abs(x); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// valueNames is the sorted union of the samples' value names.
func valueNames(samples []result.Sample) []string {
	union := map[string]struct{}{}
	for i := range samples {
		for name := range samples[i].Values {
			union[name] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(union))
}

// signalNames are the names that result.Signals has in JSON, in its order: a new signal becomes a column by itself.
func signalNames() []string {
	var names []string
	for field := range reflect.TypeFor[result.Signals]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
