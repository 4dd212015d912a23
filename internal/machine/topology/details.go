package topology

import (
	"cmp"
	"io/fs"
	"slices"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// Details are shown to people; no run depends on them.
type Details struct {
	CPUModel       string             `json:"cpu_model"`        // "": not recorded (arm64 names none)
	ThreadsPerCore int                `json:"threads_per_core"` // online, of the core with the most
	Caches         []SharedCache      `json:"caches"`           // of data, by level, then by their lowest CPU
	Devices        []DeviceInterrupts `json:"devices"`          // by PCI address

	Warnings []string `json:"-"` // about malformed files, as Machine.Warnings
}

// SharedCache is a data cache, and the online CPUs that share it.
type SharedCache struct {
	Level     int        `json:"level"` // from 1
	SizeBytes *uint64    `json:"size_bytes"`
	CPUs      cpuset.Set `json:"cpus"`
}

// DeviceInterrupts is a device and the CPUs of its interrupts.
type DeviceInterrupts struct {
	Device
	Interrupts []Interrupt `json:"interrupts"` // ascending
}

// ReadDetails reads the details from the files that the machine was read from.
func (m *Machine) ReadDetails(root fs.FS) Details {
	r := &reader{fsys: root, online: m.Online()}
	d := Details{Caches: r.readSharedCaches(), Devices: []DeviceInterrupts{}}
	d.CPUModel, _ = sysfs.ReadField(root, "proc/cpuinfo", "model name")
	threads := map[int]int{}
	for _, c := range m.CPUs {
		if c.Online {
			threads[c.Core]++
			d.ThreadsPerCore = max(d.ThreadsPerCore, threads[c.Core])
		}
	}
	devices, warnings := m.Devices()
	for _, device := range devices {
		d.Devices = append(d.Devices, DeviceInterrupts{device, r.readInterrupts(device.PCI)})
	}
	// The machine already has the warnings about the files that were read for it.
	for _, warning := range slices.Concat(warnings, r.finished()) {
		if !slices.Contains(m.Warnings, warning) {
			d.Warnings = append(d.Warnings, warning)
		}
	}
	return d
}

// readSharedCaches reads each data cache once, from the first CPU whose files list it.
func (r *reader) readSharedCaches() []SharedCache {
	type key struct {
		level int
		cpus  string
	}
	caches, known := []SharedCache{}, map[key]bool{}
	for cpu := range r.online.All() {
		for _, c := range r.readCacheDirs(cpu) {
			if !r.isData(c.dir) {
				continue
			}
			shared, ok := r.readSharing(cpu, c.dir, "shared_cpu_list")
			if k := (key{c.level, shared.cpus.String()}); ok && !known[k] {
				known[k] = true
				caches = append(caches, SharedCache{Level: c.level, SizeBytes: r.readCacheSize(&shared), CPUs: shared.cpus})
			}
		}
	}
	slices.SortFunc(caches, func(a, b SharedCache) int {
		return cmp.Or(a.Level-b.Level, a.CPUs.First()-b.CPUs.First(), len(a.CPUs.String())-len(b.CPUs.String()))
	})
	return caches
}
