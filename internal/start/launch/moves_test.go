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
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/machine/perf"
	"gorun/internal/machine/topology"
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
