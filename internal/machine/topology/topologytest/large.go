// Package topologytest makes large machines that were never recorded, as files in the layout of the kernel's own.
package topologytest

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"gorun/internal/kernel/cpuset"
)

// Large is an x86 machine in equal parts: cores of two threads, numbered as firmware numbers them (all first threads, then
// all second ones), up to eight cores with a common L3 cache, and up to 64 cores in a package.
type Large struct {
	CPUs  int // even
	Nodes int // divides the number of cores
}

// The most cores that share an L3 cache or a package. No more share an L3 cache than a node has.
const (
	coresPerL3      = 8
	coresPerPackage = 64
)

// Files yields the name and the content of each file, in no order.
func (l Large) Files() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		const cpu, node = "sys/devices/system/cpu/", "sys/devices/system/node/"
		more := true
		put := func(name, content string) { more = more && yield(name, content+"\n") }
		all, nodes := cpuset.Range(0, l.CPUs-1).String(), cpuset.Range(0, l.Nodes-1).String()
		for _, name := range []string{"online", "possible", "present"} {
			put(cpu+name, all)
			put(node+name, nodes)
		}
		for _, name := range []string{"has_cpu", "has_memory", "has_normal_memory"} {
			put(node+name, nodes)
		}
		put(cpu+"isolated", "")
		put("proc/self/status", "Cpus_allowed_list:\t"+all+"\nMems_allowed_list:\t"+nodes)
		put("proc/meminfo", fmt.Sprintf("MemTotal: %d kB\nMemAvailable: %[1]d kB", l.Nodes<<24))
		put("proc/self/cgroup", "0::/")
		for c := range l.CPUs {
			l.cpuFiles(c, func(name, content string) { put(fmt.Sprintf("%scpu%d/%s", cpu, c, name), content) })
			if !more {
				return
			}
		}
		for n := range l.Nodes {
			l.nodeFiles(n, func(name, content string) { put(fmt.Sprintf("%snode%d/%s", node, n, name), content) })
		}
	}
}

func (l Large) cores() int              { return l.CPUs / 2 }
func (l Large) coresPerNode() int       { return l.cores() / l.Nodes }
func (l Large) packageOfNode(n int) int { return n * l.coresPerNode() / coresPerPackage }

// threads returns both threads of each of n cores, from the first one on, as a list of CPUs.
func (l Large) threads(first, n int) string {
	second := first + l.cores()
	return cpuset.Range(first, first+n-1).Union(cpuset.Range(second, second+n-1)).String()
}

// block divides the cores into blocks of a size, and returns the threads of the block that a core is in.
func (l Large) block(core, size int) string {
	size = min(size, l.cores())
	return l.threads(core/size*size, size)
}

func (l Large) cpuFiles(c int, put func(name, content string)) {
	core := c % l.cores()
	threads, pkg := l.threads(core, 1), l.block(core, coresPerPackage)
	if c > 0 {
		put("online", "1")
	}
	for name, content := range map[string]string{
		"core_cpus_list": threads, "thread_siblings_list": threads, "package_cpus_list": pkg, "core_siblings_list": pkg,
		"die_cpus_list": pkg, "die_id": "0", "cluster_id": "65535",
		"core_id": strconv.Itoa(core % coresPerPackage), "physical_package_id": strconv.Itoa(core / coresPerPackage),
	} {
		put("topology/"+name, content)
	}
	for i, cache := range []struct{ level, kind, size, shared string }{
		{"1", "Data", "32K", threads},
		{"1", "Instruction", "32K", threads},
		{"2", "Unified", "1024K", threads},
		{"3", "Unified", "32768K", l.block(core, min(coresPerL3, l.coresPerNode()))},
	} {
		index := fmt.Sprintf("cache/index%d/", i)
		put(index+"level", cache.level)
		put(index+"type", cache.kind)
		put(index+"size", cache.size)
		put(index+"shared_cpu_list", cache.shared)
	}
}

func (l Large) nodeFiles(n int, put func(name, content string)) {
	distances := make([]string, l.Nodes)
	for other := range distances {
		distances[other] = "32"
		if l.packageOfNode(other) == l.packageOfNode(n) {
			distances[other] = "12"
		}
	}
	distances[n] = "10"
	put("distance", strings.Join(distances, " "))
	put("cpulist", l.threads(n*l.coresPerNode(), l.coresPerNode()))
	put("meminfo", fmt.Sprintf("Node %d MemTotal:       %d kB", n, 1<<24))
}

// FS returns the machine in memory.
func (l Large) FS() (fs.FS, error) { return txtar.FS(l.archive()) }

// WriteArchive writes the machine as a .txtar file, for --sysroot.
func (l Large) WriteArchive(name string) error {
	return os.WriteFile(name, txtar.Format(l.archive()), 0o644)
}

func (l Large) archive() *txtar.Archive {
	archive := &txtar.Archive{}
	for name, content := range l.Files() {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(content)})
	}
	return archive
}

// WriteDir writes the machine below a directory, for --sysroot. Files with the same content are hard links to one file:
// 4,096 CPUs have 100,000 files with a few thousand contents.
func (l Large) WriteDir(dir string) error {
	first, made := map[string]string{}, map[string]bool{} // file by content; directories
	for name, content := range l.Files() {
		path := filepath.Join(dir, name)
		if parent := filepath.Dir(path); !made[parent] {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return err
			}
			made[parent] = true
		}
		if same := first[content]; same != "" && os.Link(same, path) == nil {
			continue
		}
		first[content] = path // also when the file system allows no more links to the last one
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
	}
	return nil
}
