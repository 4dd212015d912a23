package fleet

import "gorun/internal/record/result"

// Judgement is what the visits of a fleet show. It is the JSON document.
type Judgement struct {
	Schema   string        `json:"schema"`
	Tool     result.Tool   `json:"tool"`
	Margin   float64       `json:"margin"`
	FDR      float64       `json:"fdr"`
	Slot     float64       `json:"slot_seconds"`
	Family                 // of nodes and measures with enough peers (stats.EnoughPeers)
	Few      Family        `json:"few_peers"` // of those with fewer
	Slow     []Slow        `json:"slow"`
	Nearest  []Nearest     `json:"nearest"` // to being named; the nearest is the first
	Wrong    []Wrong       `json:"wrong"`
	Visits   Visits        `json:"visits"`
	States   map[State]int `json:"states"` // nodes in each
	Clocks   []Clock       `json:"clocks"`
	Settings []Setting     `json:"settings"`
	Classes  []Class       `json:"classes"`
	Nodes    []Node        `json:"nodes"`
	Warnings []string      `json:"warnings"`

	Settled *Settled `json:"-"` // for the next judgement
}

// Family has the hypotheses that share an error rate: pairs of a node and a measure, over all classes. Those with few peers are a family
// of their own, since a few nodes that report what no other does could make any number of them.
type Family struct {
	Hypotheses int     `json:"hypotheses"`
	Needed     float64 `json:"e_needed"` // by a single name
}

// Standing is how a node compares with its class in a measure.
type Standing struct {
	Node    string  `json:"node"`
	Measure string  `json:"measure"`
	Class   string  `json:"class"`
	E       float64 `json:"e"`
	Ratio   float64 `json:"ratio"` // of its time to that of its peers, or of their rate to its own: 1.05 is 5% slower
	Bets    int     `json:"bets"`
	Peers   int     `json:"peers"` // the most in a slot
	Unit    string  `json:"unit"`
	Better  string  `json:"better"`
	Figure  float64 `json:"figure"` // the median of its visits
	Median  float64 `json:"class_median"`
	Part    string  `json:"part,omitempty"` // of the machine, that was the worst most often
}

// Slow is a node that is slower than its class in a measure.
type Slow struct {
	Standing
	// Lo and Hi are the interval of the ratio; each end is wrong for at most the share FDR of those that are named, on average.
	Lo float64  `json:"lo"`
	Hi *float64 `json:"hi"` // null: nothing bounds it
	// Unsure is why no line drains the node for it.
	Unsure string `json:"unsure,omitempty"`
}

// Nearest is a node that would be named in a measure if further visits were like those so far.
type Nearest struct {
	Standing
	Needed float64 `json:"e_needed"`    // if no other is named before
	More   int     `json:"more_visits"` // until then
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
	Copies     int `json:"copies"`      // of another visit
	Unexpected int `json:"unexpected"`  // of a node that is not in --expect
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
	// Unexpected is that of a node which is not in --expect.
	Unexpected State = "not in --expect"
)

// States lists them.
var States = [...]State{Judged, NoPeers, Waiting, Silent, Unexpected}

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
