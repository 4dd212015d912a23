package topology_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
)

// capture writes a machine as an archive and opens that as --sysroot does.
func capture(t *testing.T, fsys fs.FS) (archive []byte, again fs.FS) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, topology.Capture(&out, fsys))
	file := filepath.Join(t.TempDir(), "machine.txtar")
	require.NoError(t, os.WriteFile(file, out.Bytes(), 0o644))
	again, err := sysfs.OpenRoot(file)
	require.NoError(t, err)
	return out.Bytes(), again
}

// A machine reads the same from its capture, and the capture of the capture is equal.
func TestCaptureKeepsTheMachine(t *testing.T) {
	roots := map[string]fs.FS{}
	for _, name := range hosts.Names(t) {
		roots[name] = hosts.Root(t, name)
	}
	roots["this machine"] = os.DirFS("/")
	for name, fsys := range roots {
		t.Run(name, func(t *testing.T) {
			want, err := topology.Read(fsys)
			require.NoError(t, err)
			archive, again := capture(t, fsys)
			got, err := topology.Read(again)
			require.NoError(t, err)
			assert.Equal(t, want.Document(""), got.Document(""))
			assert.Equal(t, want.ReadDetails(fsys), got.ReadDetails(again))

			twice, _ := capture(t, again)
			assert.Equal(t, string(archive), string(twice))
		})
	}
}

func TestCaptureHoldsWhatIsNeededAndNoMore(t *testing.T) {
	fsys := fstest.MapFS{}
	put := func(name, content string) { fsys[name] = &fstest.MapFile{Data: []byte(content)} }
	put("sys/devices/system/cpu/present", "0-1\n")
	put("sys/devices/system/cpu/online", "0-1\n")
	put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000\n")
	put("sys/devices/system/node/online", "0\n")
	put("sys/devices/system/node/node0/cpulist", "0-1\n")
	put("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 1024 kB\nNode 0 MemFree: 17 kB\n")
	put("proc/cpuinfo", "processor\t: 0\nmodel name\t: Example\ncpu MHz\t\t: 2100.123\n\nprocessor\t: 1\n")
	put("proc/interrupts", "           CPU0       CPU1       \n 37:          7          0 PCI-MSIX  customer-0\n"+
		" 38:          1         10 PCI-MSIX  customer-1\nLOC:    4552852    4386534   Local timer interrupts\n")
	put("proc/uptime", "77.25 12.50\n")
	put("proc/cmdline", "password=hunter2\n")
	put("proc/self/status", "Name:\tgorun\nUid:\t1000\nCpus_allowed_list:\t0\nMems_allowed_list:\t0\n")
	put("proc/self/mountinfo",
		"22 1 8:1 / /home/me rw - ext4 /dev/sda1 rw\n30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	put("proc/self/cgroup", "4:cpu,cpuacct:/a/b[1]\n0::/x\n")
	put("sys/fs/cgroup/cpuset.cpus.effective", "0-1\n")
	put("sys/fs/cgroup/unified/x/cpu.max", "max 100000\n")
	put("sys/fs/cgroup/cpu,cpuacct/a/b[1]/cpu.cfs_quota_us", "50000\n")
	put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n")
	put("sys/fs/cgroup/x/cgroup.procs", "1\n")
	put("sys/fs/cgroup/y/cpu.max", "1 1\n") // another group

	put("sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0\n")
	put("sys/class/net/veth-of-customer", "../../devices/virtual/net/veth-of-customer\n")
	put("sys/bus/pci/devices/0000:00:01.0/class", "0x060400\n") // a bridge
	put("sys/bus/pci/devices/0000:00:03.0/class", "0x020000\n")
	put("sys/bus/pci/devices/0000:00:03.0/config", "secret\n")
	put("sys/bus/pci/devices/0000:00:03.0/numa_node", "0\n")
	put("sys/bus/pci/devices/0000:00:03.0/msi_irqs/37", "msix\n")
	put("proc/irq/37/smp_affinity_list", "0-1\n")
	put("proc/irq/38/smp_affinity_list", "0-1\n") // of another device

	data, _ := capture(t, fsys)
	archive, files := txtar.Parse(data), map[string]string{}
	var names []string
	for _, file := range archive.Files {
		files[file.Name] = string(file.Data)
		names = append(names, file.Name)
	}
	assert.True(t, slices.IsSorted(names))
	assert.Equal(t, map[string]string{
		"sys/devices/system/cpu/present":                       "0-1\n",
		"sys/devices/system/cpu/online":                        "0-1\n",
		"sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000\n",
		"sys/devices/system/node/online":                       "0\n",
		"sys/devices/system/node/node0/cpulist":                "0-1\n",
		"sys/devices/system/node/node0/meminfo":                "Node 0 MemTotal: 1024 kB\n",
		"proc/cpuinfo":                                         "processor\t: 0\nmodel name\t: Example\n",
		"proc/interrupts":                                      "           CPU0       CPU1\n  0:          8         10  all devices\n",
		"proc/uptime":                                          "77.25 12.50\n",
		"proc/self/status":                                     "Cpus_allowed_list:\t0\nMems_allowed_list:\t0\n",
		"proc/self/mountinfo":                                  "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"proc/self/cgroup":                                     "4:cpu,cpuacct:/a/b[1]\n0::/x\n",
		"sys/class/net/eth0":                                   "../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0\n",
		"sys/bus/pci/devices/0000:00:03.0/class":               "0x020000\n",
		"sys/bus/pci/devices/0000:00:03.0/numa_node":           "0\n",
		"sys/bus/pci/devices/0000:00:03.0/msi_irqs/37":         "msix\n",
		"proc/irq/37/smp_affinity_list":                        "0-1\n",
		"sys/fs/cgroup/cpuset.cpus.effective":                  "0-1\n",
		"sys/fs/cgroup/unified/x/cpu.max":                      "max 100000\n",
		"sys/fs/cgroup/cpu,cpuacct/a/b[1]/cpu.cfs_quota_us":    "50000\n",
		"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":         "-1\n",
	}, files)
	assert.True(t, strings.HasPrefix(string(archive.Comment), "A machine"))
}

func TestCaptureErrors(t *testing.T) {
	require.ErrorIs(t, topology.Capture(&bytes.Buffer{}, fstest.MapFS{}), fs.ErrNotExist)

	fsys := fstest.MapFS{
		"sys/devices/system/cpu/present": {Data: []byte("0\n")},
		"sys/devices/system/cpu/online":  {Data: []byte("0\n")},
		"proc/version":                   {Data: []byte("Linux\n-- not a file --\n")},
	}
	require.ErrorContains(t, topology.Capture(&bytes.Buffer{}, fsys), "proc/version")
}
