package view

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/result"
)

func TestSpec(t *testing.T) {
	options, err := SpecOfRun(&result.Run{Spec: struct {
		Kernel  string `json:"kernel"`
		Limit   uint64 `json:"limit"`
		Nice    *int   `json:"nice"`
		Barrier bool   `json:"barrier"`
	}{Kernel: "auto", Limit: math.MaxUint64, Nice: new(-3)}})
	require.NoError(t, err)
	assert.Equal(t, "18446744073709551615", options.Text("limit"), "not rounded to a float64")
	assert.Equal(t, []string{"limit", "kernel", "nice"}, options.Names("limit", "kernel"))

	measured := result.FiguresOf(&struct {
		Kernel string `json:"kernel"`
	}{"avx2"})
	options, err = SpecOfRun(&result.Run{Samples: []result.Sample{{Values: measured}}})
	require.NoError(t, err, "a run without options")
	assert.Equal(t, "avx2", options.Text("kernel"))

	_, err = SpecOfRun(&result.Run{Spec: "text"})
	require.Error(t, err)
	_, err = SpecOfRun(&result.Run{Spec: math.NaN})
	require.Error(t, err)
}
