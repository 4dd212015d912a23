package view

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpec(t *testing.T) {
	options := OptionsOf(struct {
		Kernel  string         `json:"kernel"`
		Limit   uint64         `json:"limit"`
		Nice    *int           `json:"nice"`
		Barrier bool           `json:"barrier"`
		CPUs    []int          `json:"cpus"`
		Axis    map[string]int `json:"axis"`
	}{Kernel: "auto", Limit: math.MaxUint64, Nice: new(-3), CPUs: []int{0, 3}, Axis: map[string]int{"low": 1, "high": 0, "mid": 2}})
	assert.Equal(t, "18446744073709551615", options.Text("limit"), "not rounded to a float64")
	assert.Equal(t, "0,3", options.Text("cpus"), "a 0 in a list of CPUs is a CPU")
	assert.Equal(t, "low:1,mid:2", options.Text("axis"))
	assert.Equal(t, []string{"limit", "kernel", "axis", "cpus", "nice"}, options.Names("limit", "kernel"))
	for _, none := range []any{nil, "text", math.NaN()} {
		assert.Empty(t, OptionsOf(none))
	}
}
