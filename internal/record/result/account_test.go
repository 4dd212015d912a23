package result_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

// TestAccount: the parts add up to the whole, to the nanosecond.
func TestAccount(t *testing.T) {
	one := result.AccountOf(0.100000001, 0.030000007, 0.020000003, 0.010001, 0.019999)
	require.NotNil(t, one)
	assert.Equal(t, result.Account{
		Running: 30000007, Waiting: 20000003, Blocked: 49999991, Kernel: new(uint64(19999005)),
	}, *one)
	assert.EqualValues(t, 100000001, one.Wall())
	assert.EqualValues(t, 10001002, *one.User())
	assert.Equal(t, one.Running, *one.User()+*one.Kernel)

	several := result.AccountOf(0.1, 0.03, 0.02, 0.05, 0.01)
	require.NotNil(t, several)
	assert.EqualValues(t, 30_000_000, several.Others)
	assert.EqualValues(t, 100_000_000, several.Wall())
	assert.EqualValues(t, 60_000_000, several.CPU())
	assert.EqualValues(t, 10_000_000, *several.Kernel)
	assert.EqualValues(t, 50_000_000, *several.User())

	several.Saw(0.02, 0.07)
	assert.EqualValues(t, 70_000_000, *several.OthersWaiting)
	assert.EqualValues(t, 10_000_000, *several.OthersUnseen)
	assert.EqualValues(t, 100_000_000, several.Wall(), "others waited in the same time")
	several.Saw(0.04, 0)
	assert.Zero(t, *several.OthersUnseen, "a look can come before the end, and the clocks differ")

	assert.Nil(t, result.AccountOf(0.01, 0.02, 0, 0.02, 0), "it cannot have run longer than it lived")
}
