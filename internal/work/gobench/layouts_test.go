package gobench

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLinkFlags(t *testing.T) {
	for goflags, want := range map[string][]string{
		"":                             nil,
		"-v -tags=a":                   nil,
		"-ldflags=-s":                  {"-s"},
		`-v "-ldflags=-s -w" -mod=mod`: {"-s -w"},
		"'--ldflags=example.com/...=-X a.b=c' -ldflags=": {"example.com/...=-X a.b=c", ""},
	} {
		assert.Equal(t, want, linkFlags(goflags), goflags)
	}
	assert.Equal(t, []string{"-ldflags=-randlayout=5", "-ldflags=-s -w -randlayout=5", "-ldflags= -randlayout=5"},
		laidOut([]string{"-s -w", ""}, 5))
}

func TestLayoutSeed(t *testing.T) {
	seeds := map[int32]bool{}
	for layout := range 100 {
		seed := layoutSeed(7, layout)
		assert.Positive(t, seed)
		seeds[seed] = true
		seeds[layoutSeed(8, layout)] = true
	}
	assert.Len(t, seeds, 200)
}
