package render

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// JSON writes the whole run, indented by two spaces, with "<", ">" and "&" as themselves. Lists that the schema
// promises are never null.
func JSON(w io.Writer, run *result.Run, _ term.Options) error {
	full := *run
	full.Samples = withLists(run.Samples)
	if run.Warmups != nil {
		full.Warmups = withLists(run.Warmups)
	}
	if run.Matrix != nil {
		matrix := *run.Matrix
		matrix.Order = withRound(matrix.Order)
		full.Matrix = &matrix
	}
	full.Cells = withFlags(run.Cells)
	full.Findings = orEmpty(run.Findings)
	full.Warnings = orEmpty(run.Warnings)
	return indented(w, &full)
}

// indented writes any value as the JSON that gorun writes everywhere.
func indented(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("cannot write JSON: %w", err)
	}
	return nil
}

// withLists copies the samples, and gives each the list of reasons that a reader may rely on.
func withLists(samples []result.Sample) []result.Sample {
	out := slices.Clone(orEmpty(samples))
	for i := range out {
		out[i].Quality.Reasons = orEmpty(out[i].Quality.Reasons)
	}
	return out
}

// withRound copies an order, and gives it the lists that a reader may rely on.
func withRound(order result.Order) result.Order {
	order.First = slices.Clone(order.First)
	for i := range order.First {
		order.First[i] = orEmpty(order.First[i])
	}
	return order
}

// withFlags copies the cells, and gives each the flags and the command that a reader may rely on.
func withFlags(cells []result.Cell) []result.Cell {
	out := slices.Clone(cells)
	for i := range out {
		out[i].Command = orEmpty(out[i].Command)
		if out[i].Flags == nil {
			out[i].Flags = map[string]string{}
		}
	}
	return out
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
