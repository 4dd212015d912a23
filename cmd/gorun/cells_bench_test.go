package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"gorun/internal/record/result"
)

// BenchmarkCells compares what gorun itself uses for a sample of 512 cells with that for a sample of 8.
func BenchmarkCells(b *testing.B) {
	gorun := built(b)
	var few, many []float64
	for range b.N {
		for cells, of := range map[int]*[]float64{8: &few, 512: &many} {
			out, err := exec.CommandContext(b.Context(), gorun, "ab", "true {x}", "--param-range", fmt.Sprintf("x=1:%d", cells),
				"--samples", "10", "--warmup", "0", "--quiet", "--format", "json").Output()
			require.NoError(b, err)
			var run result.Run
			require.NoError(b, json.Unmarshal(out, &run))
			*of = append(*of, 1e3*run.Overhead.CPUSeconds/float64(run.Samples.Len()))
		}
	}
	b.ReportMetric(middle(many), "ms/sample")
	b.ReportMetric(middle(many)/middle(few), "512-cells/8")
	b.ReportMetric(0, "ns/op")
}
