package contend

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

const (
	// manyAnswers is the maximum number of operations that the answer names. The largest factors come first.
	manyAnswers = 4
	// fullOverlap is the part of the time in which all threads of a row with a fixed count must have run: below it, the row
	// is mostly about threads that ran alone.
	fullOverlap = 0.9
	cacheLine   = 64 // bytes, on x86-64 and on most arm64
	// fewSamples are too few for a claim: of two rows with five each, chance alone sets them apart in one of 126 runs.
	fewSamples = 5
)

// found is what the rows of an operation say.
type found struct {
	text  string
	ratio float64 // the factor in it; 0 where none can be claimed
	axes  string  // the flags of a matrix that compares the two rows, if they have too few samples; else ""
}

// answer says what sharing costs each operation: the time on the most CPUs divided by the time on the fewest, or the time with the
// slowest distance of the words divided by the time with the fastest. It returns nothing if rows differ in something else, or if cells
// are judged.
func answer(run *result.Run) []view.Statement {
	if run.Matrix != nil {
		return nil
	}
	var all []found
	for _, rows := range byOperation(run.Samples) {
		f, ok := cost(rows)
		if !ok {
			return nil
		}
		all = append(all, f)
	}
	if len(all) == 0 || len(all) > 1 && all[0].ratio == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.ratio, a.ratio) })
	var statements []view.Statement
	for i, f := range all {
		if i == manyAnswers && len(all) > manyAnswers+1 {
			statements = append(statements, view.Statement{Text: fmt.Sprintf("The table has %d more operations.", len(all)-i)})
			break
		}
		statements = append(statements, view.Statement{Text: f.text})
	}
	if all[0].axes != "" {
		statements = append(statements, view.Statement{
			Text: "Too few samples to compare: gorun matrix contend " + all[0].axes + " compares them.",
		})
	}
	return append(statements, view.Doubts(run.Samples)...)
}

// byOperation returns the rows with a good sample, by what they do.
func byOperation(samples result.Samples) (all [][]measuredRow) {
	type work struct{ op, variant, mode, load string }
	at := map[work]int{}
	for _, row := range measuredRows(samples) {
		if row.grade == result.Invalid || row.samples.Len() == 0 {
			continue
		}
		w := work{row.Op, row.Variant, row.Mode, row.Load}
		if _, known := at[w]; !known {
			at[w] = len(all)
			all = append(all, nil)
		}
		all[at[w]] = append(all[at[w]], row)
	}
	return all
}

// time is the time of an operation over the samples of a row.
func (r *measuredRow) time() table.Spread { return r.spread("ns_per_op") }

// cost is what the rows of an operation say. Rows that differ in something other than their CPUs and the distance of their words say
// nothing.
func cost(rows []measuredRow) (f found, ok bool) {
	if slices.ContainsFunc(rows, func(row measuredRow) bool { return row.MemNode != rows[0].MemNode }) {
		return f, false
	}
	byCPUs := func(a, b measuredRow) int { return cmp.Compare(a.CPUs, b.CPUs) }
	most, fewest := slices.MaxFunc(rows, byCPUs), slices.MinFunc(rows, byCPUs)
	op := most.Op
	if len(rows) == 1 {
		f.text = fmt.Sprintf("%s takes %s on %s", op, units.Seconds(most.time().Median/1e9), units.Things(most.CPUs, "CPU"))
		if most.CPUs > 1 {
			f.text += " at once"
		}
		f.text += unequal(most) + "."
		return f, true
	}
	differs := func(row measuredRow) bool { return row.CPUs != most.CPUs || row.CPUList != most.CPUList }
	onMost := slices.DeleteFunc(slices.Clone(rows), differs)
	byTime := func(a, b measuredRow) int { return cmp.Compare(a.time().Median, b.time().Median) }
	slow, fast := slices.MaxFunc(onMost, byTime), slices.MinFunc(onMost, byTime)
	switch {
	case slow.Row != fast.Row && slow.DistBy == "" && fast.DistBy == "" && slow.DistBytes != fast.DistBytes:
		on := " on " + units.Things(slow.CPUs, "CPU")
		what := op + on + " with words " + units.Bytes(uint64(slow.DistBytes)) + " apart"
		if slow.DistBytes < cacheLine && fast.DistBytes >= cacheLine {
			what = op + on + " with words in one cache line (" + units.Bytes(uint64(slow.DistBytes)) + " apart)"
		}
		axes := fmt.Sprintf("--op %s --dist-bytes %d,%d", op, fast.DistBytes, slow.DistBytes)
		if most.CPUs != fewest.CPUs {
			axes += " --cpus " + most.CPUList
		}
		return factor(what, "with words "+units.Bytes(uint64(fast.DistBytes))+" apart", slow, fast, axes)
	case most.CPUs != fewest.CPUs && !slices.ContainsFunc(rows, func(row measuredRow) bool { return row.CPUs == most.CPUs && differs(row) }):
		alike := func(row measuredRow) bool {
			return row.CPUs == fewest.CPUs && row.DistBytes == most.DistBytes && row.Dist == most.Dist
		}
		if i := slices.IndexFunc(rows, alike); i >= 0 {
			fewest = rows[i]
		}
		axes := fmt.Sprintf("--op %s --cpus '%s %s'", op, fewest.CPUList, most.CPUList)
		switch {
		case most.DistBy != "":
			axes += fmt.Sprintf(" --dist %d", most.Dist)
		case most.DistBytes > 0:
			axes += fmt.Sprintf(" --dist-bytes %d", most.DistBytes)
		}
		return factor(fmt.Sprintf("%s on %s", op, units.Things(most.CPUs, "CPU")), "on "+units.Things(fewest.CPUs, "CPU"), most, fewest, axes)
	}
	return f, false
}

// factor compares two rows: what is usually slower than other. axes are the flags of a matrix that compares them, for rows with too few samples for a
// factor.
func factor(what, other string, slow, fast measuredRow, axes string) (found, bool) {
	s, f := slow.time(), fast.time()
	if why := unequal(slow) + unequal(fast); why != "" {
		return found{text: fmt.Sprintf("%s: no factor can be claimed%s.", what, why)}, true
	}
	if f.Median <= 0 {
		return found{}, false
	}
	show := units.CommonUnit([]float64{s.Median / 1e9, f.Median / 1e9})
	of := func(s table.Spread) string { return show(s.Median / 1e9) }
	ratio := s.Median / f.Median
	if slow.samples.Len() < fewSamples || fast.samples.Len() < fewSamples {
		return found{fmt.Sprintf("%s takes %s, and %s %s.", what, of(s), of(f), other), ratio, axes}, true
	}
	of = func(s table.Spread) string {
		return fmt.Sprintf("%s (%s to %s)", show(s.Median/1e9), show(s.Least/1e9), show(s.Most/1e9))
	}
	times := of(s) + " against " + of(f)
	switch {
	case s.Least <= f.Most && f.Least <= s.Most:
		return found{text: fmt.Sprintf("%s: not clearly slower or faster than %s: %s.", what, other, times), ratio: 1}, true
	case ratio >= 2:
		return found{text: fmt.Sprintf("%s takes %s times as long as %s: %s.", what, units.Digits(ratio), other, times), ratio: ratio}, true
	case ratio >= 1:
		return found{text: fmt.Sprintf("%s takes %.0f%% longer than %s: %s.", what, 100*(ratio-1), other, times), ratio: ratio}, true
	}
	return found{text: fmt.Sprintf("%s takes %.0f%% less time than %s: %s.", what, 100*(1-ratio), other, times), ratio: ratio}, true
}

// unequal says how little of the time of a fixed count all threads of a row ran; "" if they did most of the time.
func unequal(row measuredRow) string {
	share, known := row.together()
	if !known || share >= fullOverlap {
		return ""
	}
	return fmt.Sprintf(", because its threads all ran at once for only %s of the time: use --time, which counts nothing else",
		strings.ReplaceAll(units.Percent(share), " %", "%"))
}
