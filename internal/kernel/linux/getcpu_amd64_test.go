package linux

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cpuset"
)

// Every method that this CPU supports must report every CPU, even if it was not chosen.
func TestEveryWayTellsTheCPU(t *testing.T) {
	allowed := ownThread(t)
	Getcpu()
	chosen := getcpuWay.Load()
	assert.Contains(t, []uint32{byRDPID, bySegment, byCall}, chosen)
	t.Cleanup(func() { getcpuWay.Store(chosen) })
	ways := []uint32{byCall}
	if _, ok := segmentLimit(cpuNodeSegment); ok {
		ways = append(ways, bySegment)
	}
	if hasRDPID() {
		ways = append(ways, byRDPID)
	}
	if chosen == byCall {
		ways = []uint32{byCall} // here the check rejected the others
	}
	for cpu := range allowed.All() {
		require.NoError(t, SetAffinity(0, cpuset.Of(cpu)))
		for _, way := range ways {
			getcpuWay.Store(way)
			assert.Equal(t, cpu, Getcpu(), "way %d", way)
		}
	}
}

func TestSegmentLimitKnowsAMissingSegment(t *testing.T) {
	_, ok := segmentLimit(0)
	assert.False(t, ok)
}

func TestOneCPUZeroIsNoProofForARegister(t *testing.T) {
	allowed := ownThread(t)
	if !allowed.Contains(0) {
		t.Skip("needs CPU 0")
	}
	require.NoError(t, SetAffinity(0, cpuset.Of(0)))
	assert.NotEqual(t, uint32(byRDPID), tryGetcpu())
}

// A filter that refuses getcpu(2) does not affect the methods without a system call.
func TestGetcpuWithoutTheCall(t *testing.T) {
	allowed := ownThread(t)
	if tryGetcpu() == byCall || allowed.Last() == 0 {
		t.Skip("needs a way to read the CPU without a system call")
	}
	refuse(t, syscall.EPERM, refused{call: unix.SYS_GETCPU, arg: -1})
	require.Equal(t, -1, getcpuCall())
	assert.NotEqual(t, uint32(byCall), tryGetcpu())
}
