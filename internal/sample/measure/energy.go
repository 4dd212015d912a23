package measure

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
)

// energy has the counters of the energy that the machine's packages use (RAPL, Documentation/power/powercap/powercap.rst).
type energy struct {
	packages []meter
	lack     error // why there are none
}

// meter is the counter of a package, in µJ. It begins at 0 again after wraps.
type meter struct {
	file  string
	wraps uint64
}

// openEnergy finds the packages. Since Linux 5.10, only root may read their energy, which can show what other programs compute (CVE-2020-8694).
func openEnergy(root fs.FS) (e energy) {
	const zones = "sys/class/powercap"
	entries, err := fs.ReadDir(root, zones)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return energy{lack: err}
	}
	for _, entry := range entries {
		of, err := sysfs.ReadString(root, path.Join(zones, entry.Name(), "name"))
		if !strings.HasPrefix(entry.Name(), "intel-rapl:") || err != nil || !strings.HasPrefix(of, "package-") { // also of AMD
			continue // a part of a package, or of the whole machine
		}
		m := meter{file: path.Join(zones, entry.Name(), "energy_uj")}
		if m.wraps, err = sysfs.ReadSize(root, path.Join(zones, entry.Name(), "max_energy_range_uj")); err == nil {
			_, err = m.read(root)
		}
		if errors.Is(err, fs.ErrPermission) {
			err = &linux.Error{Op: "read " + m.file, Err: fs.ErrPermission, Remedy: "only root may, since it can show what other programs compute"}
		}
		if err != nil {
			return energy{lack: err}
		}
		e.packages = append(e.packages, m)
	}
	if len(e.packages) == 0 {
		e.lack = errors.New("this machine has no counter of energy (RAPL), as is usual in a virtual machine")
	}
	return e
}

func (m meter) read(root fs.FS) (uint64, error) { return sysfs.ReadSize(root, m.file) }

// read reads the counters; nil: not all can be read.
func (e *energy) read(root fs.FS) (all []uint64) {
	for _, m := range e.packages {
		n, err := m.read(root)
		if err != nil {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// used returns the energy between two readings, in J; nil: not known. A counter begins at 0 again after some 10 minutes of full load at the earliest, so
// that in a sample it does so once at most.
func (e *energy) used(before, after []uint64) *float64 {
	if len(before) == 0 || len(before) != len(after) {
		return nil
	}
	sum := 0.0
	for i, m := range e.packages {
		if after[i] < before[i] {
			sum += float64(m.wraps)
		}
		sum += float64(after[i]) - float64(before[i])
	}
	return new(sum / 1e6)
}
