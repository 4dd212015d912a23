package csrc

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each side is woken the requested number of times, always while it sleeps.
func TestWakeups(t *testing.T) {
	shared := NewWakeFutex()
	defer shared.Free()
	var sides sync.WaitGroup
	var waited [2]float64 // ns by side
	begun := time.Now()
	for i, first := range []bool{false, true} {
		sides.Go(func() {
			r, err := Wakeups(WakeupsArgs{First: first, Trips: 30, Futex: shared})
			assert.NoError(t, err)
			assert.False(t, r.Stopped)
			assert.GreaterOrEqual(t, r.CPU, 0)
			assert.Len(t, r.NS, 30)
			for _, ns := range r.NS {
				assert.GreaterOrEqual(t, ns, 0.0)
				waited[i] += ns
			}
		})
	}
	sides.Wait()
	// The sides wake each other in turn, so that their wake-ups do not overlap.
	assert.Positive(t, waited[0]+waited[1])
	assert.LessOrEqual(t, waited[0]+waited[1], float64(time.Since(begun)))
}

// Stop ends a side that sleeps, a side that has no thread to wake, and a side that starts later.
func TestWakeupsStop(t *testing.T) {
	for _, first := range []bool{false, true} {
		shared := NewWakeFutex()
		for later := range 2 { // the second iteration starts after Stop
			done := make(chan WakeupsResult)
			go func() {
				r, err := Wakeups(WakeupsArgs{First: first, Trips: 1, Futex: shared})
				assert.NoError(t, err)
				done <- r
			}()
			if later == 0 {
				shared.Stop()
			}
			r := <-done
			assert.True(t, r.Stopped)
			assert.Empty(t, r.NS)
		}
		shared.Free()
	}
}

func TestWakeupsArguments(t *testing.T) {
	shared := NewWakeFutex()
	defer shared.Free()
	_, err := Wakeups(WakeupsArgs{Futex: shared})
	require.ErrorContains(t, err, "invalid argument")
}
