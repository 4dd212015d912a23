package linux

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/cpuset"
)

func TestAffinityRoundTrip(t *testing.T) {
	allowed := ownThread(t)
	sets := []cpuset.Set{allowed}
	for cpu := range allowed.All() {
		sets = append(sets, cpuset.Of(cpu))
	}
	for name, tid := range map[string]int{
		"calling thread": 0, "this thread": Gettid(), "other thread": otherThread(t),
	} {
		for _, set := range sets {
			require.NoError(t, SetAffinity(tid, set), name)
			got, err := GetAffinity(tid)
			require.NoError(t, err, name)
			assert.Equal(t, set.String(), got.String(), name)
			for _, other := range sets {
				has, err := HasAffinity(tid, other)
				require.NoError(t, err, name)
				assert.Equal(t, set.Equal(other), has, "%s has %v, asked about %v", name, set, other)
			}
		}
	}
}

func TestHasAffinityIsExact(t *testing.T) {
	allowed := ownThread(t)
	for name, set := range map[string]cpuset.Set{
		"nothing":             {},
		"a CPU more":          allowed.With(1000),
		"a CPU far above":     allowed.With(cpuset.Max),
		"another CPU":         cpuset.Of(1001),
		"one CPU fewer":       allowed.Minus(cpuset.Of(allowed.Last())),
		"all but the highest": cpuset.Range(0, cpuset.Max-1),
	} {
		has, err := HasAffinity(0, set)
		require.NoError(t, err)
		assert.False(t, has, name)
	}
}

func TestSetAffinityRefusals(t *testing.T) {
	allowed := ownThread(t)
	for _, set := range []cpuset.Set{{}, cpuset.Of(cpuset.Max), cpuset.Of(1023)} {
		if set.Equal(allowed) {
			continue
		}
		err := SetAffinity(0, set)
		require.ErrorIs(t, err, unix.EINVAL, "CPUs %q", set)
		assert.Contains(t, hint.Of(err), "online and in the thread's cpuset")
	}
	err := SetAffinity(missingTID, allowed)
	require.ErrorIs(t, err, unix.ESRCH)
	assert.ErrorContains(t, err, "of thread 4194305")
	_, err = GetAffinity(missingTID)
	assert.ErrorIs(t, err, unix.ESRCH)
	_, err = HasAffinity(missingTID, allowed)
	assert.ErrorIs(t, err, unix.ESRCH)
}

func TestFillMask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := cpuset.Of(rapid.SliceOf(rapid.IntRange(0, 64*commonWords-1)).Draw(t, "cpus")...)
		var words [commonWords]uint64
		require.True(t, fillMask(&words, set))
		require.Equal(t, set.Words(commonWords), words[:])
	})
}

// A mask smaller than the kernel's is refused with EINVAL, which makes GetAffinity retry with the largest.
func TestKernelRefusesAShortMask(t *testing.T) {
	assert.Equal(t, unix.EINVAL, readMask(0, nil))
	assert.Zero(t, readMask(0, make([]uint64, mostWords)), "it accepts any larger one")
}

// The kernel requires a privilege only for a thread of another process; any other refusal has another reason.
func TestRemedyOfOthers(t *testing.T) {
	assert.Empty(t, remedyOfOthers(0))
	assert.Empty(t, remedyOfOthers(os.Getpid()))
	assert.Contains(t, remedyOfOthers(os.Getppid()+1<<30), "CAP_SYS_NICE")
}
