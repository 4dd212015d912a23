package c2c

import "gorun/internal/result"

// Figures are the figures of one sample of `gorun c2c`: a cache line passed back and forth between two CPUs.
type Figures struct {
	result.OwnProcess
	CPUA        int                 `json:"cpu_a"`
	CPUB        int                 `json:"cpu_b"`
	NodeA       int                 `json:"node_a"`
	NodeB       int                 `json:"node_b"`
	Relation    string              `json:"relation"` // topology.Relation
	Method      string              `json:"method"`
	NS          float64             `json:"ns"`            // one way: median over the batches
	RoundTripNS float64             `json:"round_trip_ns"` // both ways
	OneWay      result.Distribution `json:"one_way_ns"`    // over the batches
	Batches     int                 `json:"batches"`
	RoundTrips  uint64              `json:"round_trips"`         // in all batches
	MemNode     *int                `json:"mem_node,omitempty"`  // requested node of the line; absent: first touch
	HomeNode    *int                `json:"home_node,omitempty"` // node of the line's page, read back
}
