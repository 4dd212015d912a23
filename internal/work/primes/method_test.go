package primes

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLookupOfAKernelThatTheCPULacks(t *testing.T) {
	saved := Methods
	defer func() { Methods = saved }()
	Methods = []Method{{Name: "m", Kernels: []Kernel{
		{Name: "fast", Requires: "AVX-1024", Available: func() bool { return false }},
		{Name: "go"},
	}}}

	k, err := Lookup("m", Auto)
	require.NoError(t, err)
	assert.Equal(t, "go", k.Name)

	_, err = Lookup("m", "fast")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorContains(t, err, "kernel fast of method m needs AVX-1024 (usable here: go)")
	_, err = Lookup("m", "slow")
	require.EqualError(t, err, `unknown kernel "slow": method m has auto, fast, go`)
	assert.NotErrorIs(t, err, errors.ErrUnsupported)
}

// Each method's last kernel must run on any CPU, so that Auto always finds one.
func TestMethodsAreComplete(t *testing.T) {
	for _, m := range Methods {
		assert.NotEmpty(t, m.Usage, m.Name)
		assert.Nil(t, m.Kernels[len(m.Kernels)-1].Available, m.Name)
		for _, k := range m.Kernels {
			assert.NotEmpty(t, k.Usage, "%s/%s", m.Name, k.Name)
			assert.Equal(t, k.Available == nil, k.Requires == "", "%s/%s", m.Name, k.Name)
		}
	}
}
