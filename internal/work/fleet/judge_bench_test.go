package fleet

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// BenchmarkJudge judges a fleet with 20 visits of each of 5,000 nodes, with all measures that a machine of two nodes has, as a ratio
// to the time of one thread that only decodes these files.
func BenchmarkJudge(b *testing.B) {
	m := fleetOf(5000, 20)
	for node := range 50 { // a single one cannot be named after 20 visits: 2^20 is less than 5,000 × 11 / 5%
		m = m.slowed(100*node, "m3", 1.06)
	}
	m.measures = nil
	for i := range 11 {
		m.measures = append(m.measures, "m"+string(rune('0'+i)))
	}
	m.host = func(node int, h *result.Host) {
		h.Hostname, h.CommandLine = name(node), strings.Repeat("quiet option=value ", 20)
	}
	m.change = func(_, _ int, lines []Line) []Line {
		for i := range lines {
			if lines[i].Measure != nil {
				lines[i].Measure.Samples = []float64{101.123456789, 102.123456789, 103.123456789, 104.123456789, 105.123456789}
			}
		}
		return lines
	}
	dir := m.write(b)
	files := tests.Glob(b, filepath.Join(dir, "*", "*", "*"))
	for b.Loop() {
		begun := time.Now()
		for _, path := range files {
			text := tests.Read(b, path)
			for line := range strings.Lines(string(text)) {
				var l Line
				require.NoError(b, json.Unmarshal([]byte(line), &l))
			}
		}
		decoding := time.Since(begun)
		begun = time.Now()
		j := judgeDir(b, dir, options())
		judging := time.Since(begun)
		require.Len(b, j.Slow, 50)
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		b.ReportMetric(judging.Seconds(), "s")
		b.ReportMetric(float64(judging)/float64(decoding), "judging/decoding")
		b.ReportMetric(float64(memory.Sys)/1e6, "MB")
	}
}
