package result

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// That the buckets are those of Prometheus is tested in package metrics, with its client.
func TestHistogramBuckets(t *testing.T) {
	// Powers of two are the ends that classic buckets share, so they must be exact.
	for octave := leastOctave; octave <= lastOctave; octave++ {
		var h Histogram
		h.Add(math.Exp2(float64(octave)))
		h.Add(math.Nextafter(math.Exp2(float64(octave)), math.Inf(1)))
		want := uint64(1)
		if octave == lastOctave {
			want = 2 // the last bucket counts all longer ones
		}
		assert.Equal(t, want, h.UpTo(octave), "2^%d s", octave)
	}
	for seconds, want := range map[float64]int{0: 0, -1: 0, 1e9: HistogramSize - 1} {
		assert.Equal(t, want, HistogramIndex(seconds), "%v s", seconds)
	}
	assert.Zero(t, HistogramIndex(math.NaN()))
}

func TestExtentLeft(t *testing.T) {
	for name, c := range map[string]struct {
		extent  Extent
		samples int
		elapsed float64
		want    *float64
	}{
		"open-ended":              {Extent{}, 3, 9, nil},
		"nothing is done yet":     {Extent{Samples: 6}, 0, 1, nil},
		"by samples":              {Extent{Samples: 6}, 2, 10, new(20.0)},
		"done":                    {Extent{Samples: 6}, 6, 10, new(0.0)},
		"the budget is less":      {Extent{Samples: 6, Budget: 12}, 2, 10, new(2.0)},
		"the samples are less":    {Extent{Samples: 6, Budget: 100}, 2, 10, new(20.0)},
		"the budget alone":        {Extent{Budget: 12}, 0, 10, new(2.0)},
		"beyond the budget":       {Extent{Samples: 6, Budget: 9}, 2, 10, new(0.0)},
		"for a duration":          {Extent{Duration: 60}, 7, 45, new(15.0)},
		"the budget cuts it":      {Extent{Duration: 60, Budget: 50}, 7, 45, new(5.0)},
		"for a duration, at last": {Extent{Duration: 60}, 7, 61, new(0.0)},
	} {
		assert.Equal(t, c.want, c.extent.Left(c.samples, c.elapsed), name)
	}
}

func TestTaken(t *testing.T) {
	half, two := 0.5, uint64(2)
	var taken Totals
	taken.Add(Sample{Seconds: 1, Quality: Quality{Grade: Valid}}, nil)
	assert.Nil(t, taken.Steal, "no sample has it, and it is not zero")
	assert.Nil(t, taken.Migrations)
	before := taken.Clone()
	taken.Add(Sample{Seconds: 2, Quality: Quality{Grade: Suspect, Signals: Signals{
		WatchedSeconds: 2.25, StealSeconds: &half, Migrations: &two, MajorFaults: &two,
	}}}, nil)
	taken.Add(Sample{Seconds: 4, Quality: Quality{Grade: Suspect, Signals: Signals{StealSeconds: &half}}}, nil)
	recorded := map[string]uint64{"same-core": 3, UnknownRelation: 0}
	taken.Add(Sample{Seconds: 8, Quality: Quality{Grade: Invalid, Signals: Signals{Migrations: &two}}}, recorded)

	assert.Equal(t, 4, taken.Samples)
	assert.Equal(t, map[Grade]uint64{Valid: 1, Suspect: 2, Invalid: 1}, taken.Grades)
	assert.InDelta(t, 1.0, *taken.Steal, 1e-12)
	assert.Equal(t, two, *taken.MajorFaults)
	assert.Nil(t, taken.MinorFaults)
	assert.InDelta(t, 2.25, taken.Watched, 1e-12)
	assert.Equal(t, map[string]uint64{"same-core": 3, UnknownRelation: 2}, taken.Migrations)
	one := Totals{Relation: "same-llc"}
	one.Add(Sample{Quality: Quality{Signals: Signals{Migrations: &two}}}, nil)
	assert.Equal(t, map[string]uint64{"same-llc": 2}, one.Migrations, "there is no other relation")
	assert.EqualValues(t, 4, taken.Seconds.Total())
	assert.InDelta(t, 15, taken.Seconds.Sum, 1e-12)

	assert.Equal(t, map[Grade]uint64{Valid: 1}, before.Grades, "what was read does not change")
	assert.EqualValues(t, 1, before.Seconds.Total())
}
