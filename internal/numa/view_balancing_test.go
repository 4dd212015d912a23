package numa

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/render/term"
	"gorun/internal/result"
)

// scanned returns a row of one sample for which NUMA balancing was on.
func scanned(row result.NumaRow, settling, settled result.NumaPhase) measuredRow {
	on := 1
	v := result.Numa{NumaRow: row, BalancingRead: &on, Settling: &settling, Settled: &settled}
	return measuredRow{NumaRow: row, cell: -1, seconds: []float64{1}, samples: []result.Numa{v}}
}

func faults(n uint64) *uint64 { return &n }

func TestBalancingBlock(t *testing.T) {
	n := func(n int) *int { return &n }
	rows := []measuredRow{scanned(result.NumaRow{Row: 3, Mem: Float},
		result.NumaPhase{
			NsPerAccess: 20, ScanSeq: n(2), BufferMoved: n(300), PagesMigrated: n(310),
			BufferFaults: faults(400),
		},
		result.NumaPhase{
			NsPerAccess: 10, ScanSeq: n(4), BufferMoved: n(7), PagesMigrated: n(320),
			BufferFaults: faults(9), FaultsLost: 6,
		})}
	text := balancingBlock(rows, term.Options{Width: 200})
	assert.Regexp(t, `\[03\] +20\.00 / 10\.00 +2 / 4 +400 / 9 +300 / 7 +310 / 320`, text)
	assert.Empty(t, scansNote(&rows[0]), "accesses faulted")

	rows[0].samples[0].Settling, rows[0].samples[0].Settled.ScanSeq = nil, nil
	rows[0].samples[0].Settled.BufferFaults = nil
	assert.Regexp(t, `\[03\] +- / 10\.00 +- / - +- / - +- / 7 +- / 320`,
		balancingBlock(rows, term.Options{Width: 200}))

	off := 0
	rows[0].samples[0].BalancingRead = &off
	assert.Empty(t, balancingBlock(rows, term.Options{}))
}

// A note says that balancing looked at the process and no access faulted, and gives the reason if the memory is bound.
func TestScansNote(t *testing.T) {
	n := func(n int) *int { return &n }
	none := result.NumaPhase{ScanSeq: n(2), BufferFaults: faults(0)}
	for _, c := range []struct {
		row  result.NumaRow
		want string
	}{
		{result.NumaRow{Mem: 0}, "skipped the buffer, as it does with memory that is bound"},
		{result.NumaRow{Mem: 0, MemPolicy: BindBalancing}, "no access to the buffer faulted"},
		{result.NumaRow{Mem: Float}, "no access to the buffer faulted"},
	} {
		row := scanned(c.row, none, none)
		assert.Contains(t, scansNote(&row), c.want)
	}
	never := none
	never.ScanSeq = n(0)
	row := scanned(result.NumaRow{Mem: Float}, never, never)
	assert.Empty(t, scansNote(&row), "it never looked")
	lost := none
	lost.FaultsLost = 1
	row = scanned(result.NumaRow{Mem: Float}, none, lost)
	assert.Empty(t, scansNote(&row), "one may have been in the buffer")
}

func TestPagesBlock(t *testing.T) {
	settling := result.NumaPhase{NodePages: map[string]int{"0": 1, "1": 3}}
	row := scanned(result.NumaRow{Row: 1, Mem: Float}, settling, result.NumaPhase{})
	row.samples[0].TouchedPages = map[string]int{"0": 4}
	row.samples[0].NodePages = map[string]int{"1": 4}
	assert.Regexp(t, `\[01\] +100\.0 % / 25\.0 % / 0\.0 % +0\.0 % / 75\.0 % / 100\.0 %`,
		pagesBlock([]measuredRow{row}, term.Options{Width: 200}))
	row.samples[0].Settling.NodePages, row.samples[0].NodePages = nil, nil
	assert.Empty(t, pagesBlock([]measuredRow{row}, term.Options{}), "one node")
}

func TestLifeBlock(t *testing.T) {
	row := scanned(result.NumaRow{Row: 1}, result.NumaPhase{}, result.NumaPhase{})
	block := migrations(ofLife).block
	assert.Empty(t, block("", []measuredRow{row}, term.Options{}))
	row.samples[0].LifeMigrations = &result.Migrations{Total: 6, SameCore: 1, SameLLC: 2, CrossNode: 3}
	assert.Regexp(t, `\[01\] +1 +2 +0 +3 +6`, block("", []measuredRow{row}, term.Options{Width: 100}))
}
