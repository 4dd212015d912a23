package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gorun/internal/hint"
	"gorun/internal/result"
	"gorun/internal/stats"
)

// Options are what a judgement of visits is asked for.
type Options struct {
	Margin  float64       // a node is slow if it is slower than its class by more than it: 0.02 is 2%
	FDR     float64       // the expected share of false names among those that are named: at most this
	Slot    time.Duration // nodes that are visited in the same slot of time are each other's peers
	Since   time.Time     // earlier visits do not count; the zero time: all do
	Now     time.Time     // slots that have not ended are not judged
	Expect  []string      // nodes that should have reported
	Settled *Settled      // nil: no judgement was made before
}

// Judgement is what the visits of a fleet show. It is the JSON document.
type Judgement struct {
	Schema     string        `json:"schema"`
	Tool       result.Tool   `json:"tool"`
	Margin     float64       `json:"margin"`
	FDR        float64       `json:"fdr"`
	Slot       float64       `json:"slot_seconds"`
	Hypotheses int           `json:"hypotheses"` // nodes × measures, over all classes
	Needed     float64       `json:"e_needed"`   // by a single name
	Slow       []Slow        `json:"slow"`
	Wrong      []Wrong       `json:"wrong"`
	Visits     Visits        `json:"visits"`
	States     map[State]int `json:"states"` // nodes in each
	Clocks     []Clock       `json:"clocks"`
	Settings   []Setting     `json:"settings"`
	Classes    []Class       `json:"classes"`
	Nodes      []Node        `json:"nodes"`
	Warnings   []string      `json:"warnings"`

	Settled *Settled `json:"-"` // for the next judgement
}

// Slow is a node that is slower than its class in a measure.
type Slow struct {
	Node    string  `json:"node"`
	Measure string  `json:"measure"`
	Class   string  `json:"class"`
	E       float64 `json:"e"`
	Ratio   float64 `json:"ratio"` // of its time to that of its peers, or of their rate to its own: 1.05 is 5% slower
	// Lo and Hi are the interval of the ratio; each end is wrong for at most the share FDR of those that are named, on average.
	Lo     float64  `json:"lo"`
	Hi     *float64 `json:"hi"` // null: nothing bounds it
	Bets   int      `json:"bets"`
	Unit   string   `json:"unit"`
	Figure float64  `json:"figure"` // the median of its visits
	Median float64  `json:"class_median"`
	Part   string   `json:"part,omitempty"` // of the machine, that was the worst most often
}

// Wrong is a wrong result of a computation.
type Wrong struct {
	Node string `json:"node"`
	Time string `json:"time"`
	What string `json:"what"`
	File string `json:"file"`
}

// Visits counts visits.
type Visits struct {
	Read       int `json:"read"`
	Judged     int `json:"judged"`
	Cut        int `json:"cut"`         // killed, or in progress: what they measured counts
	Pending    int `json:"pending"`     // in a slot that has not ended
	Future     int `json:"future"`      // begun later than now
	Overlapped int `json:"overlapped"`  // two on the same CPUs at once, which disturbed each other
	Repeated   int `json:"repeated"`    // a further one of a node in a slot: it has one bet
	Other      int `json:"other_class"` // of hardware, or a gorun, that the node no longer has
	Late       int `json:"late"`        // in a slot that was judged before
	Earlier    int `json:"earlier"`     // than --since
	Disturbed  int `json:"disturbed"`   // measures with a doubt
}

// State is that of a node.
type State string

// The states of a node.
const (
	Judged  State = "judged"
	NoPeers State = "no peers"       // no other node of its class was visited in the same slots
	Waiting State = "not judged yet" // its only visits do not count, or not yet
	Silent  State = "never reported"
)

// States lists them.
var States = [...]State{Judged, NoPeers, Waiting, Silent}

// Clock is a node whose clock differs from that of the file system.
type Clock struct {
	Node    string  `json:"node"`
	Seconds float64 `json:"seconds"` // ahead
}

// Setting is a setting in which some nodes differ from most nodes of the same processor.
type Setting struct {
	Name  string   `json:"name"`
	Value string   `json:"value"`
	Usual string   `json:"usual"`
	Nodes []string `json:"nodes"`
}

// Class is a class of nodes that are alike.
type Class struct {
	Name string `json:"class"`
	Alike
	Nodes    int            `json:"nodes"`
	Measures []ClassMeasure `json:"measures"`
}

// Alike is what the nodes of a class share.
type Alike struct {
	CPUModel  string `json:"cpu_model"`
	Microcode string `json:"microcode"`
	CPUs      int    `json:"cpus"`
	Memory    uint64 `json:"memory_bytes"` // rounded
	Topology  string `json:"topology"`
	Version   string `json:"version"` // of gorun
}

// ClassMeasure is a measure in a class.
type ClassMeasure struct {
	Measure string  `json:"measure"`
	Unit    string  `json:"unit"`
	Better  string  `json:"better"`
	Nodes   int     `json:"nodes"`
	Median  float64 `json:"median"` // over the nodes' medians
}

// Node is a node of the fleet.
type Node struct {
	Name     string        `json:"node"`
	Class    string        `json:"class,omitempty"`
	State    State         `json:"state"`
	Visits   int           `json:"visits"`
	Last     string        `json:"last,omitempty"` // the beginning of its last visit
	Measures []NodeMeasure `json:"measures,omitempty"`
}

// NodeMeasure is a measure of a node.
type NodeMeasure struct {
	Measure string  `json:"measure"`
	Figure  float64 `json:"figure"` // the median of its visits
	Bets    int     `json:"bets"`
	E       float64 `json:"e"`
	Ratio   float64 `json:"ratio"`
}

// class returns what another node must share with a machine to be compared.
func (m *machine) class() Alike {
	return Alike{
		CPUModel: m.host.CPUModel, Microcode: m.host.Microcode, CPUs: m.cpus.Len(), Memory: roundMemory(m.host.MemoryBytes),
		Topology: m.host.Topology, Version: m.tool.Version,
	}
}

// roundMemory rounds to an eighth of the power of two below: what the kernel itself takes differs a little between equal machines.
func roundMemory(bytes uint64) uint64 {
	if bytes == 0 {
		return 0
	}
	step := math.Exp2(math.Floor(math.Log2(float64(bytes))) - 3)
	return uint64(math.Round(float64(bytes)/step) * step)
}

// judge is a judgement in progress.
type judge struct {
	Options
	doc     Judgement
	visits  []visit // those that count, in the order of time
	classes map[Alike]*classJudge
	nodes   map[string]*nodeState
}

// nodeState is what is known of a node.
type nodeState struct {
	class  *classJudge
	last   *machine
	visits int
	lastAt time.Time
	judged bool
}

// classJudge judges a class.
type classJudge struct {
	Class
	nodes    map[string]bool
	measures map[string]*measureJudge
}

// measureJudge judges a measure of a class.
type measureJudge struct {
	of      *measureInfo
	figures map[string][]figure          // by node
	slots   map[int64][]stats.PeerFigure // that are to be settled
	last    map[string]int64             // slot of each node
	peers   *stats.Peers
}

// Judge judges the visits in files.
func Judge(files []string, o Options) *Judgement {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most of what is read is kept
	visits, warnings := readVisits(files)
	j := &judge{Options: o, classes: map[Alike]*classJudge{}, nodes: map[string]*nodeState{}}
	j.doc = Judgement{
		Schema: result.Schema, Margin: o.Margin, FDR: o.FDR, Slot: o.Slot.Seconds(), Slow: []Slow{}, Wrong: []Wrong{}, Clocks: []Clock{},
		Settings: []Setting{}, Classes: []Class{}, Nodes: []Node{}, States: map[State]int{}, Warnings: append([]string{}, warnings...),
	}
	j.choose(visits)
	j.bet()
	j.name()
	j.list()
	j.settle()
	j.doc.Settings = append(j.doc.Settings, j.settings()...)
	j.doc.Clocks = append(j.doc.Clocks, clocks(visits)...)
	return &j.doc
}

// choose keeps the visits that count, and counts the others.
func (j *judge) choose(visits []visit) {
	count := &j.doc.Visits
	overlapped := overlaps(visits)
	for i := range visits {
		v := &visits[i]
		if v.start.Before(j.Since) {
			count.Earlier++
			continue
		}
		count.Read++
		count.Disturbed += v.disturbed
		if v.cut {
			count.Cut++
		}
		for _, wrong := range v.wrong {
			j.doc.Wrong = append(j.doc.Wrong, Wrong{v.node, v.start.Format(time.RFC3339), wrong, v.path})
		}
		n := j.nodes[v.node]
		if n == nil {
			n = &nodeState{}
			j.nodes[v.node] = n
		}
		n.visits, n.last, n.lastAt = n.visits+1, v.on, v.start
		alike := v.on.alike
		if j.classes[alike] == nil {
			j.classes[alike] = &classJudge{Class: Class{Alike: alike}, nodes: map[string]bool{}, measures: map[string]*measureJudge{}}
		}
		n.class = j.classes[alike]
		switch {
		case v.start.After(j.Now):
			count.Future++
		case j.slotOf(v).Add(j.Slot).After(j.Now):
			count.Pending++
		case overlapped[v.path]:
			count.Overlapped++
		default:
			j.visits = append(j.visits, *v)
		}
	}
	for name, n := range j.nodes {
		n.class.nodes[name] = true
	}
}

// slotOf returns the beginning of a visit's slot.
func (j *judge) slotOf(v *visit) time.Time { return v.start.Truncate(j.Slot) }

// overlaps returns the visits, by their files, that were made on the same CPUs of one machine at once.
func overlaps(visits []visit) map[string]bool {
	found := map[string]bool{}
	open := map[string][]*visit{} // by boot; the visits are in the order of time
	for i := range visits {
		v := &visits[i]
		if v.on.host.BootID == "" {
			continue
		}
		still := slices.DeleteFunc(open[v.on.host.BootID], func(o *visit) bool { return !o.end.After(v.start) })
		for _, o := range still {
			if !o.on.cpus.Intersect(v.on.cpus).Empty() {
				found[o.path], found[v.path] = true, true
			}
		}
		open[v.on.host.BootID] = append(still, v)
	}
	return found
}

// bet gives the figures to the judges of their measures, and settles the slots in the order of time.
func (j *judge) bet() {
	count := &j.doc.Visits
	for i := range j.visits {
		v := &j.visits[i]
		n := j.nodes[v.node]
		class := n.class
		if v.on.alike != class.Alike {
			count.Other++
			continue
		}
		slot, late := j.slotOf(v), j.Options.Settled.late(v, j.slotOf(v))
		fresh := false
		for _, f := range v.figures {
			m := class.measures[f.of.name]
			if m == nil {
				m = &measureJudge{
					of: f.of, figures: map[string][]figure{}, slots: map[int64][]stats.PeerFigure{}, last: map[string]int64{},
					peers: stats.NewPeers(fmt.Sprint(class.Alike, f.of.name), j.Margin),
				}
				class.measures[f.of.name] = m
			}
			m.figures[v.node] = append(m.figures[v.node], f)
			at := slot.UnixNano()
			if last, before := m.last[v.node]; before && last == at {
				continue
			}
			m.last[v.node], fresh = at, true
			m.slots[at] = append(m.slots[at], stats.PeerFigure{Node: v.node, Log: f.log(), Late: late})
		}
		switch {
		case !fresh && len(v.figures) > 0:
			count.Repeated++
		case late:
			count.Late++
			count.Judged++
		default:
			count.Judged++
		}
		n.judged = n.judged || fresh
	}
	var all []*measureJudge
	for _, class := range j.classes {
		all = slices.AppendSeq(all, maps.Values(class.measures))
	}
	var next atomic.Int64
	together(func() {
		for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
			m := all[i]
			for _, slot := range slices.Sorted(maps.Keys(m.slots)) {
				m.peers.Settle(slot, m.slots[slot])
			}
			m.slots = nil
		}
	})
}

// name names the slow nodes.
func (j *judge) name() {
	var es []float64
	for _, class := range j.classes {
		j.doc.Hypotheses += len(class.nodes) * len(class.measures)
		for _, m := range class.measures {
			for node := range class.nodes {
				es = append(es, m.peers.E(node))
			}
		}
	}
	j.doc.Needed = float64(j.doc.Hypotheses) / j.FDR
	least := stats.Discoveries(es, j.doc.Hypotheses, j.FDR)
	for _, class := range j.sortedClasses() {
		for _, name := range slices.Sorted(maps.Keys(class.measures)) {
			m := class.measures[name]
			for node := range class.nodes {
				if e := m.peers.E(node); e >= least {
					j.doc.Slow = append(j.doc.Slow, j.slow(class, m, node, e))
				}
			}
		}
	}
	claims := float64(len(j.doc.Slow))
	for i := range j.doc.Slow {
		s := &j.doc.Slow[i]
		m := j.nodes[s.Node].class.measures[s.Measure]
		// Each end holds for those that are named as e-BH's claims do (e-BY: Xu, Wang and Ramdas, "Post-selection inference for
		// e-value based confidence intervals", Electronic Journal of Statistics 18, 2024).
		lo, hi := m.peers.Interval(s.Node, j.doc.Needed/claims)
		s.Lo = max(lo, 1+j.Margin)
		if !math.IsInf(hi, 1) {
			s.Hi = &hi
		}
	}
	slices.SortFunc(j.doc.Slow, func(a, b Slow) int {
		return cmp.Or(cmp.Compare(b.Ratio, a.Ratio), strings.Compare(a.Node, b.Node), strings.Compare(a.Measure, b.Measure))
	})
}

func (j *judge) slow(class *classJudge, m *measureJudge, node string, e float64) Slow {
	parts := map[string]int{}
	for _, f := range m.figures[node] {
		parts[f.part]++
	}
	return Slow{
		Node: node, Measure: m.of.name, Class: class.Name, E: e, Ratio: m.peers.Ratio(node), Bets: m.peers.Bets(node), Unit: m.of.unit,
		Figure: m.median(node), Median: m.classMedian(), Part: mostOften(parts),
	}
}

// mostOften returns the text that was counted most often, the first by name of several.
func mostOften(counts map[string]int) (most string) {
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		if counts[text] > counts[most] {
			most = text
		}
	}
	return most
}

// median returns the median figure of a node; false if it has none.
func (m *measureJudge) median(node string) float64 {
	var all []float64
	for _, f := range m.figures[node] {
		all = append(all, f.value)
	}
	return stats.Median(all)
}

// classMedian returns the median over the nodes' medians.
func (m *measureJudge) classMedian() float64 {
	var all []float64
	for node := range m.figures {
		all = append(all, m.median(node))
	}
	return stats.Median(all)
}

// sortedClasses returns the classes, the largest first, which it names A, B, …
func (j *judge) sortedClasses() []*classJudge {
	classes := slices.SortedFunc(maps.Values(j.classes), func(a, b *classJudge) int {
		return cmp.Or(len(b.nodes)-len(a.nodes), strings.Compare(fmt.Sprint(a.Alike), fmt.Sprint(b.Alike)))
	})
	classes = slices.DeleteFunc(classes, func(c *classJudge) bool { return len(c.nodes) == 0 })
	for i, c := range classes {
		c.Name = className(i)
	}
	return classes
}

// className returns A … Z, AA, AB, …
func className(i int) (name string) {
	for ; i >= 0; i = i/26 - 1 {
		name = string(rune('A'+i%26)) + name
	}
	return name
}

// list lists the classes and the nodes.
func (j *judge) list() {
	for _, class := range j.sortedClasses() {
		c := class.Class
		c.Nodes, c.Measures = len(class.nodes), []ClassMeasure{}
		for _, name := range slices.Sorted(maps.Keys(class.measures)) {
			m := class.measures[name]
			better := result.Lower
			if m.of.higher {
				better = result.Higher
			}
			c.Measures = append(c.Measures, ClassMeasure{name, m.of.unit, better, len(m.figures), m.classMedian()})
		}
		j.doc.Classes = append(j.doc.Classes, c)
	}
	for _, name := range j.Expect {
		if j.nodes[name] == nil {
			j.nodes[name] = &nodeState{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.nodes)) {
		n := j.nodes[name]
		node := Node{Name: name, State: Silent, Visits: n.visits}
		if n.visits > 0 {
			node.State, node.Class, node.Last = Waiting, n.class.Name, n.lastAt.Format(time.RFC3339)
			if n.judged {
				node.State = NoPeers
			}
			for _, measure := range slices.Sorted(maps.Keys(n.class.measures)) {
				m := n.class.measures[measure]
				if len(m.figures[name]) == 0 {
					continue
				}
				bets := m.peers.Bets(name)
				if bets > 0 {
					node.State = Judged
				}
				node.Measures = append(node.Measures, NodeMeasure{measure, m.median(name), bets, m.peers.E(name), m.peers.Ratio(name)})
			}
		}
		j.doc.States[node.State]++
		j.doc.Nodes = append(j.doc.Nodes, node)
	}
}

// settings returns the settings in which nodes differ from most nodes of the same processor. A setting in which the nodes are
// divided, so that fewer than half have the same value, has no usual value and is not reported.
func (j *judge) settings() (all []Setting) {
	models := map[string]map[string]map[string]string{} // settings by node, by processor
	for name, n := range j.nodes {
		if n.last == nil {
			continue
		}
		model := n.last.host.CPUModel
		if models[model] == nil {
			models[model] = map[string]map[string]string{}
		}
		models[model][name] = n.last.conditions()
	}
	for _, nodes := range models {
		names := map[string]bool{}
		for _, settings := range nodes {
			for name := range settings {
				names[name] = true
			}
		}
		for name := range names {
			by := map[string][]string{} // nodes by value
			for node, settings := range nodes {
				value := cmp.Or(settings[name], asItShould)
				by[value] = append(by[value], node)
			}
			all = append(all, unusual(name, by, len(nodes))...)
		}
	}
	slices.SortFunc(all, func(a, b Setting) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Value, b.Value), slices.Compare(a.Nodes, b.Nodes))
	})
	return all
}

// unusual returns the values that most nodes do not have, if most have one.
func unusual(name string, by map[string][]string, nodes int) (all []Setting) {
	for usual, of := range by {
		if 2*len(of) <= nodes {
			continue
		}
		for value, of := range by {
			if value != usual {
				all = append(all, Setting{name, value, usual, slices.Sorted(slices.Values(of))})
			}
		}
	}
	return all
}

// asItShould is the value of a condition of which a visit says nothing.
const asItShould = "as it should be"

// notSettings are the conditions that differ between nodes by nature.
var notSettings = []string{"host", "boot", "kernel-command-line", "environment", "cpu-model"}

// conditions returns the conditions of a machine, and those of `gorun doctor` that are not as they should be.
func (m *machine) conditions() map[string]string {
	all := result.ConditionsOf(&result.Run{Host: m.host, Tool: m.tool})
	for _, name := range notSettings {
		delete(all, name)
	}
	for name, value := range m.settings {
		if !slices.Contains(slices.Collect(maps.Values(all)), value) { // the same, under another name
			all["doctor: "+name] = value
		}
	}
	return all
}

const (
	// clockOff is a difference of clocks that is reported.
	clockOff = 10 * time.Minute
	// clockAgrees is how close the files of most visits must be to their ends, for a difference to mean anything: files that
	// were copied one day later say nothing about clocks.
	clockAgrees = time.Minute
)

// clocks returns the nodes whose clocks differ from the time at which their files were last written, where most nodes' do not.
func clocks(visits []visit) (off []Clock) {
	lags := map[string][]float64{}
	close := 0
	for i := range visits {
		v := &visits[i]
		if v.cut {
			continue
		}
		lag := v.modified.Sub(v.end)
		lags[v.node] = append(lags[v.node], lag.Seconds())
		if lag.Abs() <= clockAgrees {
			close++
		}
	}
	if 2*close <= len(visits) {
		return nil
	}
	for _, node := range slices.Sorted(maps.Keys(lags)) {
		if lag := stats.Median(lags[node]); math.Abs(lag) >= clockOff.Seconds() {
			off = append(off, Clock{node, -lag})
		}
	}
	return off
}

// Settled is which visits earlier judgements have seen.
type Settled struct {
	Slot  float64         `json:"slot_seconds"`
	Until time.Time       `json:"until"` // slots that ended by then are settled
	IDs   map[string]bool `json:"visits"`
}

// ReadSettled reads what an earlier judgement wrote; nil if there is no such file.
func ReadSettled(path string, slot time.Duration) (*Settled, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s Settled
	switch err := json.Unmarshal(text, &s); {
	case err != nil || s.IDs == nil || s.Until.IsZero():
		return nil, hint.With(errors.New("no earlier judgement wrote this file"), "name a file that does not exist, or one that --settled wrote")
	case s.Slot != slot.Seconds():
		return nil, hint.With(fmt.Errorf("it was written with slots of %v seconds", s.Slot), "give the same --slot, or another file")
	}
	return &s, nil
}

// Write writes it, for the next judgement.
func (s *Settled) Write(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

// id identifies a visit, wherever its file is.
func (v *visit) id() string {
	sum := sha256.Sum256([]byte(v.node + "\x00" + v.on.host.BootID + "\x00" + v.start.Format(time.RFC3339Nano)))
	return fmt.Sprintf("%x", sum[:8])
}

// late reports whether a slot was settled without a visit.
func (s *Settled) late(v *visit, slot time.Time) bool {
	return s != nil && slot.Before(s.Until) && !s.IDs[v.id()]
}

// settle remembers the visits of this judgement. One that was late stays late.
func (j *judge) settle() {
	now := &Settled{Slot: j.Slot.Seconds(), Until: j.Now.Truncate(j.Slot), IDs: map[string]bool{}}
	if j.Options.Settled != nil {
		maps.Copy(now.IDs, j.Options.Settled.IDs)
	}
	for i := range j.visits {
		if v := &j.visits[i]; !j.Options.Settled.late(v, j.slotOf(v)) {
			now.IDs[v.id()] = true
		}
	}
	j.doc.Settled = now
}
