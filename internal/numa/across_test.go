package numa

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
)

func TestMemShare(t *testing.T) {
	share := map[string]float64{"0": 0.25, "1": 0.75}
	assert.Nil(t, memShare(&result.Numa{NodePages: map[string]int{"0": 1}}))
	assert.Nil(t, memShare(&result.Numa{NodeShare: share}))
	assert.InDelta(t, 0.25, *memShare(&result.Numa{NodeShare: share, NodePages: map[string]int{"0": 8}}), 1e-9)
	assert.InDelta(t, 0.625, *memShare(&result.Numa{NodeShare: share, NodePages: map[string]int{"0": 4, "1": 12}}), 1e-9)
	assert.InDelta(t, 0, *memShare(&result.Numa{NodeShare: share, NodePages: map[string]int{"2": 8}}), 1e-9)
}

// rowsByShare returns rows whose times depend only on the share of the time on the memory's node.
func rowsByShare(r *rand.Rand, moves func(share float64) uint64) (rows []measuredRow) {
	for i := range 36 {
		share := r.Float64()
		row := measuredRow{NumaRow: result.NumaRow{Row: i, Mem: 0, Access: "random", BufferBytes: 4096}}
		for range 3 {
			row.seconds = append(row.seconds, 200-100*share+r.NormFloat64())
			row.samples = append(row.samples, result.Numa{
				NodePages: map[string]int{"0": 8}, NodeShare: map[string]float64{"0": share, "1": 1 - share},
				Migrations: &result.Migrations{CrossNode: moves(share)},
			})
		}
		rows = append(rows, row)
	}
	return rows
}

// Here moves have no effect by themselves: if they are independent of the share, no finding shows an effect of them,
// and if they correlate with the share, the share explains the effect.
func TestAcrossRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	rows := rowsByShare(r, func(share float64) uint64 { return uint64(2000*(1-share)) + uint64(r.IntN(200)) })
	findings := acrossRows(rows)
	require.Len(t, findings, 3)
	assert.Contains(t, findings[0].Message, "an interval without 0")
	assert.Greater(t, findings[0].Value, 2.0)
	assert.Contains(t, findings[2].Message, "consistent with no change")
	assert.InDelta(t, 0, findings[2].Value, 0.2)

	rows = rowsByShare(r, func(float64) uint64 { return uint64(r.IntN(2000)) })
	findings = acrossRows(rows)
	require.Len(t, findings, 3)
	assert.Equal(t, "moves-and-time", findings[0].Code)
	assert.Contains(t, findings[0].Message, "consistent with no change")
	assert.Equal(t, "share-and-time", findings[1].Code)
	assert.InDelta(t, -10/1.5, findings[1].Value, 1)
	assert.Contains(t, findings[1].Message,
		"Over 36 rows, each 10% more of the time on the memory's node changes the time by -")
	assert.Contains(t, findings[1].Message, "an interval without 0")
	assert.Equal(t, "moves-beyond-share", findings[2].Code)

	rows[3].BufferBytes = 8192
	assert.Empty(t, acrossRows(rows), "rows of different work")
	assert.Empty(t, acrossRows(nil))
	for i := range rows {
		rows[i].BufferBytes = 4096
		rows[i].samples = rows[i].samples[:1]
		rows[i].samples[0].NodeShare = nil
	}
	assert.Empty(t, acrossRows(rows), "the probe's nodes are unknown")
}

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
		assert.Equal(t, published36(t, name), got)
		var p result.Plan
		r.Plan(&p)
		samples := map[string]int{"rfc-intel": 64, "rfc-amd": 36}[name]
		assert.Equal(t, samples, r.Schedule.Samples)
		assert.Equal(t, samples, p.Estimate.Rounds)
		assert.InDelta(t, float64(samples)*p.Estimate.RoundSeconds, p.Estimate.Seconds, 1e-6)
		assert.Zero(t, p.Estimate.BudgetSeconds)
		assert.Zero(t, r.Schedule.Budget)
	}
	r := resolved(t, "qemu-epyc8", map[string]string{"preset": "rfc-amd", "mem": "3", "samples": strconv.Itoa(5)})
	require.Len(t, r.Cells, 12)
	assert.Equal(t, 3, r.Cells[0].Do.Row.Mem)
	assert.Zero(t, r.Schedule.Samples)
}

// On a machine with one node there are only sizes to compare, unless more is asked for.
func TestOneNode(t *testing.T) {
	r := resolved(t, "qemu-cpu2", map[string]string{"access": "random"})
	assert.Empty(t, r.Warnings)
	assert.Equal(t, 3, r.Schedule.Samples)
	var sizes []uint64
	for _, c := range r.Cells {
		assert.Empty(t, c.Lacking)
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
