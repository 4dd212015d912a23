package csrc_test

import (
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/csrc"
	"gorun/internal/dev/tests"
	"gorun/internal/kernel/linux"
)

// migrate moves a new thread, which ends afterwards.
func migrate(buffer []uint64, args csrc.MigrateArgs) (csrc.MigrateResult, error) {
	args.Probe.Buffer, args.Probe.Words = unsafe.Pointer(unsafe.SliceData(buffer)), uint64(len(buffer))
	return started(func(args csrc.MigrateArgs) (csrc.MigrateResult, error) {
		runtime.LockOSThread() // it ends locked, and its mask with it
		return csrc.Migrate(args)
	}, args)()
}

// someMoves returns a few moves between the first and the last allowed CPU, which may be the same.
func someMoves(t *testing.T, access string, buffer []uint64) csrc.MigrateArgs {
	t.Helper()
	cpus, err := linux.GetAffinity(0)
	require.NoError(t, err)
	args := csrc.MigrateArgs{
		Probe: csrc.ProbeArgs{
			Access: access, Buffer: unsafe.Pointer(unsafe.SliceData(buffer)), Words: uint64(len(buffer)), Seed: 1,
		},
		CPUs: [2]int{cpus.First(), cpus.Last()}, Moves: 5, Every: 200 * time.Microsecond,
		Pass: 64, Piece: 16, Batch: 100, Pieces: 3, Steady: 7, Calls: 2,
	}
	require.NoError(t, csrc.ProbePrepare(args.Probe))
	return args
}

// Every access is made, and counted from the first move on; every time is measured, and the CPU is checked.
func TestMigrate(t *testing.T) {
	buffer := make([]uint64, 64)
	args := someMoves(t, "sequential", buffer)
	r, err := migrate(buffer, args)
	require.NoError(t, err)
	assert.False(t, r.Stopped)
	assert.Len(t, r.Moves, 5)
	calls := 0.0
	for _, ns := range r.Moves {
		assert.GreaterOrEqual(t, ns, 0.0)
		calls += ns
	}
	assert.Positive(t, calls)
	assert.LessOrEqual(t, calls, float64(r.NS))
	for _, pieces := range r.Pieces {
		assert.NotEmpty(t, pieces)
		assert.LessOrEqual(t, len(pieces), 3)
	}
	for side := range r.Steady {
		assert.Len(t, r.Steady[side], 7)
		assert.Len(t, r.Calls[side], 2)
	}
	assert.EqualValues(t, 2+2*2+2*5, r.Looks)
	assert.Zero(t, r.Elsewhere)
	assert.GreaterOrEqual(t, r.NS, 5*args.Every.Nanoseconds())
	before := uint64(2 * (64 + 7*16))
	assert.Equal(t, before+r.Accesses, sum(buffer))
	assert.Positive(t, r.Accesses)
}

// A chase continues where it ended; otherwise it would visit the same lines after each move.
func TestMigrateChase(t *testing.T) {
	buffer := make([]uint64, 8*lineWords)
	args := someMoves(t, "chase", buffer)
	args.Pass, args.Steady, args.Every = 1, 1, 0
	args.Pieces, args.Piece = 1, 3
	r, err := migrate(buffer, args)
	require.NoError(t, err)
	assert.EqualValues(t, 5*3, r.Accesses, "a piece is between two moves, however soon the next one comes")
	at := uint64(0)
	for range 2*(1+3) + 5*3 {
		at = (buffer[at*lineWords] - uint64(uintptr(args.Probe.Buffer))) / csrc.ProbeLine
	}
	assert.Equal(t, at, r.Next)
}

func TestMigrateStop(t *testing.T) {
	buffer := make([]uint64, 64)
	args := someMoves(t, "random", buffer)
	args.Probe.Stop = csrc.NewStop()
	defer args.Probe.Stop.Free()
	args.Every = time.Hour
	go func() {
		tests.Pause(5 * time.Millisecond)
		args.Probe.Stop.Set()
	}()
	r, err := migrate(buffer, args)
	require.NoError(t, err)
	assert.True(t, r.Stopped)
	assert.LessOrEqual(t, len(r.Moves), 1)
	args.Every = 0
	r, err = migrate(buffer, args)
	require.NoError(t, err)
	assert.Empty(t, r.Moves)
}

func TestMigrateArguments(t *testing.T) {
	buffer := make([]uint64, 64)
	for name, change := range map[string]func(*csrc.MigrateArgs){
		"no move":      func(a *csrc.MigrateArgs) { a.Moves = 0 },
		"no pieces":    func(a *csrc.MigrateArgs) { a.Pieces = 0 },
		"empty pieces": func(a *csrc.MigrateArgs) { a.Piece = 0 },
		"no such CPU":  func(a *csrc.MigrateArgs) { a.CPUs[1] = 8191 },
		"no CPU":       func(a *csrc.MigrateArgs) { a.CPUs[0] = -1 },
		"beyond CPUs":  func(a *csrc.MigrateArgs) { a.CPUs[0] = 8192 },
	} {
		args := someMoves(t, "sequential", buffer)
		change(&args)
		_, err := migrate(buffer, args)
		assert.ErrorIs(t, err, syscall.EINVAL, name)
	}
	args := someMoves(t, "sequential", buffer)
	args.Probe.Access = "backwards"
	_, err := migrate(buffer, args)
	assert.ErrorContains(t, err, `no access "backwards"`)
}
