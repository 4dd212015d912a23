package contend

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every number of additions is made exactly, for any remainder of the unrolled loop.
func TestGoFAA(t *testing.T) {
	for n := range uint64(70) {
		word := uint64(1000)
		goFAA(&word, n)
		assert.Equal(t, 1000+n, word)
	}
}

func TestGoFAALosesNothing(t *testing.T) {
	const each = 100_003
	var word uint64
	var done sync.WaitGroup
	for range 2 {
		done.Go(func() { goFAA(&word, each) })
	}
	done.Wait()
	assert.Equal(t, uint64(2*each), word)
}
