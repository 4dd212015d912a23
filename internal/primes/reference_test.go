package primes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
)

// A cell is the row of the text that has its features, with as many numbers a worker.
func TestPublishedRows(t *testing.T) {
	cpus := func(all, bound int) map[string]result.CPUs {
		return map[string]result.CPUs{"cpus": {Count: all}, "pin-cpus": {Count: bound}}
	}
	for _, test := range []struct {
		flags map[string]string
		cpus  map[string]result.CPUs
		want  string // "": none
	}{
		{map[string]string{"workers": "50", "serial": "true"}, cpus(4, 0), "No GR, 50 workers"},
		{map[string]string{"workers": "50000"}, cpus(4, 0), "GR ON, 50000 workers"},
		{map[string]string{"workers": "5000", "limit": "20000", "split": "original"}, cpus(4, 0), "GR ON, 50000 workers"},
		{map[string]string{"workers": "2000", "lock-thread": "true"}, cpus(4, 0), "F1-LK GR, 2000 workers"},
		{map[string]string{"workers": "500", "pin-cpus": "0", "lock-thread": "false"}, cpus(4, 1), "F2-1 CPU, 500 workers"},
		{map[string]string{"workers": "500", "pin-cpus": "0,1"}, cpus(4, 2), "F2-8 CPUs, 500 workers"},
		{map[string]string{"workers": "500", "pin-cpus": "0"}, cpus(2, 1), "F2-8 CPUs, 500 workers"},
		{map[string]string{"workers": "500", "pin-cpus": "all"}, cpus(4, 4), "F2-16 CPUs, 500 workers"},
		{map[string]string{"workers": "500", "pin-thread": "true"}, cpus(4, 0), "F3-LK T, 500 workers"},
		{map[string]string{"workers": "500", "nice": "0"}, cpus(4, 0), "F4 - PRTY, 500 workers"},
		{
			map[string]string{"workers": "500", "pin-cpus": "all", "lock-thread": "true", "pin-thread": "true", "nice": "0"},
			cpus(4, 4), "F1,2,3,4, 500 workers",
		},
		{map[string]string{"workers": "60"}, cpus(4, 0), ""},
		{map[string]string{"workers": "many"}, cpus(4, 0), ""},
		{map[string]string{"workers": "0"}, cpus(4, 0), ""},
		{map[string]string{"workers": "50", "limit": "0"}, cpus(4, 0), ""},
		{map[string]string{"workers": "500", "nice": "10"}, cpus(4, 0), ""},
		{map[string]string{"workers": "500", "dispatch": "executor"}, cpus(4, 0), ""},
		{map[string]string{"workers": "500", "pin-cpus": "0-2"}, cpus(8, 3), ""},
	} {
		run := &result.Run{Experiment: "primes", Cells: []result.Cell{{Flags: test.flags, CPUs: test.cpus}}}
		r, err := published.Of(run)
		require.NoError(t, err)
		name := ""
		if len(r.Rows) > 0 {
			name = r.Rows[0].Name
		}
		assert.Equal(t, test.want, name, "%v", test.flags)
	}
}
