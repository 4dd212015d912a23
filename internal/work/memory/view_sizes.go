package memory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/result"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
)

// series are the rows of --latency that differ only in the size of the memory.
type series struct {
	name string
	ns   map[uint64]table.Spread // of an access, by the size in bytes
}

// latencySeries returns the series of a run, and the sizes in them; none if the run has no such rows.
func latencySeries(run *result.Run) (all []series, sizes []uint64) {
	rows := slices.DeleteFunc(rowsOf(run), func(r row) bool { return r.Size == nil || r.latency.Median <= 0 })
	nodes := slices.ContainsFunc(rows, func(r row) bool { return r.Mem != rows[0].Mem })
	for _, r := range rows {
		name := r.Access
		if nodes {
			name += ", " + r.Mem
		}
		at := slices.IndexFunc(all, func(s series) bool { return s.name == name })
		if at < 0 {
			at, all = len(all), append(all, series{name, map[uint64]table.Spread{}})
		}
		all[at].ns[*r.Size] = r.latency
		sizes = append(sizes, *r.Size)
	}
	slices.Sort(sizes)
	return all, slices.Compact(sizes)
}

// bySize returns the time of an access in the smallest and in the largest memory.
func bySize(run *result.Run, all []series, sizes []uint64) []view.Statement {
	smallest, largest := sizes[0], sizes[len(sizes)-1]
	var parts []string
	for _, s := range all {
		part := fmt.Sprintf("%s in %s", accessTime(s.ns[smallest]), units.Bytes(smallest))
		if most, has := s.ns[largest]; has && largest > smallest {
			part += fmt.Sprintf(" and %s in %s", accessTime(most), units.Bytes(largest))
		}
		if len(all) > 1 {
			part += " (" + s.name + ")"
		}
		if _, has := s.ns[smallest]; has {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	statements := []view.Statement{{Text: "An access takes " + strings.Join(parts, "; ") + "."}}
	if doubtful := view.Doubtful(run.Samples); doubtful != "" {
		statements = append(statements, view.Statement{Text: doubtful})
	}
	return statements
}

// accessTime is the median time of an access, and the range of its samples.
func accessTime(ns table.Spread) string {
	text := units.Seconds(ns.Median / 1e9)
	if least, most := units.Seconds(ns.Least/1e9), units.Seconds(ns.Most/1e9); least != most {
		text += fmt.Sprintf(" (%s to %s)", least, most)
	}
	return text
}

// sizesTable has the time of an access by the size of the memory.
func sizesTable(all []series, sizes []uint64, caches []result.Cache) table.Table {
	t := table.Of(sizes).
		With("size", func(bytes uint64) table.Value { return table.Number{X: float64(bytes), Unit: column.Bytes} }).
		With("fits in", func(bytes uint64) table.Value { return fits(bytes, caches) })
	for _, s := range all {
		t.With(s.name, func(bytes uint64) table.Value {
			if ns, ok := s.ns[bytes]; ok {
				return ns
			}
			return nil
		})
	}
	return t.Table("latency", "An access by the size of the memory")
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

// drawSizes draws the time of an access over the size of the memory, with the CPU's caches. It returns false if the run has one size.
func drawSizes(run *result.Run) (chart.Drawing, bool) {
	run = term.Clean(run)
	all, sizes := latencySeries(run)
	if len(sizes) < 2 {
		return chart.Drawing{}, false
	}
	d := chart.Drawing{Title: "Memory access by the size of the memory"}
	p := chart.Panel{Title: "ns an access", Unit: "ns"}
	var about []string
	for _, s := range all {
		c := chart.Curve{Name: s.name}
		for _, bytes := range sizes {
			if ns, ok := s.ns[bytes]; ok && chart.Drawable(ns.Least, ns.Median, ns.Most) {
				c.Points = append(c.Points, chart.Point{X: float64(bytes), Y: ns.Median, Least: ns.Least, Most: ns.Most})
			}
		}
		if len(c.Points) == 0 {
			continue
		}
		first, last := c.Points[0], c.Points[len(c.Points)-1]
		about = append(about, fmt.Sprintf("%s: %s ns in %s, %s ns in %s.", s.name, units.Digits(first.Y), units.Bytes(uint64(first.X)),
			units.Digits(last.Y), units.Bytes(uint64(last.X))))
		p.Curves = append(p.Curves, c)
	}
	if len(p.Curves) == 0 {
		return chart.Drawing{}, false
	}
	var guides []chart.Guide
	for _, cache := range run.Caches {
		name := "L" + strconv.Itoa(cache.Level)
		guides = append(guides, chart.Guide{X: float64(cache.Bytes), Name: name, About: name + ": " + units.Bytes(cache.Bytes)})
		about = append(about, name+" holds "+units.Bytes(cache.Bytes)+".")
	}
	d.Description = strings.Join(about, " ")
	drawn, height := chart.DrawCurves([]chart.Panel{p}, chart.ByBytes, guides)
	d.SVG = chart.Frame(d, chart.CPUModel(run.Host), height, drawn)
	return d, true
}
