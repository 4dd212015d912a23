package render

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/units"
)

// csvFixed are the columns that every experiment has, before the values and the signals.
var csvFixed = []string{
	"index", "seconds", "user_seconds", "system_seconds", "partial", "verdict", "reasons",
}

// csvSlot are the columns that come before them in a matrix: the place of the sample.
var csvSlot = []string{"cell", "cell_name", "control", "round", "block", "elapsed_seconds"}

// CSV writes one row a sample, or one for each of its parts: the values that the experiment puts first, the fixed columns, the other values by name
// (the union over the samples, sorted), and the quality signals. Figures are unscaled and have the digits that read
// back as the same float64; what could not be had is an empty field. A value whose name is already a column is called
// "values.NAME".
func (v Views) CSV(w io.Writer, run *result.Run, _ term.Options) error {
	run = term.Clean(run)
	first := v.Of(run.Experiment).Columns
	samples := v.parts(run)
	names := slices.DeleteFunc(view.ValueNames(samples), func(name string) bool { return slices.Contains(first, name) })
	signals := signalNames()

	fixed := slices.Concat(first, csvFixed)
	if run.Matrix != nil {
		fixed = slices.Concat(csvSlot, fixed)
	}
	header := slices.Clone(fixed)
	for _, name := range names {
		if slices.Contains(fixed, name) || slices.Contains(signals, name) {
			name = "values." + name
		}
		header = append(header, name)
	}
	rows := [][]string{append(header, signals...)}
	for i := range samples {
		row, err := csvRow(&samples[i], first, names)
		if err != nil {
			return err
		}
		if run.Matrix != nil {
			row = append(slotFields(run, &samples[i]), row...)
		}
		rows = append(rows, row)
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("cannot write the samples as CSV: %w", err)
	}
	return nil
}

// parts are the samples of a run, or their parts where the experiment has rows of these.
func (v Views) parts(run *result.Run) []result.Sample {
	split := v.Of(run.Experiment).Parts
	if split == nil {
		return run.Samples
	}
	var parts []result.Sample
	for _, sample := range run.Samples {
		parts = append(parts, split(sample)...)
	}
	return parts
}

// slotFields are those of csvSlot; empty where the sample has no place.
func slotFields(run *result.Run, s *result.Sample) []string {
	if s.Slot == nil {
		return make([]string, len(csvSlot))
	}
	name := ""
	if cell := view.CellOf(run, s); cell != nil {
		name = cell.Name
	}
	return []string{
		strconv.Itoa(s.Cell), name, strconv.FormatBool(s.Control), strconv.Itoa(s.Round), strconv.Itoa(s.Block),
		units.Exact(s.Elapsed),
	}
}

func csvRow(s *result.Sample, first, names []string) (row []string, err error) {
	values := func(names []string) {
		for _, name := range names {
			row = append(row, valueText(s, name))
		}
	}
	values(first)
	row = append(row,
		strconv.Itoa(s.Index), units.Exact(s.Seconds), units.Exact(s.UserSeconds), units.Exact(s.SystemSeconds),
		strconv.FormatBool(s.Partial), string(s.Quality.Verdict), strings.Join(s.Quality.Reasons, "; "),
	)
	values(names)
	signals := reflect.ValueOf(s.Quality.Signals)
	for i := range signals.NumField() {
		field := ""
		if signal := reflect.Indirect(signals.Field(i)); signal.IsValid() { // a nil pointer is a signal that is missing
			if field, err = csvField(signal.Interface()); err != nil {
				return nil, err
			}
		}
		row = append(row, field)
	}
	return row, nil
}

// valueText is a value as a field of CSV; empty where the sample does not have it.
func valueText(s *result.Sample, name string) string {
	text, _ := s.Values.Text(name)
	if x, ok := s.Values.Number(name); ok && strings.ContainsAny(text, ".eE") {
		return units.Exact(x)
	}
	return text
}

// csvField shows texts and numbers as themselves, and anything else as JSON.
func csvField(value any) (string, error) {
	switch value := value.(type) {
	case string:
		return value, nil
	case float64:
		return units.Exact(value), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
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
