package placement

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

func TestPolicyIsNamedByItsFlags(t *testing.T) {
	nice := 5
	sched, err := linux.ParseSched("batch")
	require.NoError(t, err)
	for want, policy := range map[string]Policy{
		"none":                             {},
		"lock-thread":                      {Lock: true},
		"pin-thread":                       {PinThread: true},
		"lock-thread, pin-cpus 0-1":        {Lock: true, PinCPUs: []int{0, 1}},
		"lock-thread, pin-cpus 3,1":        {Lock: true, PinCPUs: []int{3, 1}},
		"pin-cpus 0-1, lock-thread=false":  {PinCPUs: []int{0, 1}},
		"nice 5":                           {Nice: &nice},
		"lock-thread, nice 5, sched batch": {Lock: true, Nice: &nice, Sched: &sched},
		"lock-thread, pin-thread, nice 5":  {Lock: true, PinThread: true, Nice: &nice},
	} {
		assert.Equal(t, want, policy.String())
	}
}

// A plan must also be right for machines other than this one.
func TestPlanDealsWorkersRoundRobin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.SliceOfNDistinct(rapid.IntRange(0, 4095), 1, 300, rapid.ID).Draw(t, "cpus")
		workers := rapid.IntRange(1, 5000).Draw(t, "workers")
		plan := Assign(Policy{Lock: true, PinCPUs: cpus}, cpuset.Of(cpus...), workers, false)
		given := map[int]int{}
		for i := range workers {
			require.Equal(t, cpus[i%len(cpus)], plan.CPU(i))
			given[plan.CPU(i)]++
		}
		for _, share := range plan.Shares() {
			require.Equal(t, given[share.CPU], share.Workers, "CPU %d", share.CPU)
		}
	})
}

func TestPlanOfExecutors(t *testing.T) {
	cpus := cpuset.Range(4, 7)
	plan := Assign(Policy{}, cpus, 100, true)
	assert.Equal(t, []int{4, 5, 6, 7}, plan.Executors)
	assert.Equal(t, -1, plan.CPU(0), "an executor takes the worker")
	assert.Nil(t, plan.Shares())
	assert.Equal(t, "lock-thread, pin-cpus 4-7", plan.String())

	plan = Assign(Policy{Lock: true, PinCPUs: []int{6, 5}}, cpus, 100, true)
	assert.Equal(t, []int{6, 5}, plan.Executors)
}
