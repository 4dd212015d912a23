package numa

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
