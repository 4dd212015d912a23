package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"gorun/internal/base/hint"
	"gorun/internal/base/shell"
	"gorun/internal/base/units"
	"gorun/internal/judge/matrix"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/publish/report"
	"gorun/internal/record/result"
	"gorun/internal/show/view"
	"gorun/internal/stats"
)

// Hosts is what many hosts say about the cells of one matrix; it is the JSON document.
type Hosts struct {
	Schema     string          `json:"schema"`
	Tool       result.Tool     `json:"tool"` // set by the caller
	Experiment string          `json:"experiment"`
	Compared   string          `json:"compared"` // the figure that is judged, in words
	Alpha      float64         `json:"alpha"`    // probability of any false verdict, for each host
	Margin     float64         `json:"margin"`   // a difference up to it is none: 0.02 is 2%
	Hosts      []JudgedHost    `json:"hosts"`    // by name
	Cells      []HostsCell     `json:"cells"`    // those that are compared with another
	Disagree   []Disagreement  `json:"disagreements"`
	Conditions []HostCondition `json:"conditions"` // those that are not the same on all hosts
	Warned     []string        `json:"warnings"`
}

// JudgedHost is a host, and its run.
type JudgedHost struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	Started string `json:"started"`
	Samples int    `json:"samples"`
	Partial bool   `json:"partial"` // more samples were planned

	run        *result.Run
	conditions map[string]string
}

// HostsCell is a cell of the matrix on all hosts that have it.
type HostsCell struct {
	Name      string        `json:"name"`
	Title     string        `json:"title"`   // the name as it is shown
	Against   string        `json:"against"` // the title of the cell that it is compared with
	Faster    int           `json:"faster"`  // the number of hosts with this verdict
	Slower    int           `json:"slower"`
	Same      int           `json:"same"`
	Undecided int           `json:"undecided"`
	Ratios    *HostRatios   `json:"ratios,omitempty"`  // absent: no host has an interval
	Missing   []string      `json:"missing,omitempty"` // the hosts that do not have it
	Verdicts  []HostVerdict `json:"verdicts"`          // by the hosts' names
}

// HostVerdict is one host's verdict on a cell.
type HostVerdict struct {
	Host    string        `json:"host"`
	Verdict stats.Verdict `json:"verdict"`
}

// HostRatios sums up the typical ratios of the hosts whose intervals hold, on both sides. Each is as in a verdict: above 1 is slower.
type HostRatios struct {
	Hosts   int     `json:"hosts"`
	Median  float64 `json:"median"`
	Least   float64 `json:"least"`
	LeastOn string  `json:"least_on"` // the host
	Most    float64 `json:"most"`
	MostOn  string  `json:"most_on"`
	// Common is the ratio that the most of the intervals hold, within the margin.
	Common float64 `json:"common"`
	Fits   int     `json:"fits"` // how many hold it
}

// Disagreement is a verdict of a host on a cell that the others contradict.
type Disagreement struct {
	Host     string        `json:"host"`
	Cell     string        `json:"cell"` // its title
	Verdict  stats.Verdict `json:"verdict"`
	Opposite bool          `json:"opposite"` // it is slower where more hosts are faster, or the reverse; else its interval lies apart
	// Differs has the conditions that more than half of the hosts which do not disagree share, and this host does not; those
	// that the fewest of them share with it first.
	Differs []HostDifference `json:"differs"`
}

// HostDifference is a condition of a host that is not the usual one.
type HostDifference struct {
	What  string `json:"what"`
	Here  string `json:"here"`
	Usual string `json:"usual"`
	On    int    `json:"on"`    // the number of other hosts that have the usual value
	Too   int    `json:"too"`   // the number of other hosts that have this one's
	Among int    `json:"among"` // the number of other hosts
}

// HostCondition is a condition that is not the same on all hosts.
type HostCondition struct {
	What   string      `json:"what"`
	Values []HostValue `json:"values"` // that of the most hosts first
}

// HostValue is a value of a condition, and the hosts that have it.
type HostValue struct {
	Value string   `json:"value"`
	Hosts []string `json:"hosts"`
}

// JudgeHosts counts what the hosts say about each cell. It returns an error for runs that are not of one matrix. Of a host with
// several runs the last counts: two would be one witness, heard twice.
func JudgeHosts(runs []report.Input) (*Hosts, error) {
	h := &Hosts{Schema: result.Schema, Disagree: []Disagreement{}, Conditions: []HostCondition{}, Warned: []string{}}
	for _, in := range runs {
		if err := judged(in); err != nil {
			return nil, err
		}
	}
	h.Hosts = h.latest(runs)
	if len(h.Hosts) == 0 {
		return nil, errors.New("there is no run to judge")
	}
	seen := boots{}
	for _, host := range h.Hosts {
		if cpus, err := cpuset.Parse(host.run.Host.Allowed); err == nil {
			seen.add(host.Name, host.run.Host.BootID, cpus)
		}
	}
	h.Warned = append(h.Warned, seen.warnings()...)
	// The run with the most cells says how the others must be.
	first := slices.MaxFunc(h.Hosts, func(a, b JudgedHost) int { return cmp.Compare(len(a.run.Cells), len(b.run.Cells)) })
	m := first.run.Matrix
	h.Experiment, h.Alpha, h.Margin = first.run.Experiment, m.Alpha, m.Margin
	h.Compared = comparedWords(first.run)
	if err := h.match(first); err != nil {
		return nil, err
	}
	for i := range h.Cells {
		h.Cells[i].sum()
		h.disagree(&h.Cells[i])
	}
	slices.SortStableFunc(h.Disagree, func(a, b Disagreement) int { return cmp.Compare(a.Host, b.Host) })
	for _, name := range hostsConditions() {
		if values := valuesOf(name, h.Hosts); len(values) > 1 {
			h.Conditions = append(h.Conditions, HostCondition{name, values})
		}
	}
	return h, nil
}

// judged returns an error unless a run has verdicts.
func judged(in report.Input) error {
	const measure = "measure with gorun matrix --out, or gorun exec --placements --out"
	switch m := in.Run.Matrix; {
	case m == nil:
		return hint.With(fmt.Errorf("%s is not a matrix: its cells are not compared", in.File), measure)
	case m.Order.Design == result.Rows:
		return hint.With(fmt.Errorf("%s has all samples of a row after each other: its cells are not compared", in.File), measure)
	}
	return nil
}

// latest returns the last run of each host, by the hosts' names.
func (h *Hosts) latest(runs []report.Input) (hosts []JudgedHost) {
	name := func(in report.Input) string { return cmp.Or(in.Run.Host.Hostname, in.File) }
	runs = slices.SortedStableFunc(slices.Values(runs), func(a, b report.Input) int {
		return cmp.Or(cmp.Compare(name(a), name(b)), cmp.Compare(a.Run.Started, b.Run.Started))
	})
	var earlier, open, also []string
	for i, in := range runs {
		also = append(also, in.Also...)
		if i+1 < len(runs) && name(runs[i+1]) == name(in) {
			earlier = append(earlier, in.File)
			continue
		}
		host := JudgedHost{
			Name: name(in), File: in.File, Started: in.Run.Started, Samples: in.Run.Samples.Len(),
			Partial: in.Run.Partial || !in.Ended, run: in.Run, conditions: result.ConditionsOf(in.Run),
		}
		host.conditions[warmup] = in.Run.Matrix.WarmupWords()
		if host.Partial {
			open = append(open, host.Name)
		}
		hosts = append(hosts, host)
	}
	if len(earlier) > 0 {
		h.Warned = append(h.Warned, fmt.Sprintf("%s not counted, since a later run has the same hostname: %s",
			amount(len(earlier), "run is", "runs are"), view.Names(earlier)))
	}
	if len(also) > 0 {
		h.Warned = append(h.Warned, fmt.Sprintf("%s the run of another file, which counts once: %s", amount(len(also), "file holds", "files hold"),
			view.Names(also)))
	}
	if len(open) > 0 {
		h.Warned = append(h.Warned, fmt.Sprintf("%s not complete, and %s for what was measured so far: %s",
			amount(len(open), "run is", "runs are"), map[bool]string{true: "counts", false: "count"}[len(open) == 1], view.Names(open)))
	}
	return hosts
}

// amount is a number with the words that it needs.
func amount(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// warmup is a condition of runs that result.ConditionsOf does not have, since it is asked for.
const warmup = "warmup"

// hostsConditions lists the conditions that can explain a difference between hosts. Others are never the same on two of them.
func hostsConditions() []string {
	return append(slices.DeleteFunc(result.Conditions(), func(name string) bool { return name == "host" || name == "boot" }), warmup)
}

func comparedWords(run *result.Run) string {
	switch run.Matrix.Compared {
	case "":
		return "wall time"
	case result.MetricColumn:
		return run.MetricName()
	}
	return run.Matrix.Compared
}

// trait is something that all runs of one matrix have in common.
type trait struct{ what, value string }

// traits returns those of a run, in one order. In the flags no cells differ, and base is the key of the baseline.
func traits(run *result.Run, flags []string, base string) []trait {
	m, command := run.Matrix, ""
	if words := run.Cells[m.Baseline].Command; slices.Contains(words, "--") { // what follows is the user's own
		command = shell.Join(words[slices.Index(words, "--")+1:])
	}
	list := []trait{
		{"the experiment", run.Experiment},
		{"the compared figure", comparedWords(run)},
		{"the better direction", m.Better},
		{"the margin", units.Share(m.Margin)},
		{"the error rate", units.Share(m.Alpha)},
		{"the command", command},
	}
	for _, flag := range flags {
		list = append(list, trait{"--" + flag, run.Cells[0].Flags[flag]})
	}
	return append(list, trait{"the baseline", base})
}

// misfit returns the error for two runs that are not of one matrix.
func misfit(a, b JudgedHost, of trait, in string) error {
	return hint.With(fmt.Errorf("%s and %s are not of one matrix: %s is %s in the first, and %s in the second", a.File, b.File,
		of.what, cmp.Or(of.value, "none"), cmp.Or(in, "none")), "give runs of one command line on several hosts")
}

// match finds the cells that are the same on several hosts, in the order of the first run, and has the verdicts of each.
func (h *Hosts) match(first JudgedHost) error {
	u := newUnion(h.Hosts)
	if _, err := u.add(first, first); err != nil {
		return err
	}
	verdicts := map[int][]HostVerdict{}
	for _, host := range h.Hosts {
		numbers, err := u.add(first, host)
		if err != nil {
			return err
		}
		for i, n := range numbers {
			v := stats.Verdict{Kind: stats.CantTell, Reason: "this gorun cannot judge it"}
			if judged := host.run.Cells[i].Verdict; judged != nil {
				v = *judged
			}
			verdicts[n] = append(verdicts[n], HostVerdict{host.Name, v})
		}
	}
	titles := view.CellNames(&result.Run{Cells: u.cells})
	for n, cell := range u.cells {
		if u.against[n] == n {
			continue
		}
		of := HostsCell{Name: cell.Name, Title: titles[n], Against: titles[u.against[n]], Verdicts: verdicts[n]}
		for _, host := range h.Hosts { // both are by name
			if left := verdicts[n]; len(left) > 0 && left[0].Host == host.Name {
				verdicts[n] = left[1:]
				continue
			}
			of.Missing = append(of.Missing, host.Name)
		}
		h.Cells = append(h.Cells, of)
	}
	if len(h.Cells) == 0 {
		return fmt.Errorf("%s compares no cells: it has only the baseline", first.File)
	}
	return nil
}

// union has the cells of all hosts. Cells with the same key are the same.
type union struct {
	varying, fixed []string // flags in which cells differ, or do not
	elsewhere      bool     // the topologies of the hosts differ: CPUs by number mean nothing
	wanted         []trait
	at             map[string]int // by key, the number of a cell
	cells          []result.Cell  // each as the first host that has it has it
	against        []int          // the number of the cell with which it is compared
}

func newUnion(hosts []JudgedHost) *union {
	u := &union{at: map[string]int{}}
	var all [][]result.Cell
	for _, host := range hosts {
		all = append(all, host.run.Cells)
		u.elsewhere = u.elsewhere || host.run.Host.Topology != hosts[0].run.Host.Topology
		u.fixed = slices.AppendSeq(u.fixed, maps.Keys(host.run.Cells[0].Flags))
	}
	u.varying = matrix.Varying(all...)
	slices.Sort(u.fixed)
	u.fixed = slices.DeleteFunc(slices.Compact(u.fixed), func(flag string) bool { return slices.Contains(u.varying, flag) })
	return u
}

// add adds the cells of a host and returns their numbers, or an error if they do not fit those of the first host.
func (u *union) add(first, host JudgedHost) ([]int, error) {
	run, known := host.run, len(u.cells)
	numbers, keys, seen := make([]int, len(run.Cells)), make([]string, len(run.Cells)), map[string]int{}
	for i, cell := range run.Cells {
		key, relation := matrix.Key(cell, u.varying, u.elsewhere)
		if seen[key]++; seen[key] > 1 { // equal commands of ab; pairs of CPUs with the same relation
			key += fmt.Sprintf(" #%d", seen[key])
		}
		n, found := u.at[key]
		if !found {
			n = len(u.cells)
			if u.at[key] = n; relation != "" && relation != cell.Name {
				cell.Name += " (" + relation + ")"
			}
			u.cells, u.against = append(u.cells, cell), append(u.against, -1)
		}
		numbers[i], keys[i] = n, key
	}
	has := traits(run, u.fixed, keys[run.Matrix.Baseline])
	if u.wanted == nil {
		u.wanted = has
	}
	for i, of := range u.wanted {
		if of != has[i] {
			return nil, misfit(first, host, of, has[i].value)
		}
	}
	compared, shared := 0, 0
	for i, n := range numbers {
		with := numbers[run.Against(i)]
		if u.against[n] < 0 {
			u.against[n] = with
		}
		if wanted := u.against[n]; with != wanted {
			return nil, misfit(first, host, trait{"the baseline of " + u.cells[n].Name, u.cells[wanted].Name}, u.cells[with].Name)
		}
		if n != with {
			compared++
			if n < known {
				shared++
			}
		}
	}
	if compared > 0 && shared == 0 && known > 0 {
		return nil, fmt.Errorf("%s and %s are not of one matrix: they have no cell in common, except the baseline", first.File, host.File)
	}
	return numbers, nil
}

// sum counts the verdicts on a cell, and finds the spread of its ratios.
func (c *HostsCell) sum() {
	var ratios []float64
	var r HostRatios
	for _, v := range c.Verdicts {
		switch v.Verdict.Kind {
		case stats.Faster:
			c.Faster++
		case stats.Slower:
			c.Slower++
		case stats.Same:
			c.Same++
		default:
			c.Undecided++
		}
		if !holds(v.Verdict) {
			continue
		}
		ratio := v.Verdict.Typical.Ratio
		if ratios = append(ratios, ratio); len(ratios) == 1 || ratio < r.Least {
			r.Least, r.LeastOn = ratio, v.Host
		}
		if len(ratios) == 1 || ratio > r.Most {
			r.Most, r.MostOn = ratio, v.Host
		}
	}
	if len(ratios) == 0 {
		return
	}
	r.Hosts, r.Median = len(ratios), stats.Median(ratios)
	c.Ratios = &r
	// The most intervals meet where one of them begins, up to where the first of them ends. Of several such places, that nearest to the
	// median is taken.
	far := func(ratio float64) float64 { return math.Abs(math.Log(ratio / r.Median)) }
	for _, v := range c.Verdicts {
		if !holds(v.Verdict) {
			continue
		}
		begin, end := within(v.Verdict)
		fits := 0
		for _, other := range c.Verdicts {
			if holds(other.Verdict) && fit(other.Verdict, begin) {
				_, ends := within(other.Verdict)
				fits, end = fits+1, min(end, ends)
			}
		}
		ratio := min(max(r.Median, begin), end)
		if fits > r.Fits || fits == r.Fits && far(ratio) < far(r.Common) {
			r.Common, r.Fits = ratio, fits
		}
	}
}

// holds reports whether a verdict has an interval that covers the true ratio and is bounded.
func holds(v stats.Verdict) bool { return v.Certain() && v.Typical.Bounded() }

// within returns the interval of a verdict, extended by the margin.
func within(v stats.Verdict) (lo, hi float64) {
	return v.Typical.Lo * (1 - v.Margin), v.Typical.Hi * (1 + v.Margin)
}

// fit reports whether a ratio is in the interval of a verdict, within the margin.
func fit(v stats.Verdict, ratio float64) bool {
	lo, hi := within(v)
	return lo <= ratio && ratio <= hi
}

// alike reports whether one ratio fits more than half of the hosts.
func (c *HostsCell) alike() bool { return c.Ratios != nil && 2*c.Ratios.Fits > c.Ratios.Hosts }

// disagree finds the hosts that contradict the others on a cell. If all have one ratio, the intervals of no more hosts lie apart than
// miss it, since all others hold it.
func (h *Hosts) disagree(c *HostsCell) {
	usual := stats.Faster
	if c.Slower > c.Faster {
		usual = stats.Slower
	}
	var found []Disagreement
	var others []JudgedHost
	for _, v := range c.Verdicts {
		kind := v.Verdict.Kind
		d := Disagreement{Host: v.Host, Cell: c.Title, Verdict: v.Verdict}
		d.Opposite = kind != usual && (kind == stats.Faster || kind == stats.Slower) && c.Faster > 0 && c.Slower > 0
		switch {
		case d.Opposite || holds(v.Verdict) && c.alike() && !fit(v.Verdict, c.Ratios.Common):
			found = append(found, d)
		case holds(v.Verdict):
			others = append(others, h.host(v.Host))
		}
	}
	for i := range found {
		found[i].Differs = differs(h.host(found[i].Host), others)
	}
	h.Disagree = append(h.Disagree, found...)
}

func (h *Hosts) host(name string) JudgedHost {
	i, _ := slices.BinarySearchFunc(h.Hosts, name, func(host JudgedHost, name string) int { return cmp.Compare(host.Name, name) })
	return h.Hosts[i]
}

// differs returns the conditions of a host that are not those of more than half of the others.
func differs(host JudgedHost, others []JudgedHost) []HostDifference {
	found := []HostDifference{}
	for _, name := range hostsConditions() {
		here, values := host.conditions[name], valuesOf(name, others)
		if here == "" || len(values) == 0 || values[0].Value == here || 2*len(values[0].Hosts) <= len(others) {
			continue
		}
		d := HostDifference{What: name, Here: here, Usual: values[0].Value, On: len(values[0].Hosts), Among: len(others)}
		for _, value := range values {
			if value.Value == here {
				d.Too = len(value.Hosts)
			}
		}
		found = append(found, d)
	}
	slices.SortStableFunc(found, func(a, b HostDifference) int { return cmp.Compare(a.Too, b.Too) })
	return found
}

// valuesOf returns the known values of a condition, that of the most hosts first.
func valuesOf(name string, hosts []JudgedHost) (values []HostValue) {
	at := map[string]int{}
	for _, host := range hosts {
		value := host.conditions[name]
		if value == "" {
			continue
		}
		if _, found := at[value]; !found {
			at[value], values = len(values), append(values, HostValue{Value: value})
		}
		of := &values[at[value]]
		of.Hosts = append(of.Hosts, host.Name)
	}
	slices.SortStableFunc(values, func(a, b HostValue) int { return cmp.Compare(len(b.Hosts), len(a.Hosts)) })
	return values
}
