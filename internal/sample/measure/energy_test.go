package measure

import (
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/record/result"
)

// powercap is that of a server of two packages: each has parts (cores, DRAM), the machine has a zone of its own, and the first package is there twice.
func powercap(first, second string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for zone, files := range map[string][3]string{
		"intel-rapl:0":      {"package-0", first, "262143328850"},
		"intel-rapl:0:0":    {"core", "7000000", "262143328850"},
		"intel-rapl:0:1":    {"dram", "8000000", "65712999613"},
		"intel-rapl:1":      {"package-1", second, "262143328850"},
		"intel-rapl:2":      {"psys", "9000000", "262143328850"},
		"intel-rapl-mmio:0": {"package-0", first, "262143328850"},
		"dtpm":              {"dtpm", "", ""},
	} {
		for i, name := range []string{"name", "energy_uj", "max_energy_range_uj"} {
			fsys["sys/class/powercap/"+zone+"/"+name] = &fstest.MapFile{Data: []byte(files[i] + "\n")}
		}
	}
	fsys["sys/class/powercap/intel-rapl/enabled"] = &fstest.MapFile{Data: []byte("1\n")}
	return fsys
}

// Energy is the sum of the packages, whose counters begin at 0 again.
func TestEnergy(t *testing.T) {
	before, after := powercap("1000000", "262143000000"), powercap("3500000", "171150")
	e := openEnergy(before)
	require.NoError(t, e.lack)
	joules := e.used(e.read(before), e.read(after))
	require.NotNil(t, joules)
	assert.InDelta(t, 2.5+0.5, *joules, 1e-9)

	delete(after, "sys/class/powercap/intel-rapl:1/energy_uj")
	assert.Nil(t, e.used(e.read(before), e.read(after)), "the energy of one package is not that of the machine")
}

// forbidden has files that only root may read.
type forbidden struct{ fstest.MapFS }

func (f forbidden) ReadFile(name string) ([]byte, error) {
	if name == "sys/class/powercap/intel-rapl:0/energy_uj" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.MapFS.ReadFile(name)
}

// A sample that counts has the energy of the machine and the time of interrupts, or a reason. Others have neither.
func TestCountedWithWhy(t *testing.T) {
	counted := func(root fs.FS, seconds float64) result.Counters {
		t.Helper()
		w, _ := OpenOutside(root, cpuset.Range(0, 1))
		w.CountMore()
		s := result.Sample{Seconds: 1, Placement: result.Placement{Verified: true}, Counters: &result.Counters{}}
		before := w.read()
		after := w.read()
		after.at = before.at.Add(time.Duration(seconds * float64(time.Second)))
		if after.stat != nil {
			after.stat.interrupts += 0.03
		}
		if after.io != nil {
			*after.io, *after.memory = *after.io+0.5, *after.memory+0.25
		}
		for i := range after.energy {
			after.energy[i] += 1_500_000
		}
		w.finish(&s, Canary(), before, after)
		return *s.Counters
	}
	root := powercap("1", "2")
	root["proc/stat"] = &fstest.MapFile{Data: []byte(statLines)}
	for _, name := range []string{"io", "memory"} {
		root["proc/pressure/"+name] = &fstest.MapFile{Data: []byte("some avg10=0.00 total=1500000\nfull avg10=0.00 total=0\n")}
	}
	got := counted(root, 1)
	require.NotNil(t, got.Joules)
	assert.InDelta(t, 3, *got.Joules, 1e-9)
	require.NotNil(t, got.InterruptSeconds)
	assert.InDelta(t, 0.03, *got.InterruptSeconds, 1e-9)
	require.NotNil(t, got.IOPressureSeconds)
	assert.InDelta(t, 0.5, *got.IOPressureSeconds, 1e-9)
	require.NotNil(t, got.MemoryPressureSeconds)
	assert.InDelta(t, 0.25, *got.MemoryPressureSeconds, 1e-9)
	assert.Empty(t, got.Lacks)
	assert.Nil(t, counted(root, 0.04).InterruptSeconds, "too few ticks")

	got = counted(forbidden{root}, 1)
	assert.Nil(t, got.Joules)
	require.Len(t, got.Lacks, 1)
	assert.Equal(t, []string{"joules"}, got.Lacks[0].Of)
	assert.Contains(t, got.Lacks[0].Why, "energy_uj: permission denied (only root may")

	got = counted(fstest.MapFS{}, 1)
	assert.Nil(t, got.InterruptSeconds)
	assert.Nil(t, got.IOPressureSeconds)
	assert.Contains(t, got.Lacks[0].Why, "this machine has no counter of energy")
}
