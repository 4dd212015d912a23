package contend

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/reference"
	"gorun/internal/result"
)

// A row matches ccont's if the same number of CPUs of each node runs.
func TestSameLoad(t *testing.T) {
	five := reference.Row{"load": "cpu-increase", "op": "cmpxchg", "pattern": "**** *---", "cpus": "5"}
	row := result.ContendRow{Load: "cpu-increase", Op: "cmpxchg", Pattern: "**** *---", CPUs: 5}
	for _, test := range []struct {
		name   string
		change func(*result.ContendRow)
		want   bool
	}{
		{"the same", func(*result.ContendRow) {}, true},
		{"its compare-and-swap nearly always fails", func(r *result.ContendRow) { r.Op = "cmpxchg-fail" }, true},
		{"larger nodes", func(r *result.ContendRow) { r.Pattern = "****-- *-----" }, true},
		{"a third node, which is idle", func(r *result.ContendRow) { r.Pattern = "**** *--- ----" }, true},
		{"one node", func(r *result.ContendRow) { r.Pattern = "*****---" }, false},
		{"the other node", func(r *result.ContendRow) { r.Pattern = "*--- ****" }, false},
		{"another operation", func(r *result.ContendRow) { r.Op = "xadd" }, false},
		{"another load", func(r *result.ContendRow) { r.Load = "cpu-rollover" }, false},
		{"fewer CPUs", func(r *result.ContendRow) { r.CPUs, r.Pattern = 4, "**** ----" }, false},
		{"words apart", func(r *result.ContendRow) { r.DistBytes = 8 }, false},
		{"memory elsewhere", func(r *result.ContendRow) { r.MemNode = 1 }, false},
	} {
		changed := row
		test.change(&changed)
		assert.Equal(t, test.want, sameLoad(five, changed), test.name)
	}
	assert.Equal(t, []int{0, 4}, running("---- ****"))
}
