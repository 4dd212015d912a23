package load

import (
	"fmt"
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
	slept     []time.Duration                 // CPU time from sleep to sleep
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
	m.slept = append(m.slept, m.burning)
	m.now = max(m.now, until) + m.late
	m.burning = 0
}

// run runs a duty cycle until that time of the machine's clock. It returns the seconds since its first period began, and the CPU
// time in them.
func (m *machine) run(o Burner, until time.Duration) (wall, used float64) {
	begin, base := m.now.Truncate(Period)+Period+o.Phase+m.late, m.cpu
	o.duty(m, func() bool { return m.now >= until })
	return (m.now - begin).Seconds(), (m.cpu - base).Seconds()
}

func draw(t *rapid.T) (Burner, *machine) {
	o := Burner{
		CPU:     rapid.IntRange(0, 500).Draw(t, "CPU"),
		Percent: rapid.Float64Range(5, 95).Draw(t, "percent"),
		Phase:   time.Duration(rapid.Int64Range(0, int64(Period)-1).Draw(t, "phase")),
	}
	return o, &machine{
		t:    t,
		now:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "now")),
		cpu:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "CPU time")),
		unit: time.Duration(rapid.Int64Range(5000, 20_000).Draw(t, "unit")),
		late: time.Duration(rapid.Int64Range(0, int64(Period)/50).Draw(t, "late")),
	}
}

// Alone on a CPU, a burner uses the requested time within one burn and one wake-up, in each period and after a long run.
func TestDutyAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, m := draw(t)
		periods := rapid.IntRange(1, 200).Draw(t, "periods")
		end := m.now.Truncate(Period) + Period + o.Phase + time.Duration(periods)*Period
		_, used := m.run(o, end)
		require.Equal(t, end+m.late, m.now, "periods end at absolute times")
		require.False(t, m.sleptPast)
		require.Len(t, m.slept, 1+periods)
		quota := o.Percent / 100 * Period.Seconds()
		for _, used := range m.slept[1:] {
			require.InDelta(t, quota, used.Seconds(), m.unit.Seconds()+1e-6)
		}
		require.InDelta(t, float64(periods)*quota, used, m.unit.Seconds()+1e-6)
	})
}

// A full load sleeps only at the start.
func TestDutyFull(t *testing.T) {
	m := &machine{t: t, unit: 10 * time.Microsecond}
	wall, used := m.run(Burner{Percent: 100}, time.Second)
	assert.InDelta(t, wall, used, 1e-9)
	assert.InDelta(t, 0.99, used, 0.001)
	assert.Len(t, m.slept, 1)
}

// CPU time lost to others is made up for if it is at most a quota.
func TestDutyCatchesUp(t *testing.T) {
	m := &machine{
		t: t, unit: 10 * time.Microsecond,
		stall: map[time.Duration]time.Duration{102 * time.Millisecond: 9 * time.Millisecond},
	}
	wall, used := m.run(Burner{Percent: 60}, time.Second)
	assert.InDelta(t, 0.6*wall, used, 1e-4)
}

// After a long stall the burner makes up for one quota, and drops the rest.
func TestDutyStall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, m := draw(t)
		length := time.Duration(rapid.Int64Range(int64(3*Period), int64(time.Minute)).Draw(t, "stall"))
		begin := m.now.Truncate(Period) + Period + o.Phase
		at := begin + time.Duration(rapid.Int64Range(int64(Period), int64(time.Second/5)).Draw(t, "at"))
		m.stall = map[time.Duration]time.Duration{at: length}
		wall, used := m.run(o, at+length+time.Second) // enough time to make up for one quota
		quota := o.Percent / 100 * Period.Seconds()
		require.InDelta(t, o.Percent/100*(wall-length.Seconds()), used, 3*quota+m.unit.Seconds()+1e-4)
		most := 2 * quota / (1 - o.Percent/100)
		require.LessOrEqual(t, m.longest.Seconds(), most+Period.Seconds()+m.unit.Seconds(), "no long burst")
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
		o := Burner{Percent: percent}
		wall, used := m.run(o, gone)
		assert.InDelta(t, want, 100*used/wall, 0.1, percent)
		assert.Equal(t, want, Least(percent, 1))
		wall, used = m.run(o, m.now+time.Second)
		assert.InDelta(t, percent, 100*used/wall, 0.1, percent)
	}
}

func TestDeviations(t *testing.T) {
	second := func(cpu int, asked, percent float64) Achieved {
		return Achieved{CPU: cpu, Asked: asked, Percent: percent, Seconds: 1}
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
		{Achieved{CPU: 3, Asked: 60, Percent: 50, Seconds: 0.02}, 0, 0},
		{Achieved{CPU: 3, Asked: 60, Percent: 44, Seconds: 0.02}, 0, 60},
		{Achieved{CPU: 3, Asked: 60}, 0, 0},
	} {
		got := Deviations([]Achieved{second(1, 20, 20), c.load}, map[int]float64{3: c.part, 1: 0.5})
		if c.expected == 0 {
			assert.Empty(t, got, "%+v", c)
			continue
		}
		want := fmt.Sprintf("CPU 3 had a load of %.1f%%, expected %.1f%%", c.load.Percent, c.expected)
		if c.expected != c.load.Asked {
			want += fmt.Sprintf(" to %.1f%%", c.load.Asked)
		}
		assert.Equal(t, []string{want}, got, "%+v", c)
	}
}
