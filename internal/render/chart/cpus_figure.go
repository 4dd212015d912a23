package chart

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gorun/internal/column"
	"gorun/internal/render/term"
	"gorun/internal/render/view"
	"gorun/internal/result"
	"gorun/internal/table"
	"gorun/internal/units"
)

// strip shows how busy each CPU was in the samples of a cell.
type strip struct {
	name    string
	samples int
	busy    map[int]float64 // seconds in all samples, by CPU
	wall    float64         // of all samples
}

const (
	maxStrips = 40 // its table has all
	leastLeft = 112
)

const (
	stripStep   = 22
	stripHeight = 18
	stripTold   = 4096  // cells of the figure up to which each tells its share under the pointer
	stripCells  = 16384 // at most; of more CPUs, fewer rows are drawn

	MaxStripCPUs = 4096
)

// CPUStrip is the part of the time that each CPU was at work for the run: a row for each cell of a matrix, or else one
// for the run. CPUs stand in the order of their numbers, since a run does not hold which of them share what. False
// where no sample tells of its CPUs.
func CPUStrip(run *result.Run) (Figure, bool) {
	if !slices.ContainsFunc(run.Samples, func(s result.Sample) bool { return len(s.CPUs) > 0 }) {
		return Figure{}, false
	}
	run = term.Clean(run)
	strips := stripsOf(run)
	cpus := stripCPUs(strips)
	if len(cpus) == 0 || len(cpus) > MaxStripCPUs {
		return Figure{}, false
	}
	f := Figure{
		Title:       "How busy each CPU was",
		Description: "The part of the samples' wall time in which a CPU was at work for the run, by the number of the CPU.",
		Table:       table.Table{Name: "busy", Title: "Part of the time that a CPU was at work"},
	}
	f.Table.Add("CPU")
	if most := max(1, min(maxStrips, stripCells/len(cpus))); len(strips) > most {
		f.Description += fmt.Sprintf(" The last %s are not drawn.", units.Things(len(strips)-most, "cell"))
		strips = strips[:most]
	}
	if len(strips) == 1 {
		f.Description += " " + strips[0].tell(cpus)
	}
	for _, s := range strips {
		f.Table.Add(s.name)
	}
	for _, cpu := range cpus {
		row := table.Row{Values: []table.Value{table.Count(cpu)}}
		for _, s := range strips {
			var shown table.Value
			if share, ok := s.share(cpu); ok {
				shown = table.Number{X: share, Unit: column.Share}
			}
			row.Values = append(row.Values, shown)
		}
		f.Table.Rows = append(f.Table.Rows, row)
	}

	left, width := 0, float64(Inside)
	if len(strips) > 1 {
		left = stripNames(strips, Inside-len(cpus)*MapCell)
		width -= float64(left)
	}
	cell := min(MapCell, width/float64(len(cpus)))
	var b strings.Builder
	fmt.Fprintf(&b, `<g transform="translate(%d 20)">`+"\n", Margin+left)
	b.WriteString(svgCPUNumbers(cpus, cell))
	told := len(strips)*len(cpus) <= stripTold
	for i, s := range strips {
		if len(strips) == 1 {
			b.WriteString("<g>\n")
		} else {
			b.WriteString(rowOf(s.name, 0, i*stripStep, stripStep))
			fmt.Fprintf(&b, `<g><title>%s</title><text x="-8" y="13" text-anchor="end">%s</text></g>`+"\n",
				html.EscapeString(s.tell(cpus)), Text(s.name, float64(left-8), 6))
		}
		b.WriteString(s.draw(cpus, cell, told) + "</g>\n")
	}
	height := len(strips)*stripStep + 10
	var labels []string
	for level := range len(Shades) + 1 {
		labels = append(labels, strconv.Itoa(100*level/len(Shades)))
	}
	b.WriteString(belowRows(0, height) + DrawScale(labels, "%", 44-left, 0) + "</g></g>\n")
	f.SVG = Frame(f, CPUModel(run.Host), 20+height+32, b.String())
	return f, true
}

// stripNames is the width of the names: what the longest needs, if the cells leave so much.
func stripNames(strips []strip, room int) int {
	longest := 0
	for _, s := range strips {
		longest = max(longest, 6*utf8.RuneCountInString(s.name)+14)
	}
	return max(leastLeft, min(longest, room))
}

// stripsOf are those of the cells that have some, in order; or that of all samples, where there are no cells. The
// samples of a matrix's control are left out.
func stripsOf(run *result.Run) []strip {
	of := map[int]*strip{}
	for _, s := range view.Summarised(run.Samples) {
		cell, name := -1, "All samples"
		if s.Slot != nil {
			if c := view.CellOf(run, &s); c == nil || s.Control {
				continue
			} else {
				cell, name = s.Cell, cmp.Or(c.Name, "cell "+strconv.Itoa(s.Cell))
			}
		}
		if len(s.CPUs) == 0 || s.Seconds <= 0 || !Drawable(s.Seconds) {
			continue
		}
		if of[cell] == nil {
			of[cell] = &strip{name: name, busy: map[int]float64{}}
		}
		to := of[cell]
		to.samples++
		to.wall += s.Seconds
		for _, cpu := range s.CPUs {
			if Drawable(cpu.BusySeconds) {
				to.busy[cpu.CPU] += cpu.BusySeconds
			}
		}
	}
	var strips []strip
	for _, cell := range slices.Sorted(maps.Keys(of)) {
		strips = append(strips, *of[cell])
	}
	return strips
}

// stripCPUs are all that a strip tells of, by number.
func stripCPUs(strips []strip) (cpus []int) {
	for _, s := range strips {
		for cpu := range s.busy {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// share is the part of the time that a CPU was busy; false where it is not known.
func (s *strip) share(cpu int) (float64, bool) {
	busy, ok := s.busy[cpu]
	share := busy / s.wall
	return share, ok && Drawable(share)
}

// tell says what the strip shows.
func (s *strip) tell(cpus []int) string {
	least, most, sum, idle := math.Inf(1), math.Inf(-1), 0.0, 0
	leastCPU, mostCPU := 0, 0
	for _, cpu := range cpus {
		share, ok := s.share(cpu)
		if !ok {
			continue
		}
		if share < least {
			least, leastCPU = share, cpu
		}
		if share > most {
			most, mostCPU = share, cpu
		}
		if share == 0 {
			idle++
		}
		sum += share
	}
	if math.IsInf(least, 1) {
		return s.name + ": not known."
	}
	return fmt.Sprintf("%s: %s CPUs busy, mean of %s; most: CPU %d, %s; least: CPU %d, %s; idle: %d.", s.name,
		units.Digits(sum),
		units.Things(s.samples, "sample"), mostCPU, units.Percent(most), leastCPU, units.Percent(least), idle)
}

// draw has a cell a CPU, that tells its share; or where told is not set, neighbours of one shade are one.
func (s *strip) draw(cpus []int, cell float64, told bool) string {
	level := func(i int) int {
		share, ok := s.share(cpus[i])
		if !ok {
			return -1
		}
		return max(0, min(len(Shades)-1, int(share*float64(len(Shades)))))
	}
	var shaded [len(Shades)]strings.Builder
	var figures strings.Builder
	for i := 0; i < len(cpus); {
		from, at := i, level(i)
		for i++; i < len(cpus) && !told && level(i) == at; {
			i++
		}
		if at < 0 {
			continue
		}
		if !told {
			fmt.Fprintf(&shaded[at], "M%d 0h%d", from, i-from)
			continue
		}
		share, _ := s.share(cpus[from])
		fmt.Fprintf(&shaded[at], `<path d="M%d 0h1"><title>CPU %d: %s, %s in %s</title></path>`, from, cpus[from],
			units.Percent(share), units.Seconds(s.busy[cpus[from]]), units.Things(s.samples, "sample"))
		if cell >= 26 {
			fmt.Fprintf(&figures, `<text x="%.4g" y="13" fill="%s">%.0f</text>`, (float64(from)+.5)*cell, Shades[at].Ink,
				100*share)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<g transform="translate(0 %d) scale(%.4g 1)" stroke-width="%d" shape-rendering="crispEdges">`+"\n",
		stripHeight/2, cell, stripHeight)
	for at, shade := range Shades {
		switch {
		case shaded[at].Len() == 0:
		case told:
			fmt.Fprintf(&b, `<g stroke="%s">%s</g>`+"\n", shade.Web, shaded[at].String())
		default:
			fmt.Fprintf(&b, `<path stroke="%s" d="%s"/>`+"\n", shade.Web, shaded[at].String())
		}
	}
	b.WriteString("</g>\n")
	if figures.Len() > 0 {
		fmt.Fprintf(&b, `<g text-anchor="middle" pointer-events="none">%s</g>`+"\n", figures.String())
	}
	return b.String()
}

// svgCPUNumbers writes the numbers of CPUs above their cells, as many as there is room for.
func svgCPUNumbers(cpus []int, cell float64) string {
	letters := max(len(strconv.Itoa(cpus[0])), len(strconv.Itoa(cpus[len(cpus)-1])))
	every := int(math.Ceil(float64(6*letters+6) / cell))
	var b strings.Builder
	b.WriteString(`<g font-size="10" text-anchor="middle">`)
	for i := 0; i < len(cpus); i += every {
		fmt.Fprintf(&b, `<text x="%.4g" y="-5">%d</text>`, (float64(i)+.5)*cell, cpus[i])
	}
	return b.String() + "</g>\n"
}
