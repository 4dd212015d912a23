package c2c

import (
	"gorun/internal/record/column"
	"gorun/internal/record/result"
)

// Figures are the figures of one sample of `gorun c2c`: a cache line passed back and forth between two CPUs.
type Figures struct {
	CPUA        int     `json:"cpu_a" figure:",csv=1,key=a" is:"One CPU of the pair."`
	CPUB        int     `json:"cpu_b" figure:",csv=2,key=b" is:"The other CPU of the pair."`
	Relation    string  `json:"relation" figure:",csv=3,key=relation" is:"What the two CPUs share."` // topology.Relation
	Method      string  `json:"method" figure:",key=method" is:"The method of passing the cache line."`
	NS          float64 `json:"ns" figure:"ns,lower,csv=4,bench=ns/op" label:"time one way" is:"The time that the cache line takes from one CPU to the other: the median over the batches."`
	RoundTripNS float64 `json:"round_trip_ns" figure:"ns,lower,csv=5,bench=round-trip-ns/op,rank=1" is:"The time of the cache line's round trip."`
	NodeA       int     `json:"node_a" figure:",csv=6,verbose" is:"The node of the first CPU."`
	NodeB       int     `json:"node_b" figure:",csv=7,verbose" is:"The node of the second CPU."`
	MemNode     *int    `json:"mem_node,omitempty" figure:",verbose" is:"The requested node of the cache line; none: the node from which its first CPU first touches it."`
	HomeNode    *int    `json:"home_node,omitempty" figure:",csv=8,verbose" is:"The node of the cache line's page, read back."`
	Batches     int     `json:"batches" figure:"count,verbose" is:"The batches of round trips that were timed."`
	RoundTrips  uint64  `json:"round_trips" figure:"number,repeats,verbose" is:"The round trips in all batches."`
	result.OwnProcess
	OneWay result.Distribution `json:"one_way_ns" figure:"ns,lower,verbose" is:"The time one way, over the batches"`
}

var (
	columns = column.Of[Figures]()
	oneWay  = columns.Get("ns") // by which cells are compared
)
