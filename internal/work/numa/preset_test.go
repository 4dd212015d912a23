package numa

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

// The presets are the source's rows, also on eight nodes, with as many samples; a flag that is given goes before.
func TestPresets(t *testing.T) {
	for host, name := range map[string]string{"qemu-numa2": "rfc-intel", "qemu-epyc8": "rfc-amd"} {
		r := resolved(t, host, map[string]string{"preset": name})
		require.Len(t, r.Cells, 36)
		var got []string
		for _, c := range r.Cells {
			got = append(got, label(c.Do.Row))
			assert.True(t, c.Do.SetBalancing)
			if c.Do.Row.Mem == Float {
				assert.Equal(t, TouchBefore, c.Do.Row.FirstTouch)
			}
		}
		var want []string
		rows, _ := rfcRows(t, strings.TrimPrefix(name, "rfc-"))
		for _, row := range rows {
			want = append(want, label(row))
		}
		assert.Equal(t, want, got)
		samples := map[string]int{"rfc-intel": 64, "rfc-amd": 36}[name]
		assert.Equal(t, samples, r.Schedule.Samples)
	}
	r := resolved(t, "qemu-epyc8", map[string]string{"preset": "rfc-amd", "mem": "3"})
	require.Len(t, r.Cells, 12)
	assert.Equal(t, 3, r.Cells[0].Do.Row.Mem)
}

// On a machine with one node there are only sizes to compare, unless more is asked for.
func TestOneNode(t *testing.T) {
	r := resolved(t, "qemu-cpu2", map[string]string{"access": "random"})
	assert.Empty(t, r.Warnings)
	assert.Equal(t, 3, r.Schedule.Samples)
	var sizes []uint64
	for _, c := range r.Cells {
		assert.Empty(t, c.Unavailable)
		assert.Equal(t, result.NumaRow{
			Row: len(sizes), Mem: Float, CPU: Float, NUMABalancing: KeepSetting, PreferredNode: None,
			Access: "random", Pages: "4k", BufferBytes: c.Do.Row.BufferBytes,
		}, c.Do.Row)
		assert.Zero(t, c.Do.Load)
		assert.False(t, c.Do.SetBalancing)
		sizes = append(sizes, c.Do.Row.BufferBytes)
	}
	assert.Equal(t, []uint64{32 << 10, 1 << 20, 32 << 20, 256 << 20}, sizes)
	assert.NotEmpty(t, resolved(t, "qemu-cpu2", map[string]string{"cpu": "0"}).Warnings, "the rows of the RFC")
}
