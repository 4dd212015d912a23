package numa

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/view"
)

// series is a set of rows that differ only in the size of their buffers.
type series struct {
	name string
	ns   map[uint64]result.Distribution // ns per access over the samples, by buffer size in bytes
}

// latencySeries returns the series of rows with several buffers, and the buffers' sizes; none if all sizes are equal.
func latencySeries(rows []measuredRow) (all []series, sizes []uint64) {
	differ := differing(rows)
	for _, row := range rows {
		var words []string
		for n, axis := range rowAxes {
			if differ[n] && n != bufferAxis {
				words = append(words, axis.key+" "+axis.of(row))
			}
		}
		name := cmp.Or(strings.Join(words, " "), "an access")
		at := slices.IndexFunc(all, func(s series) bool { return s.name == name })
		if at < 0 {
			at, all = len(all), append(all, series{name, map[uint64]result.Distribution{}})
		}
		all[at].ns[row.BufferBytes] = result.Distribute(slices.Clone(row.ns))
		sizes = append(sizes, row.BufferBytes)
	}
	slices.Sort(sizes)
	if sizes = slices.Compact(sizes); len(sizes) < 2 {
		return nil, nil
	}
	return all, sizes
}

// isCurve reports whether rows differ only in their buffers and access patterns: such rows get no verdicts, since
// their differences follow from the sizes of the caches.
func isCurve(rows []measuredRow) bool {
	differ := differing(rows)
	sizes := differ[bufferAxis]
	differ[bufferAxis], differ[accessAxis] = false, false
	return sizes && !slices.Contains(differ[:], true)
}

// answer returns the time of an access in the smallest and in the largest buffer; nothing for rows that differ in
// more.
func answer(run *result.Run, _ view.Options) []view.Statement {
	rows := withSamples(run)
	if !isCurve(rows) {
		return nil
	}
	all, sizes := latencySeries(rows)
	smallest, largest := sizes[0], sizes[len(sizes)-1]
	var parts []string
	for _, s := range all {
		least, hasLeast := s.ns[smallest]
		most, hasMost := s.ns[largest]
		if !hasLeast || !hasMost {
			continue
		}
		part := fmt.Sprintf("%s in %s and %s in %s", accessTime(least), units.Bytes(smallest), accessTime(most), units.Bytes(largest))
		if len(all) > 1 {
			part += " (" + s.name + ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil
	}
	text := "An access takes " + strings.Join(parts, "; ") + "."
	if run.Host.Nodes == 1 {
		text = "This machine has one node, so no memory is far from a CPU. " + text
	}
	samples := cmp.Or(view.Doubtful(run.Samples), units.Things(len(run.Samples), "sample")+", all valid.")
	return []view.Statement{{Text: text}, {Text: samples}}
}

// accessTime is the median time of an access, and between what its samples lie.
func accessTime(ns result.Distribution) string {
	text := units.Seconds(ns.Median / 1e9)
	if least, most := units.Seconds(ns.Min/1e9), units.Seconds(ns.Max/1e9); least != most {
		text += fmt.Sprintf(" (%s to %s)", least, most)
	}
	return text
}

// latencyTable has the time of an access by the size of the buffer; it has no rows if there is one size.
func latencyTable(rows []measuredRow, caches []result.Cache) table.Table {
	all, sizes := latencySeries(rows)
	t := table.Of(sizes).
		With("buffer", func(bytes uint64) table.Value { return table.Number{X: float64(bytes), Unit: column.Bytes} }).
		With("fits in", func(bytes uint64) table.Value { return fits(bytes, caches) })
	for _, s := range all {
		t.With(s.name, func(bytes uint64) table.Value {
			ns, ok := s.ns[bytes]
			if !ok {
				return nil
			}
			return table.Spread{Median: ns.Median, Least: ns.Min, Most: ns.Max, Unit: column.Nanoseconds}
		})
	}
	return t.Table("latency", "An access by the size of the buffer")
}

// fits returns the smallest cache that can hold this many bytes; nil: no caches are known.
func fits(bytes uint64, caches []result.Cache) table.Value {
	for _, cache := range caches {
		if bytes <= cache.Bytes {
			return table.Text(fmt.Sprintf("L%d (%s)", cache.Level, units.Bytes(cache.Bytes)))
		}
	}
	if len(caches) == 0 {
		return nil
	}
	return table.Text("no cache")
}
