package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gorun/internal/cpuset"
	"gorun/internal/render/term"
	"gorun/internal/topology"
)

// A machine with hundreds of devices has a table that ends, and says how many there are.
func TestTopoLimitsDevices(t *testing.T) {
	m, d := readHost(t, "devices.txtar")
	d.Devices = nil
	for i := range 300 {
		d.Devices = append(d.Devices, topology.DeviceInterrupts{Device: topology.Device{PCI: fmt.Sprintf("0000:%02x:00.0", i)}})
	}
	text := topoText(t, m, d, term.Options{})
	assert.Less(t, strings.Count(text, "\n"), 90)
	assert.Contains(t, text, "and 252 more: gorun topo --format json")

	for i := range d.Devices {
		d.Devices[i].PhysicalFunction = "0001:00:00.0"
		d.Devices[i].Names = []string{"a", "b", "c", "d", "e"}
	}
	assert.Contains(t, topoText(t, m, d, term.Options{}), "300 virtual functions of 0001:00:00.0 ")

	d.Devices[0].PhysicalFunction = ""
	assert.Contains(t, topoText(t, m, d, term.Options{}), "  a, b, c, d and 1 more ")
	assert.NotContains(t, topoText(t, m, topology.Details{}, term.Options{}), "devices")
}

// Caches below the last level are shown with the cores that they belong to, or with their CPUs where cores share one.
func TestTopoShowsCachesOfCores(t *testing.T) {
	m, d := readHost(t, "hybrid.txtar")
	size := func(kib uint64) *uint64 { kib <<= 10; return &kib }
	d.Caches = nil
	for _, c := range []struct {
		level int
		kib   uint64
		cpus  cpuset.Set
	}{
		{1, 48, cpuset.Of(0, 1)},
		{1, 48, cpuset.Of(2, 3)},
		{1, 32, cpuset.Of(4)},
		{1, 32, cpuset.Of(5)},
		{2, 1280, cpuset.Of(0, 1)},
		{2, 1280, cpuset.Of(2, 3)},
		{2, 2048, cpuset.Of(4, 5)},
		{2, 2048, cpuset.Of(6, 7)},
		{2, 2048, cpuset.Of(8, 9)}, // the last level of these
		{3, 12288, cpuset.Range(0, 7)},
	} {
		d.Caches = append(d.Caches, topology.SharedCache{Level: c.level, SizeBytes: size(c.kib), CPUs: c.cpus})
	}
	text := topoText(t, m, d, term.Options{Width: 200})
	assert.Contains(t, text, "  threads    1 to 2 per core\n")
	assert.Contains(t, text, "  caches     L1d 48 KiB, L2 1.25 MiB of each P core; L1d 32 KiB of each E core; L2 2 MiB of CPUs (4-5) (6-7)\n")
}
