package linux

import (
	"io/fs"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"gorun/internal/base/hint"
)

// withoutPrivilege drops the effective capabilities of the test's thread, and skips the test if RLIMIT_NICE or
// RLIMIT_RTPRIO allow as much. Capabilities belong to a thread.
func withoutPrivilege(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var before, none [2]unix.CapUserData
	require.NoError(t, unix.Capget(&header, &before[0]))
	none = before
	for i := range none {
		none[i].Effective = 0
	}
	require.NoError(t, unix.Capset(&header, &none[0]))
	t.Cleanup(func() { assert.NoError(t, unix.Capset(&header, &before[0])) })
	for _, resource := range []int{unix.RLIMIT_NICE, unix.RLIMIT_RTPRIO} {
		var limit unix.Rlimit
		require.NoError(t, unix.Getrlimit(resource, &limit))
		if limit.Cur != 0 {
			t.Skip("needs RLIMIT_NICE and RLIMIT_RTPRIO of 0")
		}
	}
}

func TestNicePerThread(t *testing.T) {
	ownThread(t)
	other := otherThread(t)
	before, err := GetNice(other)
	require.NoError(t, err)
	here, err := GetNice(0)
	require.NoError(t, err)
	for nice := max(before, here); nice <= MaxNice; nice++ {
		require.NoError(t, SetNice(0, nice))
		got, err := GetNice(0)
		require.NoError(t, err)
		assert.Equal(t, nice, got)
		got, err = GetNice(Gettid())
		require.NoError(t, err)
		assert.Equal(t, nice, got)
	}
	got, err := GetNice(other)
	require.NoError(t, err)
	assert.Equal(t, before, got, "the other thread is not changed")
	require.NoError(t, SetNice(other, MaxNice))
	got, err = GetNice(other)
	require.NoError(t, err)
	assert.Equal(t, MaxNice, got)
}

func TestSetNiceRefusals(t *testing.T) {
	for _, nice := range []int{MinNice - 1, MaxNice + 1, 1 << 30} {
		assert.ErrorContains(t, SetNice(0, nice), "nice values go from -20 to 19", "the kernel would have clamped it")
	}
	assert.ErrorIs(t, SetNice(missingTID, 0), unix.ESRCH)
	_, err := GetNice(missingTID)
	assert.ErrorIs(t, err, unix.ESRCH)
}

func TestWithoutPrivilegeSaysWhatIsMissing(t *testing.T) {
	withoutPrivilege(t)
	refused := func(err error, says string) {
		t.Helper()
		require.ErrorIs(t, err, fs.ErrPermission)
		assert.Contains(t, hint.Of(err), says)
	}
	refused(SetNice(0, -5), "nice -5 needs CAP_SYS_NICE or RLIMIT_NICE >= 25 (ulimit -e 25)")
	refused(SetSched(0, Sched{SchedFIFO, 7}), "fifo:7 needs CAP_SYS_NICE or RLIMIT_RTPRIO >= 7 (ulimit -r 7)")
	require.NoError(t, SetSched(0, Sched{Policy: SchedIdle}))
	refused(SetSched(0, Sched{}), "from idle to other needs CAP_SYS_NICE")
}

func TestSchedKeepsNiceAndResetOnFork(t *testing.T) {
	ownThread(t)
	require.NoError(t, SetNice(0, MaxNice-1))
	for _, policy := range []Policy{SchedBatch, SchedOther, SchedIdle} {
		for _, flag := range []uintptr{0, unix.SCHED_RESET_ON_FORK} {
			if flag == 0 && policy != SchedBatch {
				continue // the flag is set now, and clearing it needs a privilege
			}
			is, err := readPolicy(0)
			require.NoError(t, err)
			var priority int32
			_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETSCHEDULER, 0,
				uintptr(is&^unix.SCHED_RESET_ON_FORK)|flag, uintptr(unsafe.Pointer(&priority)))
			require.Zero(t, errno)

			require.NoError(t, SetSched(0, Sched{Policy: policy}))
			got, err := GetSched(0)
			require.NoError(t, err)
			assert.Equal(t, Sched{Policy: policy}, got)
			raw, err := readPolicy(0)
			require.NoError(t, err)
			assert.EqualValues(t, flag, raw&unix.SCHED_RESET_ON_FORK, "%v", got)
			nice, err := GetNice(0)
			require.NoError(t, err)
			assert.Equal(t, MaxNice-1, nice, "%v", got)
		}
	}
}

func TestSchedOfAnotherThread(t *testing.T) {
	tid := otherThread(t)
	require.NoError(t, SetSched(tid, Sched{Policy: SchedBatch}))
	got, err := GetSched(tid)
	require.NoError(t, err)
	assert.Equal(t, Sched{Policy: SchedBatch}, got)
}

func TestSchedRealTime(t *testing.T) {
	ownThread(t)
	require.NoError(t, SetNice(0, MaxNice))
	for _, want := range []Sched{{SchedRR, 2}, {SchedFIFO, 1}, {SchedOther, 0}} {
		err := SetSched(0, want)
		if want.Policy == SchedRR {
			skipIfRefusedOrMissing(t, err)
		}
		require.NoError(t, err)
		got, err := GetSched(0)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	nice, err := GetNice(0)
	require.NoError(t, err)
	assert.Equal(t, MaxNice, nice, "nice is kept under a real-time policy")
}

func TestSetSchedRefusals(t *testing.T) {
	err := SetSched(0, Sched{Policy: SchedDeadline})
	require.ErrorIs(t, err, unix.EINVAL)
	assert.ErrorContains(t, err, "deadline")
	assert.ErrorIs(t, SetSched(0, Sched{SchedOther, 5}), unix.EINVAL)
	assert.ErrorIs(t, SetSched(missingTID, Sched{}), unix.ESRCH)
	_, err = GetSched(missingTID)
	assert.ErrorIs(t, err, unix.ESRCH)
}
