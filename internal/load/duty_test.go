package load

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// machine is a CPU whose clocks advance only while a burner burns or sleeps.
type machine struct {
	t         require.TestingT
	now, cpu  time.Duration
	unit      time.Duration // CPU time of a burn
	late      time.Duration // delay of a wake-up
	share     func(now time.Duration) float64
	stall     map[time.Duration]time.Duration // time lost at the first reading of the clock from then on
	burning   time.Duration                   // since the last sleep
	longest   time.Duration                   // time of burning without a sleep
	sleptPast bool
}

func (m *machine) wall() time.Duration {
	for at, length := range m.stall {
		if m.now >= at {
			m.now += length
			delete(m.stall, at)
		}
	}
	return m.now
}

func (m *machine) used() time.Duration { return m.cpu }

func (m *machine) burn() {
	share := 1.0
	if m.share != nil {
		share = m.share(m.now)
	}
	m.cpu += m.unit
	m.now += time.Duration(float64(m.unit) / share)
	m.burning += m.unit
	m.longest = max(m.longest, m.burning)
}

func (m *machine) sleep(until time.Duration) {
	m.sleptPast = m.sleptPast || until < m.now
	m.now = max(m.now, until) + m.late
	m.burning = 0
}

// run runs a duty cycle until that time of the machine's clock.
func (m *machine) run(o Options, until time.Duration) Report {
	return o.duty(m, func() bool { return m.now >= until })
}

func draw(t *rapid.T) (Options, *machine) {
	period := time.Duration(rapid.IntRange(2, 30).Draw(t, "period")) * time.Millisecond
	o := Options{
		CPU:     rapid.IntRange(0, 500).Draw(t, "CPU"),
		Percent: rapid.Float64Range(5, 95).Draw(t, "percent"),
		Period:  period,
		Phase:   time.Duration(rapid.Int64Range(0, int64(period)-1).Draw(t, "phase")),
	}
	return o, &machine{
		t:    t,
		now:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "now")),
		cpu:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "CPU time")),
		unit: time.Duration(rapid.Int64Range(5000, 20_000).Draw(t, "unit")),
		late: time.Duration(rapid.Int64Range(0, int64(period)/50).Draw(t, "late")),
	}
}

// Alone on a CPU, a burner uses the requested time within one burn and one wake-up, even after a long run.
func TestDutyAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, m := draw(t)
		periods := rapid.IntRange(1, 200).Draw(t, "periods")
		begin := m.now.Truncate(o.Period) + o.Period + o.Phase
		base := m.cpu
		r := m.run(o, begin+time.Duration(periods)*o.Period)

		require.Equal(t, uint64(periods), r.Periods)
		require.Equal(t, o.CPU, r.CPU)
		require.Equal(t, o.Percent, r.Asked)
		require.Zero(t, r.Stalls)
		require.Zero(t, r.LostSeconds)
		require.False(t, m.sleptPast)
		wall := float64(periods) * o.Period.Seconds()
		require.InDelta(t, wall, r.WallSeconds, 1e-9, "as late at the end as at the start")
		require.InDelta(t, (m.cpu - base).Seconds(), r.CPUSeconds, 1e-9)
		require.InDelta(t, wall*o.Percent/100, r.CPUSeconds, m.unit.Seconds()+1e-6)
		require.InDelta(t, 100*r.CPUSeconds/r.WallSeconds, r.Percent, 1e-9)
		require.LessOrEqual(t, r.WorstPeriod, 100*float64(m.unit+1000)/float64(o.Period))
		require.Equal(t, begin+time.Duration(periods)*o.Period+m.late, m.now, "periods end at absolute times")
	})
}

// A full load sleeps only at the start.
func TestDutyFull(t *testing.T) {
	m := &machine{t: t, unit: 10 * time.Microsecond}
	r := m.run(Options{Percent: 100, Period: Period}, time.Second)
	assert.InDelta(t, 100, r.Percent, 1e-9)
	assert.InDelta(t, 0.99, m.longest.Seconds(), 0.001)
}

// CPU time lost to others is made up for if it is at most a quota.
func TestDutyCatchesUp(t *testing.T) {
	m := &machine{
		t: t, unit: 10 * time.Microsecond,
		stall: map[time.Duration]time.Duration{102 * time.Millisecond: 9 * time.Millisecond},
	}
	r := m.run(Options{Percent: 60, Period: Period}, time.Second)
	assert.Zero(t, r.Stalls)
	assert.InDelta(t, 60, r.Percent, 0.01)
	assert.InDelta(t, 40, r.WorstPeriod, 5, "a period without a burn, and full ones to make up for it")
}

// After a long stall the burner makes up for one quota, and drops the rest.
func TestDutyStall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, m := draw(t)
		length := time.Duration(rapid.Int64Range(int64(3*o.Period), int64(time.Minute)).Draw(t, "stall"))
		begin := m.now.Truncate(o.Period) + o.Period + o.Phase
		at := begin + time.Duration(rapid.Int64Range(int64(o.Period), int64(time.Second/5)).Draw(t, "at"))
		m.stall = map[time.Duration]time.Duration{at: length}
		r := m.run(o, at+length+time.Second) // enough time to make up for one quota
		require.Contains(t, []uint64{1, 2}, r.Stalls, "it may end in the middle of a period, which is then too short")
		quota := o.Percent / 100 * o.Period.Seconds()
		lost := o.Percent / 100 * length.Seconds()
		require.InDelta(t, lost, r.LostSeconds, 3*quota+m.unit.Seconds()+1e-4)
		require.InDelta(t, o.Percent/100*r.WallSeconds, r.CPUSeconds+r.LostSeconds, quota+m.unit.Seconds()+1e-4,
			"the requested time is used or dropped")
		most := 2 * quota / (1 - o.Percent/100)
		require.LessOrEqual(t, m.longest.Seconds(), most+o.Period.Seconds()+m.unit.Seconds(), "no long burst")
		require.Greater(t, r.WorstPeriod, o.Percent/2)
		require.InDelta(t, r.WallSeconds/o.Period.Seconds(), r.Periods, 1, "including those without a burn")
	})
}

// Next to a process that never sleeps a burner gets its fair share, and its full load again when that process has gone.
func TestDutyBesideHog(t *testing.T) {
	const gone = 2 * time.Second
	for percent, want := range map[float64]float64{60: 50, 90: 50, 30: 30, 45: 45} {
		m := &machine{t: t, unit: 10 * time.Microsecond, share: func(now time.Duration) float64 {
			if now < gone {
				return 0.5
			}
			return 1
		}}
		o := Options{Percent: percent, Period: Period}
		r := m.run(o, gone)
		assert.InDelta(t, want, r.Percent, 0.1, percent)
		assert.Equal(t, want < percent, r.Stalls > 0)
		assert.InDelta(t, (percent-want)/100*r.WallSeconds, r.LostSeconds, Period.Seconds())
		assert.Equal(t, want, FairShare(percent, 100))

		begin, base := m.now, m.cpu
		r = m.run(o, begin+time.Second)
		assert.InDelta(t, percent, r.Percent, 0.1, percent)
		assert.InDelta(t, percent, 100*float64(m.cpu-base)/float64(m.now-begin), 1, percent)
	}
}

func TestFairShare(t *testing.T) {
	for _, c := range []struct{ asked, rival, want float64 }{
		{60, 0, 60},
		{60, 30, 60},
		{60, 40, 60},
		{60, 45, 55},
		{60, 50, 50},
		{60, 100, 50},
		{50, 100, 50},
		{30, 100, 30},
		{100, 100, 50},
		{100, 10, 90},
		{100, 0, 100},
	} {
		assert.Equal(t, c.want, FairShare(c.asked, c.rival), "%v", c)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float64Range(0, 100).Draw(t, "a"), rapid.Float64Range(0, 100).Draw(t, "b")
		forA, forB := FairShare(a, b), FairShare(b, a)
		require.InDelta(t, min(100, a+b), forA+forB, 1e-9, "no time is left unused while one of them requests it")
		require.LessOrEqual(t, forA, a)
		require.GreaterOrEqual(t, forA, min(a, 50))
	})
}

func TestDeviations(t *testing.T) {
	second := func(cpu int, asked, percent float64) Achieved {
		return Achieved{CPU: cpu, Asked: asked, Percent: percent, Seconds: 1, period: Period}
	}
	for _, c := range []struct {
		load     Achieved
		part     float64
		expected float64 // 0: no deviation
	}{
		{second(3, 60, 60), 0, 0},
		{second(3, 60, 57.8), 0, 0},
		{second(3, 60, 57.7), 0, 60},
		{second(3, 60, 62.2), 0, 0},
		{second(3, 60, 62.3), 0, 60},
		{second(3, 60, 50), 0, 60},
		{second(3, 60, 50), 1, 0},
		{second(3, 60, 60), 1, 0},
		{second(3, 60, 62.3), 1, 60},
		{second(3, 60, 47.7), 1, 50},
		{second(3, 60, 55), 0.5, 0},
		{second(3, 60, 52), 0.5, 55},
		{second(3, 30, 30), 1, 0},
		{second(3, 100, 97.9), 0, 100},
		{second(3, 100, 0), 0, 100},
		{Achieved{CPU: 3, Asked: 60, Percent: 50, Seconds: 0.02, period: Period}, 0, 0},
		{Achieved{CPU: 3, Asked: 60, Percent: 44, Seconds: 0.02, period: Period}, 0, 60},
		{Achieved{CPU: 3, Asked: 60, period: Period}, 0, 0},
	} {
		got := Deviations([]Achieved{second(1, 20, 20), c.load}, map[int]float64{3: c.part, 1: 0.5})
		if c.expected == 0 {
			assert.Empty(t, got, "%+v", c)
			continue
		}
		require.Len(t, got, 1, "%+v", c)
		assert.Equal(t, c.load, got[0].Achieved)
		assert.Equal(t, c.expected, got[0].Expected)
		assert.Greater(t, math.Abs(c.load.Percent-c.expected), got[0].Tolerance)
	}
	assert.Equal(t, "CPU 3 had a load of 52.1%, expected 60.0%",
		Deviation{second(3, 60, 52.12), 60, 2}.String())
	assert.Equal(t, "CPU 3 had a load of 40.0%, expected 50.0% to 60.0%", Deviation{second(3, 60, 40), 50, 2}.String())
}
