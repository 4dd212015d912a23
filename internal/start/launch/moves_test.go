package launch

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/machine/topology"
	"gorun/internal/record/result"
)

// move is the body of asMover.
func move(cpus []string) error {
	runtime.LockOSThread()
	for _, text := range cpus {
		cpu, err := strconv.Atoi(text)
		if err == nil {
			err = linux.SetAffinity(0, cpuset.Of(cpu))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runTraced runs a command on a CPU and counts its moves; if that is not allowed, the outcome must say so.
func runTraced(t *testing.T, cpu int, argv ...string) Outcome {
	t.Helper()
	c := command(argv...)
	c.Migrations = true
	o, err := run(t, c.on(cpuset.Of(cpu)))
	require.NoError(t, err)
	require.Zero(t, o.ExitCode, "%s", o.Stderr)
	if o.MovesBy == "" {
		assert.Nil(t, o.Migrations(&topology.Machine{}), "none is not 0")
		assert.Empty(t, o.Moves)
		require.NotNil(t, o.NoMoves)
		assert.NotEmpty(t, o.NoMoves.Hint)
		t.Skip("needs perf events")
	}
	return o
}

// A process in the background and one in its own session belong to the command.
func TestMovesOfACommandAndItsDescendants(t *testing.T) {
	const moves = 100
	cpus := tests.CPUs(t, 2)
	a, b := cpus[0], cpus[1]
	argv := sh(`"$0" "$@" & setsid "$0" "$@"; wait`, os.Args[0], asMover)
	argv = append(argv, slices.Repeat([]string{strconv.Itoa(a), strconv.Itoa(b)}, moves)...)
	o := runTraced(t, b, argv...)
	if o.MovesLost > 0 {
		t.Skip("needs space for records of moves")
	}
	assert.Equal(t, []perf.MoveCount{{From: a, To: b, Count: 2 * moves}, {From: b, To: a, Count: 2 * moves}}, o.Moves)
	m, err := topology.Read(os.DirFS("/"))
	require.NoError(t, err)
	assert.EqualValues(t, 4*moves, o.Migrations(m).Total)
}

func TestMovesOfACommandThatStays(t *testing.T) {
	allowed, err := linux.GetAffinity(0)
	require.NoError(t, err)
	o := runTraced(t, allowed.First(), "true")
	assert.Empty(t, o.Moves)
	n := o.Migrations(&topology.Machine{})
	require.NotNil(t, n, "0 is not none")
	assert.Zero(t, n.Total)
	assert.Equal(t, "switches", n.By)
}

// Moves are counted of each relation that CPUs of the machine have, if no record was lost.
func TestCountOfMovesByRelation(t *testing.T) {
	o := Outcome{MovesBy: "switches", Moves: []perf.MoveCount{{From: 0, To: 1, Count: 3}, {From: 1, To: 2, Count: 4}, {From: 3, To: 4, Count: 5}}}
	for name, want := range map[string]result.Counters{
		"qemu-cpu2":  {SameLLCMoves: new(uint64(3))},
		"qemu-numa2": {SameCoreMoves: new(uint64(3)), SameLLCMoves: new(uint64(4)), CrossNodeMoves: new(uint64(5))},
		"qemu-epyc8": {SameLLCMoves: new(uint64(3)), SameNodeMoves: new(uint64(4)), CrossNodeMoves: new(uint64(5))},
	} {
		var c result.Counters
		m := hosts.Machine(t, name)
		o.Count(m, &c)
		assert.Equal(t, want, c, name)
		lost := o
		lost.MovesLost = 1
		c = result.Counters{}
		lost.Count(m, &c)
		assert.Equal(t, result.Counters{}, c, name)
	}
}

// Events of the CPU are counted, or have a reason, of a command and its descendants.
func TestCountersOfACommand(t *testing.T) {
	c := command("true")
	c.Counters = true
	o, err := run(t, c)
	require.NoError(t, err)
	require.NotNil(t, o.Counters)
	if o.Counters.Cycles == nil {
		require.NotEmpty(t, o.Counters.Lacks)
		assert.Contains(t, o.Counters.Lacks[0].Of, "cycles")
		t.Skip("needs a PMU")
	}
	assert.Positive(t, *o.Counters.Cycles)
	assert.Positive(t, o.Counters.CountedSeconds)
}
