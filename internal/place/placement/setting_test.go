package placement

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
)

// onThread calls f on a new thread, which ends with f.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked
		f()
	}()
	<-done
}

// mempolicies returns the memory policies that this machine has and this user may set; none if the kernel lacks NUMA.
func mempolicies(t *testing.T) []linux.Mempolicy {
	t.Helper()
	list := []linux.Mempolicy{linux.MempolicyDefault}
	for _, mode := range []linux.Mempolicy{linux.MempolicyLocal, linux.MempolicyBind, linux.MempolicyInterleave} {
		if linux.HaveMempolicy(mode) == nil {
			list = append(list, mode)
		}
	}
	return list
}

// drawSetting draws a setting that needs no privilege: nice values are only raised.
func drawSetting(t *rapid.T, allowed, nodes cpuset.Set, modes []linux.Mempolicy, least int) (s Setting) {
	for cpu := range allowed.All() {
		if rapid.Bool().Draw(t, "on this CPU") {
			s.CPUs = s.CPUs.With(cpu)
		}
	}
	s.Mempolicy = rapid.SampledFrom(modes).Draw(t, "memory policy")
	if s.Mempolicy == linux.MempolicyBind || s.Mempolicy == linux.MempolicyInterleave {
		s.Nodes = cpuset.Of(nodes.First())
	}
	if nice := rapid.IntRange(least, linux.MaxNice).Draw(t, "nice"); nice > least {
		s.Nice = &nice
	}
	if rapid.Bool().Draw(t, "batch") {
		s.Sched = &linux.Sched{Policy: linux.SchedBatch}
	}
	return s
}

// An applied setting is read back unchanged, and a property that is not requested is as before.
func TestSettingIsApplied(t *testing.T) {
	allowed := allowedCPUs(t)
	nodes, _ := linux.MemsAllowed() // without nodes, modes that need them are not drawn
	modes := mempolicies(t)
	least, err := linux.GetNice(0)
	require.NoError(t, err)
	all := Setting{CPUs: allowed, Nice: new(int), Sched: new(linux.Sched)}
	rapid.Check(t, func(t *rapid.T) {
		s := drawSetting(t, allowed, nodes, modes, least)
		onThread(func() {
			want, err := all.current(0)
			require.NoError(t, err)
			require.NoError(t, s.Apply(rapid.SampledFrom([]int{0, linux.Gettid()}).Draw(t, "tid")))
			mismatches, err := s.ReadBack(0)
			require.NoError(t, err)
			assert.Empty(t, mismatches)
			if !s.CPUs.Empty() {
				want.CPUs = s.CPUs
			}
			want.Nice, want.Sched = cmp.Or(s.Nice, want.Nice), cmp.Or(s.Sched, want.Sched)
			is, err := all.current(0)
			require.NoError(t, err)
			assert.Equal(t, want.String(), is.String())
		})
	})
}

// No system call is made for a property that is not requested, so that a missing thread is no error.
func TestTheZeroSettingChangesNothing(t *testing.T) {
	var s Setting
	assert.Zero(t, s.Asked())
	assert.Equal(t, "none", s.String())
	require.NoError(t, s.Apply(1<<30))
	mismatches, err := s.ReadBack(1 << 30)
	require.NoError(t, err)
	assert.Nil(t, mismatches)
}

func TestSettingIsNamedByItsFlags(t *testing.T) {
	nice, node := 5, 1
	for want, s := range map[string]Setting{
		"cpus 0-3,8":                 {CPUs: cpuset.Of(0, 1, 2, 3, 8)},
		"mempolicy local":            {Mempolicy: linux.MempolicyLocal},
		"mempolicy bind:0-1, nice 5": {Mempolicy: linux.MempolicyBind, Nodes: cpuset.Of(0, 1), Nice: &nice},
		"preferred-node 1":           {PreferredNode: &node},
		"nice 5, sched rr:7":         {Nice: &nice, Sched: &linux.Sched{Policy: linux.SchedRR, Priority: 7}},
	} {
		assert.Equal(t, want, s.String())
	}
}

// A difference has the same text whether the kernel dropped a value or another program changed it.
func TestReadBackFindsEachDifference(t *testing.T) {
	allowed := allowedCPUs(t)
	least, err := linux.GetNice(0)
	require.NoError(t, err)
	onThread(func() {
		s := Setting{CPUs: allowed.With(cpuset.Max)}
		require.NoError(t, s.Apply(0))
		mismatches, err := s.ReadBack(0)
		require.NoError(t, err)
		require.Equal(t, []Mismatch{{"CPUs", s.CPUs.String(), allowed.String()}}, mismatches)
		assert.EqualError(t, mismatches[0],
			"asked for CPUs "+s.CPUs.String()+", the kernel answers CPUs "+allowed.String())

		nice, batch := linux.MaxNice, linux.Sched{Policy: linux.SchedBatch}
		if least == nice {
			nice-- // if the test runs with the greatest nice value
		}
		s = Setting{CPUs: cpuset.Of(cpuset.Max), Nice: &nice, Sched: &batch}
		mismatches, err = s.ReadBack(0)
		require.NoError(t, err)
		require.Len(t, mismatches, 3)
		assert.Equal(t, "CPUs", mismatches[0].What)
		assert.Equal(t, "nice", mismatches[1].What)
		assert.Equal(t, Mismatch{"policy", "batch", "other"}, mismatches[2])
		assert.ErrorContains(t, s.verify(0), "asked for policy batch, the kernel answers policy other")
	})
}

func TestApplyRefusals(t *testing.T) {
	nice, absent := linux.MaxNice+1, 1<<30
	for want, s := range map[string]Setting{
		"set the affinity to CPUs 65535": {CPUs: cpuset.Of(cpuset.Max)},
		"nice values go from -20 to 19":  {Nice: &nice},
	} {
		assert.ErrorContains(t, s.Apply(0), want)
	}
	s := Setting{CPUs: cpuset.Of(0)}
	assert.ErrorContains(t, s.Apply(absent), "no such process")
	_, err := s.ReadBack(absent)
	assert.ErrorContains(t, err, "no such process")
	s = Setting{Mempolicy: linux.MempolicyLocal}
	assert.ErrorIs(t, s.Apply(absent), errors.ErrUnsupported, "only a thread itself can set its memory policy")
}

// A refusal leaves no thread of the process changed, also if another property was already set.
func TestARefusedSettingIsUndone(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user")
	}
	allowed := allowedCPUs(t)
	before := views(t)
	lower := linux.MinNice
	s := Setting{CPUs: cpuset.Of(allowed.Last()), Nice: &lower}
	_, err := s.ApplyAll()
	require.ErrorIs(t, err, fs.ErrPermission)
	for tid, v := range views(t) {
		if want, old := before[tid]; old {
			assert.Equal(t, want, v, "thread %s", tid)
		}
	}
}

// Placing a worker is on the hot path of the pool.
func TestPlaceAllocatesNothing(t *testing.T) {
	allowed := allowedCPUs(t)
	nice := linux.MaxNice
	onThread(func() {
		s := &Setting{CPUs: cpuset.Of(allowed.First()), Nice: &nice, Sched: &linux.Sched{Policy: linux.SchedBatch}}
		assert.Zero(t, testing.AllocsPerRun(100, func() { require.NoError(t, s.place(0)) }))
	})
}
