package topology_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
)

func node(n int) *int { return &n }

func TestDevices(t *testing.T) {
	m := hosts.Machine(t, "devices")
	got := m.ReadDetails(hosts.Root(t, "devices"))
	assert.Empty(t, got.Warnings)
	byName := map[string]topology.DeviceInterrupts{}
	var names []string
	for _, d := range got.Devices {
		byName[d.Name()] = d
		names = append(names, d.Name())
	}
	assert.Equal(t, []string{
		"nvme0", "0000:41:00.0", "sda", "ens5", "ens5v0", "ens5v1", "ens5v2", "ens5v3", "0000:a1:00.6", "0000:a1:00.7",
		"0000:a1:01.0", "0000:a1:01.1", "eno1",
	}, names, "no bridge, no controller without a drive, nothing of USB, no virtual interface, no connector of a card")
	set := func(cpus cpuset.Set) *cpuset.Set { return &cpus }
	assert.Equal(t, topology.DeviceInterrupts{
		Device: topology.Device{
			PCI: "0000:01:00.0", Kind: "nvme", Names: []string{"nvme0", "nvme0n1"}, Node: node(0), CPUs: cpuset.Of(0, 1, 8, 9),
		},
		Interrupts: []topology.Interrupt{
			{IRQ: 32, CPUs: set(cpuset.Range(0, 15)), Effective: set(cpuset.Of(1))}, {IRQ: 33, CPUs: set(cpuset.Of(0, 1, 8, 9))},
		},
	}, byName["nvme0"], "the path nvme0c0n1 is called by its namespace")
	assert.Equal(t, []string{"ens5", "mlx5_0"}, byName["ens5"].Names)
	assert.Equal(t, "0000:a1:00.0", byName["ens5v2"].PhysicalFunction)
	assert.Equal(t, []topology.Interrupt{{IRQ: 48}}, byName["sda"].Interrupts, "where it goes may not be read")
	assert.Equal(t, []topology.Interrupt{{IRQ: 17, CPUs: set(cpuset.Range(0, 15)), Effective: set(cpuset.Of(3))}},
		byName["eno1"].Interrupts, "by pin")
	assert.Nil(t, byName["eno1"].Node, "-1 is not known")
	assert.Equal(t, []topology.Interrupt{}, byName["0000:41:00.0"].Interrupts)
	assert.Empty(t, hosts.Machine(t, "snc").ReadDetails(fstest.MapFS{}).Devices, "a capture without devices")
}

// A recorded directory has links; an archive has files with their targets.
func TestDevicesOfLinks(t *testing.T) {
	dir := t.TempDir()
	const card = "sys/devices/pci0000:a0/0000:a0:03.1/0000:a1:00.0"
	links := 0
	for _, file := range hosts.Archive(t, "devices").Files {
		name := filepath.Join(dir, file.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if text := string(file.Data); len(text) > 3 && text[:3] == "../" {
			require.NoError(t, os.Symlink(text[:len(text)-1], name))
			links++
			continue
		}
		require.NoError(t, os.WriteFile(name, file.Data, 0o644))
	}
	require.Greater(t, links, 10)
	// The card itself is behind a link, as in sysfs.
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, card)), 0o755))
	require.NoError(t, os.Rename(filepath.Join(dir, "sys/bus/pci/devices/0000:a1:00.0"), filepath.Join(dir, card)))
	require.NoError(t, os.Symlink("../../../../"+card, filepath.Join(dir, "sys/bus/pci/devices/0000:a1:00.0")))

	fsys, err := sysfs.OpenRoot(dir)
	require.NoError(t, err)
	m, err := topology.Read(fsys)
	require.NoError(t, err)
	want := hosts.Machine(t, "devices").ReadDetails(hosts.Root(t, "devices"))
	assert.Equal(t, want, m.ReadDetails(fsys))
}

// A malformed file of a device loses only its own content, with a warning.
func TestDamagedDevices(t *testing.T) {
	const eth, pci = "sys/class/net/eth0", "sys/bus/pci/devices/0000:01:00.0/"
	for _, c := range []struct {
		name, content, warning string
		check                  func(t *testing.T, d topology.DeviceInterrupts)
	}{
		{pci + "numa_node", "seven", "numa_node: malformed", func(t *testing.T, d topology.DeviceInterrupts) { assert.Nil(t, d.Node) }},
		{pci + "numa_node", "9", "there is no node 9", func(t *testing.T, d topology.DeviceInterrupts) { assert.Nil(t, d.Node) }},
		{pci + "local_cpulist", "x", "local_cpulist: malformed", func(t *testing.T, d topology.DeviceInterrupts) {
			assert.Equal(t, "2-3", d.CPUs.String(), "those of its node")
		}},
		{pci + "local_cpulist", "2-9", "", func(t *testing.T, d topology.DeviceInterrupts) {
			assert.Equal(t, "2-3", d.CPUs.String(), "the online ones")
		}},
		{"proc/irq/7/smp_affinity_list", "?", "smp_affinity_list: malformed", func(t *testing.T, d topology.DeviceInterrupts) {
			assert.Equal(t, []topology.Interrupt{{IRQ: 7}}, d.Interrupts)
		}},
		{pci + "msi_irqs/-", "msix", "", func(t *testing.T, d topology.DeviceInterrupts) { assert.Len(t, d.Interrupts, 1) }},
	} {
		fsys := fstest.MapFS{}
		for name, content := range map[string]string{
			"sys/devices/system/cpu/present": "0-3", "sys/devices/system/cpu/online": "0-3",
			"sys/devices/system/node/online": "0-1", "sys/devices/system/node/node0/cpulist": "0-1",
			"sys/devices/system/node/node1/cpulist": "2-3",
			eth:                                     "../../devices/pci0000:00/0000:01:00.0/net/eth0", pci + "class": "0x020000",
			pci + "numa_node": "1", pci + "local_cpulist": "2-3", pci + "msi_irqs/7": "msix", c.name: c.content,
		} {
			fsys[name] = &fstest.MapFile{Data: []byte(content + "\n")}
		}
		m, err := topology.Read(fsys)
		require.NoError(t, err)
		got := m.ReadDetails(fsys)
		require.Len(t, got.Devices, 1, c.name)
		assert.Equal(t, []string{"eth0"}, got.Devices[0].Names)
		c.check(t, got.Devices[0])
		if c.warning == "" {
			assert.Empty(t, got.Warnings, c.name)
			continue
		}
		require.Len(t, got.Warnings, 1, c.name)
		assert.Contains(t, got.Warnings[0], c.warning)
	}
}

// A run that names no device opens no file of one.
func TestReadOpensNoDevice(t *testing.T) {
	watch := &watched{FS: hosts.Root(t, "devices")}
	m, err := topology.Read(watch)
	require.NoError(t, err)
	_, err = m.Select("node:1,share:1/2", m.Allowed())
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(watch.names, ofDevice), "%q", watch.names)
	_, err = m.Select("near:ens5", m.Allowed())
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(watch.names, ofDevice))
	require.NotContains(t, watch.names, "proc/irq/64/smp_affinity_list", "nor does a selector ask for interrupts")
	opened := len(watch.names)
	_, err = m.Select("far:nvme0", m.Allowed())
	require.NoError(t, err)
	require.Len(t, watch.names, opened, "they are read once")
}

func ofDevice(name string) bool {
	return slices.ContainsFunc([]string{"sys/bus/*", "sys/class/*", "sys/block*", "proc/irq/*"}, func(pattern string) bool {
		for dir := name; dir != "."; dir = filepath.Dir(dir) {
			if ok, _ := filepath.Match(pattern, dir); ok {
				return true
			}
		}
		return false
	})
}

// Interrupts without read permission give no warning: the machine is not odd.
func TestInterruptsWithoutPermission(t *testing.T) {
	fsys := forbidding{hosts.Root(t, "devices"), "proc/irq/*/*"}
	d := hosts.Machine(t, "devices").ReadDetails(fsys)
	assert.Empty(t, d.Warnings)
	require.NotEmpty(t, d.Devices[0].Interrupts)
	assert.Equal(t, topology.Interrupt{IRQ: 32}, d.Devices[0].Interrupts[0])
}

// watched records the names of opened files.
type watched struct {
	fs.FS
	names []string
}

func (w *watched) Open(name string) (fs.File, error) {
	w.names = append(w.names, name)
	return w.FS.Open(name)
}
