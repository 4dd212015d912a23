package csrc_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
)

type loop func(csrc.PrimeArgs) (csrc.PrimeResult, error)

var loops = map[string]loop{"modulo": csrc.Modulo, "trial": csrc.Trial, "brute": csrc.Brute}

// run skips the test if there is no C code.
func run(t *testing.T, count loop, args csrc.PrimeArgs) csrc.PrimeResult {
	t.Helper()
	result, err := count(args)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("needs the C kernels")
	}
	require.NoError(t, err)
	return result
}

func TestPrimesUpTo(t *testing.T) {
	for name, count := range loops {
		t.Run(name, func(t *testing.T) {
			for limit, primes := range map[uint64]uint64{0: 0, 1: 0, 2: 1, 3: 2, 4: 2, 10: 4, 1000: 168, 7919: 1000} {
				result := run(t, count, csrc.PrimeArgs{First: 0, Step: 1, Count: limit + 1})
				assert.Equal(t, limit+1, result.Numbers)
				assert.Equal(t, primes, result.Primes, "π(%d)", limit)
			}
		})
	}
}

func TestPrimeTrials(t *testing.T) {
	for name, want := range map[string]uint64{"modulo": 1 + 2 + 3 + 101, "brute": 1 + 2 + 3 + 101, "trial": 5} {
		t.Run(name, func(t *testing.T) {
			low := run(t, loops[name], csrc.PrimeArgs{First: 0, Step: 1, Count: 4})
			prime := run(t, loops[name], csrc.PrimeArgs{First: 101, Step: 1, Count: 1}) // 2, 3, 5, 7, 9
			assert.Equal(t, want, low.Trials+prime.Trials)
		})
	}
}

func TestPrimesOfAStep(t *testing.T) {
	for name, count := range loops {
		t.Run(name, func(t *testing.T) {
			result := run(t, count, csrc.PrimeArgs{First: 1, Step: 6, Count: 10}) // 7 13 19 31 37 43
			assert.Equal(t, uint64(6), result.Primes)
		})
	}
}

func TestPrimesStop(t *testing.T) {
	stop := csrc.NewStop()
	defer stop.Free()
	stop.Set()
	for name, count := range loops {
		t.Run(name, func(t *testing.T) {
			result := run(t, count, csrc.PrimeArgs{First: 1 << 20, Step: 1, Count: 1 << 16, Stop: stop})
			assert.Zero(t, result.Numbers)
		})
	}
}

func TestPrimesOutOfBounds(t *testing.T) {
	for name, count := range loops {
		t.Run(name, func(t *testing.T) {
			run(t, count, csrc.PrimeArgs{First: 1 << 63, Step: 1})
			for _, args := range []csrc.PrimeArgs{
				{First: 1, Step: 0, Count: 1},
				{First: 1 << 63, Step: 1, Count: 1},
				{First: 1<<63 - 1, Step: 1, Count: 2},
				{First: 0, Step: 1 << 62, Count: 3},
			} {
				_, err := count(args)
				assert.ErrorIs(t, err, syscall.EINVAL, "%+v", args)
			}
		})
	}
	run(t, csrc.Brute, csrc.PrimeArgs{Step: 1})
	_, err := csrc.Brute(csrc.PrimeArgs{First: 1 << 32, Step: 1, Count: 1})
	assert.ErrorIs(t, err, syscall.ERANGE)
}
