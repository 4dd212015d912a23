package units

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTogether(t *testing.T) {
	for _, c := range []struct {
		all  []float64
		want []string
	}{
		{[]float64{29.44, 2.97}, []string{"29.44 s", "2.97 s"}},
		{[]float64{0.161, 0.0413}, []string{"161.0 ms", "41.3 ms"}},
		{[]float64{0.9, 1.1}, []string{"0.900 s", "1.100 s"}},
		{[]float64{1.2, 0.05}, []string{"1200.0 ms", "50.0 ms"}},
		{[]float64{3e-9}, []string{"3.00 ns"}},
		{[]float64{250, 100}, []string{"250 s", "100 s"}},
		{[]float64{29.44, 0.00297}, []string{"29.4 s", "2.97 ms"}},
		{[]float64{0, 2}, []string{"0.00 s", "2.00 s"}},
		{nil, nil},
	} {
		show := CommonUnit(c.all)
		var got []string
		for _, x := range c.all {
			got = append(got, show(x))
		}
		assert.Equal(t, c.want, got)
	}
}

// A scale has one unit, however far its durations lie apart.
func TestScaleOf(t *testing.T) {
	for _, c := range []struct {
		all  []float64
		want []string
	}{
		{[]float64{29.44, 2.97}, []string{"29.44 s", "2.97 s"}},
		{[]float64{1.2, 0.05, 0}, []string{"1200.0 ms", "50.0 ms", "0.0 ms"}},
		{[]float64{29.44, 0.00297}, []string{"29440 ms", "2.97 ms"}},
		{[]float64{3e-9, 0.5}, []string{"0.003 µs", "500000 µs"}},
		{[]float64{93.2e-9, 1.1027}, []string{"0.0932 µs", "1102700 µs"}},
		{[]float64{0}, []string{"0 s"}},
	} {
		scale := ScaleOf(c.all)
		var got []string
		for _, x := range c.all {
			got = append(got, scale.Text(x))
		}
		assert.Equal(t, c.want, got)
	}
	assert.Equal(t, "0.200 s", ScaleOf([]float64{0.2, 1}).Text(0.2))
	assert.Equal(t, "200 ms", ScaleFrom(1, []float64{0.2, 1}).Text(0.2), "as Seconds writes it")
	assert.InEpsilon(t, 29440, ScaleOf([]float64{29.44, 0.00297}).In(29.44), 1e-9)
}

func TestWholeUnit(t *testing.T) {
	for _, c := range []struct {
		times []float64
		unit  string
	}{
		{nil, "s"},
		{[]float64{136.5, 168}, "s"},
		{[]float64{1, 2000}, "s"},
		{[]float64{0.99, 50}, "ms"},
		{[]float64{0.00099}, "µs"},
		{[]float64{1e-10}, "ns"},
		{[]float64{0, 3}, "s"},
	} {
		factor, unit := WholeUnit(c.times)
		assert.Equal(t, c.unit, unit, "%v", c.times)
		assert.Positive(t, factor)
	}
}

func TestScales(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Seconds(0), "0 s"},
		{Seconds(12.34e-9), "12.3 ns"},
		{Seconds(999.6e-9), "1.00 µs"},
		{Seconds(0.9996e-3), "1.00 ms"},
		{Seconds(0.0123), "12.3 ms"},
		{Seconds(0.99949), "999 ms"},
		{Seconds(0.9996), "1.00 s"},
		{Seconds(9.996), "10.0 s"},
		{Seconds(99.96), "100 s"},
		{Seconds(86400), "86400 s"},
		{Seconds(-0.002), "-2.00 ms"},
		{Large(0), "0"},
		{Large(9999), "9999"},
		{Large(12345), "12.3 k"},
		{Large(999600), "1.00 M"},
		{Large(2.00001e10), "20.0 G"},
		{Large(3e15), "3000 T"},
		{Count(12.5), "12.5"},
		{Count(1e18), "1000000000000000000"},
		{Percent(0.98765), "98.8 %"},
		{Share(0.02), "2%"},
		{Share(0.07), "7%"},
		{Share(0.005), "0.5%"},
		{Share(0.12345), "12.35%"},
		{Duration(0), "0.0 s"},
		{Duration(4.12), "4.1 s"},
		{Duration(9.96), "10 s"},
		{Duration(60), "1 min"},
		{Duration(103.2), "1 min 43 s"},
		{Duration(3600), "1 h"},
		{Duration(7384), "2 h 3 min"},
		{Duration(1e300), "596523 h 14 min"},
		{Ratio(1.005), "1.00"},
	} {
		assert.Equal(t, c.want, c.got)
	}
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.NotPanics(t, func() { _, _, _ = Seconds(odd), Large(odd), Count(odd) })
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "0 B", 512: "512 B", 1 << 10: "1 KiB", 32 << 20: "32 MiB", 67316547584: "62.7 GiB", 1<<30 - 1: "1.00 GiB",
		128 << 30: "128 GiB", 3 << 41: "6 TiB", 1<<64 - 1: "16 EiB",
	} {
		assert.Equal(t, want, Bytes(bytes))
	}
}
