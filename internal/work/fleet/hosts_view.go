package fleet

import (
	"fmt"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/record/column"
	"gorun/internal/record/table"
	"gorun/internal/show/chart"
	"gorun/internal/show/term"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// Question implements document.Drawn.
func (h *Hosts) Question() string { return "On which hosts does a placement help?" }

// Page implements document.Document. The warnings name the runs that do not count, or not in full.
func (h *Hosts) Page(bool) view.Page {
	return view.Page{Answer: h.answer(), Tables: h.tables(), Warnings: view.Warnings(h.Warned)}
}

// Brief implements document.Summarised.
func (h *Hosts) Brief() view.Page { return h.Page(false) }

// Spreadsheet implements document.Listed.
func (h *Hosts) Spreadsheet() table.Table { return h.cellsTable() }

// Drawings implements document.Drawn: there are none.
func (h *Hosts) Drawings() []chart.Drawing { return nil }

// answer says on how many hosts the cells are faster or slower, and which hosts disagree. The first line is the answer.
func (h *Hosts) answer() []view.Statement {
	if len(h.Hosts) == 1 {
		return h.alone()
	}
	if len(h.Cells) == 1 {
		c := h.Cells[0]
		return append([]view.Statement{{Text: fmt.Sprintf("%s against %s: %s", c.Title, c.Against, c.words(h.Margin))}}, h.contradictions()...)
	}
	var statements []view.Statement
	for _, group := range [...]struct {
		faster, slower bool
		text           string
	}{
		{true, false, "Faster than %s, and slower on no host:"},
		{true, true, "Faster than %s on some hosts, slower on others:"},
		{false, true, "Slower than %s, and faster on no host:"},
		{false, false, "Neither faster nor slower than %s on any host:"},
	} {
		s := view.Statement{Text: fmt.Sprintf(group.text, h.against())}
		for _, c := range h.Cells {
			if (c.Faster > 0) == group.faster && (c.Slower > 0) == group.slower {
				s.Rows = append(s.Rows, []string{c.Title, c.words(h.Margin)})
			}
		}
		if len(s.Rows) > 0 {
			statements = append(statements, s)
		}
	}
	return append(statements, h.contradictions()...)
}

// alone says what the only host says.
func (h *Hosts) alone() []view.Statement {
	var claims []view.Claim
	for _, c := range h.Cells {
		claims = append(claims, view.Claim{Name: c.Title, Verdict: c.Verdicts[0].Verdict})
	}
	return append(view.Judgements(claims, h.against()), view.Statement{
		Text: fmt.Sprintf("There is only one host, %s: others are not known", h.Hosts[0].Name),
	})
}

// against names what the cells are compared with.
func (h *Hosts) against() string {
	for _, c := range h.Cells {
		if c.Against != h.Cells[0].Against {
			return "the same row of the baseline"
		}
	}
	return h.Cells[0].Against
}

// words say on how many hosts the cell is faster or slower, and by how much.
func (c *HostsCell) words(margin float64) string {
	var parts []string
	add := func(what string, n int) {
		number := fmt.Sprint(n)
		switch of := len(c.Verdicts); {
		case n == 0:
			number = "none"
		case n == of:
			number = all(of, "host")
		case len(parts) == 0:
			number += " of " + units.Things(of, "host")
		}
		parts = append(parts, what+" on "+number)
	}
	if c.Faster >= c.Slower && c.Faster > 0 {
		add("faster", c.Faster)
	}
	if c.Slower > 0 || c.Faster > 0 && c.Faster < len(c.Verdicts) {
		add("slower", c.Slower)
	}
	if c.Faster < c.Slower && c.Slower < len(c.Verdicts) {
		add("faster", c.Faster)
	}
	if c.Same > 0 {
		add("no difference larger than "+units.Share(margin), c.Same)
	}
	if c.Undecided > 0 {
		add("undecided", c.Undecided)
	}
	text := strings.Join(parts, ", ")
	r := c.Ratios
	if r == nil || c.Faster+c.Slower == 0 {
		return text
	}
	least, most := c.change(r.Least)+" ("+r.LeastOn+")", c.change(r.Most)+" ("+r.MostOn+")"
	if c.shown().Rate {
		least, most = most, least
	}
	switch text += ": " + c.change(r.Median); {
	case r.Hosts == 1:
		return text + " (" + r.LeastOn + ")"
	case c.change(r.Least) == c.change(r.Most):
		return text
	}
	return text + " in the median, from " + least + " to " + most
}

// all is the whole of a number of things.
func all(n int, thing string) string {
	switch n {
	case 1:
		return "the only " + thing
	case 2:
		return "both " + units.Plural(thing)
	}
	return "all " + units.Things(n, thing)
}

// shown returns the verdict that says how the ratios of a cell are shown.
func (c *HostsCell) shown() stats.Verdict {
	for _, v := range c.Verdicts {
		if holds(v.Verdict) {
			return v.Verdict
		}
	}
	return stats.Verdict{}
}

// change returns a ratio in words.
func (c *HostsCell) change(ratio float64) string {
	v := c.shown()
	v.Typical = stats.Effect{Ratio: ratio, Lo: ratio, Hi: ratio}
	return v.Ratio()
}

// Limits of what the answer quotes. The tables have all.
const (
	mostHosts       = 8
	mostCells       = 2
	mostDifferences = 3
	mostOfValue     = 40 // columns
)

// contradictions say where the hosts have no common ratio, and which hosts disagree with the others.
func (h *Hosts) contradictions() (statements []view.Statement) {
	for _, c := range h.Cells {
		if r := c.Ratios; r != nil && r.Hosts > 1 && !c.alike() {
			statements = append(statements, view.Statement{Text: fmt.Sprintf(
				"The hosts do not agree on %s: within %s, one ratio fits no more than %d of %d", c.Title, units.Share(h.Margin), r.Fits, r.Hosts)})
		}
	}
	var rows, others [][]string    // the opposite verdict says more than an interval that lies apart
	for i, d := range h.Disagree { // by host
		if i > 0 && d.Host == h.Disagree[i-1].Host {
			continue
		}
		var found []string
		opposite := false
		for _, other := range h.Disagree[i:] {
			if other.Host == d.Host {
				opposite = opposite || other.Opposite
				found = append(found, other.Cell+" is "+other.Verdict.Brief())
			}
		}
		if more := len(found) - mostCells; more > 0 {
			found = append(found[:mostCells], "and "+units.Things(more, "other cell"))
		}
		row := []string{d.Host, strings.Join(found, ", ") + "; " + d.different(mostDifferences)}
		if opposite {
			rows = append(rows, row)
		} else {
			others = append(others, row)
		}
	}
	rows = append(rows, others...)
	switch n := len(rows); {
	case n == 0:
		return statements
	case n == 1:
		return append(statements, view.Statement{Text: "Host " + rows[0][0] + " disagrees: " + rows[0][1]})
	case n > mostHosts:
		return append(statements, view.Statement{Text: fmt.Sprintf("%d hosts disagree with the others, such as:", n), Rows: rows[:mostHosts]})
	}
	return append(statements, view.Statement{Text: "Hosts that disagree with the others:", Rows: rows})
}

// different says what is different about the host; limit bounds the number of conditions.
func (d *Disagreement) different(limit int) string {
	var words []string
	for i, of := range d.Differs {
		if i == limit {
			words = append(words, fmt.Sprintf("and %d more", len(d.Differs)-limit))
			break
		}
		values := term.Apart([]string{of.Here, of.Usual}, mostOfValue)
		on := all(of.Among, "other")
		if of.On < of.Among {
			on = fmt.Sprintf("%d of %s", of.On, units.Things(of.Among, "other"))
		}
		text := fmt.Sprintf("%s %s (%s on %s", of.What, values[0], values[1], on)
		if of.Too > 0 {
			text += fmt.Sprintf(", the same on %d", of.Too)
		}
		words = append(words, text+")")
	}
	if len(words) == 0 {
		return "no recorded condition sets it apart"
	}
	return strings.Join(words, ", ")
}

// tables have the verdicts on each cell by number of hosts, the hosts that disagree, the spread of the ratios, and the conditions that
// are not the same on all hosts.
func (h *Hosts) tables() []table.Table {
	if len(h.Hosts) == 1 {
		return []table.Table{h.cellsTable()}
	}
	return []table.Table{h.cellsTable(), h.disagreeTable(), h.spreadTable(), h.conditionsTable()}
}

// labelled names the rows of a table by its first column.
func labelled(t table.Table) table.Table {
	if len(t.Columns) > 0 {
		t.Columns[0].Label = true
	}
	for i := range t.Rows {
		t.Rows[i].Name = table.Show(t.Rows[i].Values[0])
	}
	return t
}

// counted returns a column's values: numbers of hosts.
func counted(of func(HostsCell) int) func(HostsCell) table.Value {
	return func(c HostsCell) table.Value { return table.Count(of(c)) }
}

func cellTitle(c HostsCell) table.Value { return table.Text(c.Title) }

func (h *Hosts) cellsTable() table.Table {
	certain := fmt.Sprintf("With %s certainty, all verdicts of a host are true", units.Share(1-h.Alpha))
	if n := len(h.Hosts); n > 1 {
		certain += fmt.Sprintf(": of %d hosts, expect that up to %.3g have a false one", n, h.Alpha*float64(n))
	}
	return labelled(table.Of(h.Cells).
		With("cell", cellTitle).
		With("hosts", counted(func(c HostsCell) int { return len(c.Verdicts) })).
		With("faster", counted(func(c HostsCell) int { return c.Faster })).
		With("slower", counted(func(c HostsCell) int { return c.Slower })).
		With("no difference", counted(func(c HostsCell) int { return c.Same })).
		With("undecided", counted(func(c HostsCell) int { return c.Undecided })).
		With("notes", func(c HostsCell) table.Value {
			var words []string
			for _, kind := range [...]stats.Kind{stats.Mixed, stats.Confounded, stats.Invalid} {
				var on []string
				for _, v := range c.Verdicts {
					if v.Verdict.Kind == kind {
						on = append(on, v.Host)
					}
				}
				if len(on) > 0 {
					words = append(words, fmt.Sprintf("%s on %s", kind, view.Names(on)))
				}
			}
			if len(c.Missing) > 0 {
				words = append(words, "not measured on "+view.Names(c.Missing))
			}
			if len(words) == 0 {
				return nil
			}
			return table.Phrases{{Text: strings.Join(words, "; ")}}
		}).
		Table("cells", fmt.Sprintf("On how many hosts each cell is faster or slower than %s, by %s", h.against(), h.Compared),
			certain+".", "No difference: none larger than "+units.Share(h.Margin)+"."))
}

func (h *Hosts) disagreeTable() table.Table {
	return labelled(table.Of(h.Disagree).
		With("host", func(d Disagreement) table.Value { return table.Text(d.Host) }).
		With("cell", func(d Disagreement) table.Value { return table.Text(d.Cell) }).
		With("verdict", func(d Disagreement) table.Value { return table.Text(d.Verdict.Brief()) }).
		With("what is different", func(d Disagreement) table.Value {
			return table.Phrases{{Text: d.different(len(d.Differs))}}
		}).
		Table("disagree", "Hosts that disagree with the others", fmt.Sprintf(
			"A verdict is here if it is the opposite of what more hosts found, or if more than half of the hosts have a ratio in common, within %s, that "+
				"is not in its interval.", units.Share(h.Margin)), "A host may be here because its own verdict is false, and what is different about it need not be the cause."))
}

func (h *Hosts) spreadTable() table.Table {
	ratio := func(of func(HostsCell, HostRatios) table.Value) func(HostsCell) table.Value {
		return func(c HostsCell) table.Value {
			if c.Ratios == nil {
				return nil
			}
			r := *c.Ratios
			if c.shown().Rate {
				r.Median, r.Least, r.Most, r.LeastOn, r.MostOn = 1/r.Median, 1/r.Most, 1/r.Least, r.MostOn, r.LeastOn
			}
			return of(c, r)
		}
	}
	return labelled(table.Of(h.Cells).
		With("cell", cellTitle).
		With("hosts", ratio(func(_ HostsCell, r HostRatios) table.Value { return table.Count(r.Hosts) })).
		With("ratio", ratio(func(_ HostsCell, r HostRatios) table.Value {
			return table.Spread{Median: r.Median, Least: r.Least, Most: r.Most, Unit: column.Ratio}
		})).
		With("least on", ratio(func(_ HostsCell, r HostRatios) table.Value { return table.Text(r.LeastOn) })).
		With("most on", ratio(func(_ HostsCell, r HostRatios) table.Value { return table.Text(r.MostOn) })).
		With("in common", ratio(func(_ HostsCell, r HostRatios) table.Value { return table.Count(r.Fits) })).
		Table("spread", "How far the hosts differ: ratio to "+h.against(), "Hosts with an interval that is bounded on both sides; the median over "+
			"them, and the range. In common: how many intervals hold one ratio, within "+units.Share(h.Margin)+"."))
}

func (h *Hosts) conditionsTable() table.Table {
	return labelled(table.Of(h.Conditions).
		With("condition", func(c HostCondition) table.Value { return table.Text(c.What) }).
		With("values", func(c HostCondition) table.Value { return table.Phrases{{Text: c.words()}} }).
		Table("conditions", "Not the same on all hosts"))
}

// words say which hosts have which value.
func (c *HostCondition) words() string {
	const most = 6
	if len(c.Values) > most && len(c.Values[0].Hosts) == 1 {
		return fmt.Sprintf("%d values, each on one host", len(c.Values))
	}
	var texts, words []string
	for _, v := range c.Values {
		texts = append(texts, v.Value)
	}
	for i, text := range term.Apart(texts, mostOfValue) {
		if i == most {
			return strings.Join(words, "; ") + fmt.Sprintf("; and %d more values", len(texts)-most)
		}
		on := fmt.Sprintf("%d hosts", len(c.Values[i].Hosts))
		if len(c.Values[i].Hosts) <= 3 {
			on = view.Names(c.Values[i].Hosts)
		}
		words = append(words, text+" on "+on)
	}
	return strings.Join(words, "; ")
}
