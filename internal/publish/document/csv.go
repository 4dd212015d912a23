package document

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"gorun/internal/base/lazy"
	"gorun/internal/record/table"
	"gorun/internal/show/term"
)

var (
	// formula matches a text that a spreadsheet computes (owasp.org/www-community/attacks/CSV_Injection).
	formula = lazy.Regexp(`^\s*[=+\-@＝＋－＠]`)
	// ownName matches the names of cells made of gorun's flags and plain values, and load patterns: nothing in them can be a function
	// or the start of a program (DDE).
	ownName = lazy.Regexp(`^--[a-z][a-z0-9-]*([ =][\w.,:/%='-]*)*$|^[-* ]+$`)
)

// writeCSV writes the spreadsheet of a document, numbers unscaled and at full precision.
func writeCSV(w io.Writer, d Listed, _ term.Options) error {
	sheet := d.Spreadsheet()
	titles := make([]string, len(sheet.Columns))
	for n, c := range sheet.Columns {
		titles[n] = escapeCSV(c.Title)
	}
	rows := [][]string{titles}
	for _, row := range sheet.Rows {
		fields := make([]string, len(row.Values))
		for n, value := range row.Values {
			fields[n] = escapeCSV(table.Exact(value))
		}
		rows = append(rows, fields)
	}
	if err := csv.NewWriter(w).WriteAll(rows); err != nil {
		return fmt.Errorf("cannot write CSV: %w", err)
	}
	return nil
}

// escapeCSV returns a field that a spreadsheet shows as it is: a text that it would compute follows an apostrophe. A number
// or a name of gorun's own is never changed.
func escapeCSV(field string) string {
	if _, err := strconv.ParseFloat(field, 64); err == nil || !formula().MatchString(field) || ownName().MatchString(field) {
		return field
	}
	return "'" + field
}
