package result

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A process begins as a copy of gorun, so that a peak is known only above that one's size.
func TestPeakRSS(t *testing.T) {
	bytes := func(n uint64) *uint64 { return &n }
	for peak, known := range map[PeakRSS]bool{{bytes(31), 30}: true, {bytes(30), 30}: false, {nil, 30}: false} {
		assert.Equal(t, known, peak.Has(MaxRSS))
	}
}
