package experiment

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
)

// Flags refuse what they cannot be, with the same error on a command line as in a matrix.
func TestBoundsAndChoices(t *testing.T) {
	for flag, values := range map[string]map[string]string{
		"workers": {"0": "", "9": "", "-1": "give a number from 0 to 9", "10": "give a number from 0 to 9", "x": "a whole number is needed"},
		"share":   {"0": "", "NaN": "give a number from 0 to 100", "100.1": "give a number from 0 to 100"},
		"time":    {"0s": "", "-1ns": "it cannot be negative"},
		"checks":  {"1": "", "18446744073709551615": "", "0": "give at least 1"},
		"node":    {"-1": "", "-2": "give at least -1"},
		"nice":    {"19": "", "-21": "give a number from -20 to 19"},
		"sched":   {"batch": "", "fast": "not a scheduling policy"},
		"split":   {"even": "", "odd": "there are even, all"},
		"array":   {"64KiB": "", "65536": "", "64KiB,1MiB": "give a single size", "5 words": "\"5 words\" is not a size"},
	} {
		for value, want := range values {
			set := NewFlagSet("test")
			var workers int
			var share float64
			var duration time.Duration
			var checks uint64
			var node, nice *int
			var split string
			set.IntVar(&workers, "workers", 0, "")
			Bound(set, &workers, "workers", 0, 9)
			set.Float64Var(&share, "share", 0, "")
			Bound(set, &share, "share", 0, 100)
			set.DurationVar(&duration, "time", 0, "")
			Bound(set, &duration, "time", 0, math.MaxInt64)
			set.Uint64Var(&checks, "checks", 1, "")
			Bound(set, &checks, "checks", 1, math.MaxUint64)
			set.OptionalInt(&node, "node", "", -1, math.MaxInt)
			set.Nice(&nice, "")
			set.Sched(new(*linux.Sched), "")
			set.Choice(&split, "split", "even", "", []string{"even\tequal parts", "all"})
			var array uint64
			set.Size(&array, "array", "")
			err := set.Set(flag, value)
			if want == "" {
				require.NoError(t, err, "%s %s", flag, value)
				assert.Equal(t, value, set.Lookup(flag).Value.String())
				assert.Equal(t, flag == "array", array == 64<<10)
				continue
			}
			require.ErrorContains(t, err, "--"+flag+" "+value+": "+want)
			assert.True(t, hint.IsUsage(err))
		}
	}
}
