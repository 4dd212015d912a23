package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A process begins as a copy of gorun, so that a peak is known only above that one's size.
func TestPeakRSS(t *testing.T) {
	bytes := func(n uint64) *uint64 { return &n }
	assert.Equal(t, bytes(31), PeakRSS{bytes(31), 30}.Known())
	assert.Nil(t, PeakRSS{bytes(30), 30}.Known())
	assert.Nil(t, PeakRSS{nil, 30}.Known())
}
