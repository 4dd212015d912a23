package units

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
)

func TestBetween(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     float64
	}{
		{"us", "ms", 1e-3},
		{"µs", "us", 1},
		{"μs", "µs", 1},
		{"msec", "s", 1e-3},
		{"m", "s", 60},
		{"h", "m", 60},
		{"ms/op", "us/op", 1e3},
		{"", "k", 1e-3},
		{"M", "k", 1e3},
		{"T", "G", 1e3},
		{"KiB", "B", 1024},
		{"MiB/s", "GiB/sec", 1.0 / 1024},
		{"Gbits/sec", "Mbit/s", 1e3},
		{"Gbps", "Mbits/sec", 1e3},
		{"kops/s", "Mops/s", 1e-3},
		{"GB", "GB", 1},
		{"furlongs", "furlongs", 1},
	} {
		got, err := Between(c.from, c.to)
		require.NoError(t, err, "%v", c)
		assert.InEpsilon(t, c.want, got, 1e-12, "%v", c)
	}
	for _, c := range [][3]string{
		{"ms", "", "a figure in ms cannot be compared with one in no unit"},
		{"ms", "MiB", "cannot be compared"},
		{"ms", "ms/op", "cannot be compared"},
		{"%", "", "cannot be compared"},
		{"x", "y", "cannot be compared"},
		{"KB", "MB", "some programs count MB by 1000, and some by 1024"},
		{"B", "kB", "count kB by 1000"},
		{"MB", "MiB", "count MB by"},
		{"K", "M", "count K by"},
		{"GB/s", "MB/s", "count MB/s by"},
	} {
		_, err := Between(c[0], c[1])
		require.ErrorContains(t, err, c[2], "%v", c)
		assert.Equal(t, "let the program print all its figures in one unit", hint.Of(err))
	}
}

func TestKnown(t *testing.T) {
	for word, want := range map[string]bool{
		"ns": true, "us": true, "h": true, "k": true, "TB": true, "TiB/s": true, "%": true, "req/s": true, "": false, "good": false, "/s": false, "mood": false,
	} {
		assert.Equal(t, want, Known(word), word)
	}
}
