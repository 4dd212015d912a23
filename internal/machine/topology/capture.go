package topology

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"gorun/internal/kernel/sysfs"
)

const captureComment = `A machine, as its kernel describes it; read it with: gorun topo --sysroot FILE.txtar
Cut short: proc/cpuinfo to the first CPU, meminfo to the totals, proc/self/status to the masks, mountinfo to cgroups,
proc/interrupts to the sums over devices.

`

// hostPatterns are path.Match patterns of files that Read does not open: with the kind of machine and its limits, and
// with what its CPUs have had to do for devices. No file identifies the owner; only the interrupts and the
// uptime that they are counted over change while the machine runs.
var hostPatterns = []string{
	"proc/cpuinfo",
	interruptsFile,
	"proc/meminfo",
	"proc/self/cgroup",
	"proc/self/mountinfo",
	"proc/sys/kernel/numa_balancing",
	"proc/sys/kernel/osrelease",
	"proc/sys/kernel/pid_max",
	"proc/sys/kernel/threads-max",
	"proc/sys/vm/max_map_count",
	uptimeFile,
	"proc/version",
	cpuDir + "/cpu[0-9]*/cpufreq/cpuinfo_max_freq",
	cpuDir + "/cpu[0-9]*/cpufreq/scaling_governor",
	cpuDir + "/smt/active",
	cpuDir + "/smt/control",
	"sys/devices/system/clocksource/clocksource0/current_clocksource",
	"sys/kernel/mm/transparent_hugepage/enabled",
}

// cgroupFiles limit the CPUs, the CPU time and the threads of a control group, version 1 or 2.
var cgroupFiles = []string{
	"cgroup.controllers",
	"cpu.cfs_period_us",
	"cpu.cfs_quota_us",
	"cpu.max",
	"cpuset.cpus",
	"cpuset.cpus.effective",
	"cpuset.effective_cpus",
	"cpuset.effective_mems",
	"cpuset.mems",
	"cpuset.mems.effective",
	"memory.limit_in_bytes",
	"memory.max",
	"pids.max",
}

// keptLines selects the lines to keep of files that are long, change all the time or contain private data.
var keptLines = map[string]func(line string) bool{
	"cpuinfo":   func(line string) bool { return !strings.HasPrefix(line, "cpu MHz") },
	"meminfo":   func(line string) bool { return strings.Contains(line, "MemTotal:") },
	"mountinfo": func(line string) bool { return strings.Contains(line, " - cgroup") },
	"status": func(line string) bool {
		return strings.HasPrefix(line, "Cpus_allowed") || strings.HasPrefix(line, "Mems_allowed")
	},
}

// Capture writes a machine as a txtar archive that sysfs.OpenRoot opens: every file that Read and ReadDetails read,
// so that they give the same results from the archive, and the files of the host and its control groups. Links are
// followed, except the links that show where a device is; names are sorted. Two captures of an unchanged machine differ only
// in its interrupts: how many there were since boot, and on which CPUs they are handled.
func Capture(w io.Writer, fsys fs.FS) error {
	rec := &recorder{FS: fsys, files: map[string][]byte{}}
	m, err := Read(rec)
	if err != nil {
		return err
	}
	rec.keepDevices(m.ReadDetails(rec).Devices)
	names := cgroupNames(fsys)
	for _, pattern := range hostPatterns {
		found, err := fs.Glob(fsys, pattern)
		if err != nil {
			return fmt.Errorf("cannot capture %s: %w", pattern, err)
		}
		names = append(names, found...)
	}
	for _, name := range names {
		_, _ = rec.ReadFile(name) // absent or unreadable files are left out
	}
	archive := &txtar.Archive{Comment: []byte(captureComment)}
	for _, name := range slices.Sorted(maps.Keys(rec.files)) {
		data := keep(name, rec.files[name])
		if again := txtar.Parse(data); len(again.Files) > 0 {
			return fmt.Errorf("cannot capture %s: it has a line that ends a file in an archive", name)
		}
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: data})
	}
	_, err = w.Write(txtar.Format(archive))
	return err
}

// keepDevices drops what was read for anything but these devices: names of virtual interfaces, classes of bridges. It
// also reads the msi_irqs files, whose names are the numbers of the devices' interrupts.
func (r *recorder) keepDevices(devices []DeviceInterrupts) {
	kept := map[string]bool{}
	for _, d := range devices {
		kept[d.PCI] = true
		for _, i := range d.Interrupts {
			_, _ = r.ReadFile(fmt.Sprintf("%s/%s/msi_irqs/%d", pciDir, d.PCI, i.IRQ)) // an interrupt by pin has no such file
		}
	}
	for name, data := range r.files {
		function, ofPCI := strings.CutPrefix(name, pciDir+"/")
		function, _, _ = strings.Cut(function, "/")
		ofClass := slices.ContainsFunc(deviceClasses, func(c deviceClass) bool { return path.Dir(name) == c.dir })
		if ofPCI && !kept[function] || ofClass && !kept[nearestPCI(strings.TrimSpace(string(data)))] {
			delete(r.files, name)
		}
	}
}

// recorder records every file that is read through it.
type recorder struct {
	fs.FS
	files map[string][]byte
}

// ReadFile implements fs.ReadFileFS.
func (r *recorder) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.FS, name)
	if err == nil {
		r.files[name] = data
	}
	return data, err
}

// ReadLink records the target of a link as the file's content.
func (r *recorder) ReadLink(name string) (string, error) {
	target, err := sysfs.ReadLink(r.FS, name)
	if err == nil {
		r.files[name] = []byte(target + "\n")
	}
	return target, err
}

// cgroupNames returns the files of this process's control groups and their ancestors, where systemd mounts them
// (cgroups(7)): version 2 at the top or under "unified", version 1 under the names of its controllers.
func cgroupNames(fsys fs.FS) []string {
	const mounts = "sys/fs/cgroup"
	groups, err := sysfs.ReadString(fsys, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		mounted := append(strings.Split(fields[1], ","), fields[1])
		if fields[1] == "" {
			mounted = []string{"", "unified"}
		}
		for _, mount := range mounted {
			for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
				for _, file := range cgroupFiles {
					names = append(names, path.Join(mounts, mount, group, file))
				}
				if group == "/" {
					break
				}
			}
		}
	}
	return names
}

// keep returns the lines of a file that keptLines selects, and the sums of the interrupts.
func keep(name string, data []byte) []byte {
	if name == interruptsFile {
		return sumInterrupts(data)
	}
	keep := keptLines[path.Base(name)]
	if keep == nil {
		return data
	}
	var out bytes.Buffer
	for line := range strings.Lines(string(data)) {
		if path.Base(name) == "cpuinfo" && strings.TrimSpace(line) == "" {
			break // an empty line ends the first CPU
		}
		if keep(line) {
			out.WriteString(line)
		}
	}
	return out.Bytes()
}
