package linux

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

func TestUsageSub(t *testing.T) {
	before := Usage{1, 2, 3, 4, 5, 6}
	after := Usage{1.5, 2.25, 13, 24, 35, 46}
	assert.Equal(t, Usage{0.5, 0.25, 10, 20, 30, 40}, after.Sub(before))
}

func TestPeakRSS(t *testing.T) {
	status := "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"
	got, err := PeakRSS(fstest.MapFS{"proc/self/status": {Data: []byte(status)}})
	assert.NoError(t, err)
	assert.EqualValues(t, 2<<20, got)
}
