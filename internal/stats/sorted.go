package stats

import (
	"slices"
	"sort"
)

// Sorted keeps values in ascending order. It takes values and gives any rank in a time that hardly grows with their number: they are in
// chunks of limited length, so that a new value moves only some of them. The zero value is empty.
type Sorted struct {
	chunks [][]float64
	ends   []int // for each chunk, the number of values up to its end
}

// mostInChunk is the greatest length of a chunk. A longer one is divided.
const mostInChunk = 1024

// Add adds a value.
func (s *Sorted) Add(value float64) {
	if len(s.chunks) == 0 {
		s.chunks, s.ends = append(s.chunks, nil), append(s.ends, 0)
	}
	in := sort.Search(len(s.chunks)-1, func(i int) bool { return s.chunks[i][len(s.chunks[i])-1] >= value })
	chunk := s.chunks[in]
	at, _ := slices.BinarySearch(chunk, value)
	chunk = slices.Insert(chunk, at, value)
	s.chunks[in] = chunk
	for i := in; i < len(s.ends); i++ {
		s.ends[i]++
	}
	if half := len(chunk) / 2; len(chunk) > mostInChunk {
		s.chunks = slices.Insert(s.chunks, in+1, slices.Clone(chunk[half:]))
		s.chunks[in] = slices.Clone(chunk[:half])
		s.ends = slices.Insert(s.ends, in, s.ends[in]-(len(chunk)-half))
	}
}

// Len returns the number of values.
func (s *Sorted) Len() int {
	if len(s.ends) == 0 {
		return 0
	}
	return s.ends[len(s.ends)-1]
}

// at returns the value with this rank, from 0.
func (s *Sorted) at(rank int) float64 {
	in := sort.SearchInts(s.ends, rank+1)
	chunk := s.chunks[in]
	return chunk[len(chunk)-(s.ends[in]-rank)]
}

// values returns a copy of all values.
func (s *Sorted) values() []float64 { return slices.Concat(s.chunks...) }

// Median returns the mean of the middle two values, or of the middle one twice; 0 without values.
func (s *Sorted) Median() float64 {
	n := s.Len()
	if n == 0 {
		return 0
	}
	return (s.at((n-1)/2) + s.at(n/2)) / 2
}
