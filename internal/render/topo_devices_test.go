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

// The virtual functions of a card share a line, an interrupt on another node is counted, and what is not known is no number.
func TestTopoShowsDevices(t *testing.T) {
	text := hostText(t, "devices.txtar", term.Options{})
	_, table, _ := strings.Cut(text, "\ndevices\n")
	var rows [][]string
	for line := range strings.Lines(table) {
		row := strings.Split(strings.TrimSpace(line), "  ")
		rows = append(rows, strings.FieldsFunc(strings.Join(row, "\x00"), func(r rune) bool { return r == 0 }))
		for i := range rows[len(rows)-1] {
			rows[len(rows)-1][i] = strings.TrimSpace(rows[len(rows)-1][i])
		}
	}
	assert.Equal(t, [][]string{
		{"device", "kind", "node", "CPUs", "interrupts", "PCI"},
		{"nvme0, nvme0n1", "nvme", "0", "0-1,8-9", "2 on CPUs 0-1,8-9", "0000:01:00.0"},
		{"0000:41:00.0", "gpu", "1", "2-3,10-11", "-", "0000:41:00.0"},
		{"sda, sdb, sdc", "storage", "2", "4-5,12-13", "1, unknown where", "0000:81:00.0"},
		{"ens5, mlx5_0", "network", "3", "6-7,14-15", "4 on CPUs 0,6-7,14, 1 on other nodes", "0000:a1:00.0"},
		{"8 virtual functions of ens5", "network", "3", "6-7,14-15", "4, none in use", "0000:a1:00.2 …"},
		{"eno1", "network", "unknown", "unknown", "1 on CPUs 3", "0000:c1:00.0"},
	}, rows)
}

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
	text := hostText(t, "devices.txtar", term.Options{})
	assert.Contains(t, text, "  model      Example EPYC 16-Thread Processor\n")
	assert.Contains(t, text, "  threads    2 per core\n")
	assert.Contains(t, text, "  caches     L1d 32 KiB, L2 1 MiB of each core\n", "and neither L1i nor L3")

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
	text = topoText(t, m, d, term.Options{Width: 200})
	assert.Contains(t, text, "  threads    1 to 2 per core\n")
	assert.Contains(t, text, "  caches     L1d 48 KiB, L2 1.25 MiB of each P core; L1d 32 KiB of each E core; L2 2 MiB of CPUs (4-5) (6-7)\n")
}
