package cgroup

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/sysfs"
)

// host returns a machine with these files, given as pairs of name and text.
func host(files ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		fsys[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return fsys
}

// limits are what the control groups of a host allow.
type limits struct {
	cpus       string
	quota      float64 // 0: none
	leaf       float64 // 0: none, or not visible
	file       string  // that has the quota
	throttling float64 // seconds
	hidden     bool    // it is unknown whether there is a quota
	pids       []Limit
	memory     []Limit
}

const (
	root    = "/sys/fs/cgroup"
	session = root + "/user.slice/user-1000.slice/session.scope"
)

// The hosts. Each line of mountinfo is copied from such a system.
var hosts = map[string]struct {
	files fstest.MapFS
	want  limits
}{
	"v2": {host(
		"proc/self/cgroup", "0::/user.slice/user-1000.slice/session.scope\n",
		"proc/self/mountinfo", `22 28 0:21 / /sys rw,nosuid,nodev,noexec,relatime shared:7 - sysfs sysfs rw
35 22 0:30 / /sys/fs/cgroup rw,nosuid,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
`,
		"sys/fs/cgroup/cpuset.cpus.effective", "0-7\n",
		"sys/fs/cgroup/cpu.stat", "usage_usec 5\n",
		"sys/fs/cgroup/user.slice/cpuset.cpus.effective", "0-3\n",
		"sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n",
		"sys/fs/cgroup/user.slice/cpu.stat",
		"usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 100\nnr_throttled 10\nthrottled_usec 2500000\n",
		"sys/fs/cgroup/user.slice/pids.max", "max\n",
		"sys/fs/cgroup/user.slice/pids.current", "3\n",
		"sys/fs/cgroup/user.slice/memory.max", "4194304\n",
		"sys/fs/cgroup/user.slice/memory.current", "2097152\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/cpu.max", "max 100000\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/cpu.stat", "nr_periods 9\nnr_throttled 9\nthrottled_usec 9\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/pids.max", "4915\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/pids.current", "12\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/session.scope/cpu.max", "300000 100000\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/session.scope/cpu.stat",
		"nr_periods 7\nnr_throttled 2\nthrottled_usec 500000\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/session.scope/pids.max", "20\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/session.scope/pids.current", "4\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/session.scope/memory.max", "1048576\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/session.scope/memory.current", "524288\n",
		"sys/fs/cgroup/user.slice/user-1000.slice/session.scope/memory.stat", "anon 1\nfile 2\ninactive_file 24288\n",
	), limits{
		cpus: "0-3", quota: 1.5, leaf: 3, file: root + "/user.slice/cpu.max", throttling: 3,
		pids: []Limit{{session + "/pids.max", 20, 4}, {path.Dir(session) + "/pids.max", 4915, 12}},
		memory: []Limit{
			{session + "/memory.max", 1048576, 500000},
			{root + "/user.slice/memory.max", 4194304, 2097152},
		},
	}},
	"v1": {host(
		"proc/self/cgroup", "12:pids:/batch/job7\n11:cpuset:/set\n"+
			"4:cpu,cpuacct:/batch/job7\n3:memory:/batch\n1:name=systemd:/x\n",
		"proc/self/mountinfo", `34 25 0:29 / /sys/fs/cgroup/systemd rw shared:10 - cgroup cgroup rw,xattr,name=systemd
38 25 0:33 / /sys/fs/cgroup/cpu,cpuacct rw shared:11 - cgroup cgroup rw,cpu,cpuacct
39 25 0:34 / /sys/fs/cgroup/cpuset rw shared:12 - cgroup cgroup rw,cpuset
40 25 0:35 / /sys/fs/cgroup/pids rw shared:13 - cgroup cgroup rw,pids
41 25 0:36 / /sys/fs/cgroup/memory rw shared:14 - cgroup cgroup rw,memory
`,
		"sys/fs/cgroup/cpuset/cpuset.cpus", "0-7\n",
		"sys/fs/cgroup/cpuset/set/cpuset.cpus", "2,4-5\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n",
		"sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "25000\n",
		"sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "50000\n",
		"sys/fs/cgroup/cpu,cpuacct/batch/cpu.stat", "nr_periods 50\nnr_throttled 5\nthrottled_time 1250000000\n",
		"sys/fs/cgroup/cpu,cpuacct/batch/job7/cpu.cfs_quota_us", "-1\n",
		"sys/fs/cgroup/pids/batch/job7/pids.max", "max\n",
		"sys/fs/cgroup/pids/batch/job7/pids.current", "2\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n",
		"sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n",
		"sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "1000\n",
		"sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "700\n",
		"sys/fs/cgroup/memory/batch/memory.stat", "inactive_file 1\ntotal_inactive_file 200\n",
	), limits{
		cpus: "2,4-5", quota: 0.5, file: root + "/cpu,cpuacct/batch/cpu.cfs_quota_us", throttling: 1.25,
		memory: []Limit{{root + "/memory/batch/memory.limit_in_bytes", 1000, 500}},
	}},
	// Version 1 has cpu; version 2 has the rest, and is not mounted at /sys/fs/cgroup.
	"hybrid": {host(
		"proc/self/cgroup", "4:cpu:/a:b\n1:name=systemd:/a:b\n0::/a:b\n",
		"proc/self/mountinfo", `33 25 0:28 / /cgroups/unified rw - cgroup2 cgroup2 rw,nsdelegate
38 25 0:33 / /cgroups/v1\040cpu rw - cgroup cgroup rw,cpu
`,
		"cgroups/v1 cpu/a:b/cpu.cfs_quota_us", "200000\n",
		"cgroups/v1 cpu/a:b/cpu.cfs_period_us", "100000\n",
		"cgroups/v1 cpu/a:b/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_time 0\n",
		"cgroups/unified/a:b/cpu.max", "100000 100000\n", // not used: cpu is in version 1
		"cgroups/unified/a:b/cpuset.cpus.effective", "\n",
		"cgroups/unified/cpuset.cpus.effective", "1-2\n",
		"cgroups/unified/a:b/pids.max", "9\n",
		"cgroups/unified/a:b/pids.current", "1\n",
	), limits{
		cpus: "1-2", quota: 2, leaf: 2, file: "/cgroups/v1 cpu/a:b/cpu.cfs_quota_us",
		pids: []Limit{{"/cgroups/unified/a:b/pids.max", 9, 1}},
	}},
	// A container with a cgroup namespace: its group is the visible top.
	"docker v2": {host(
		"proc/self/cgroup", "0::/\n",
		"proc/self/mountinfo", "1 2 0:29 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n",
		"sys/fs/cgroup/cpu.max", "50000 100000\n",
		"sys/fs/cgroup/cpu.stat", "nr_periods 4\nnr_throttled 3\nthrottled_usec 1500000\n",
		"sys/fs/cgroup/cpuset.cpus.effective", "3\n",
		"sys/fs/cgroup/pids.max", "64\n",
		"sys/fs/cgroup/pids.current", "1\n",
		"sys/fs/cgroup/memory.max", "max\n",
	), limits{
		cpus: "3", quota: 0.5, leaf: 0.5, file: root + "/cpu.max", throttling: 1.5,
		pids: []Limit{{root + "/pids.max", 64, 1}},
	}},
	// A container without one: the path is the host's, and the mount shows the container's part.
	"docker v1": {host(
		"proc/self/cgroup", "0::/\n4:cpu,cpuacct:/docker/0123\n8:pids:/docker/0123/inner\n",
		"proc/self/mountinfo", `1 2 0:29 /docker/0123 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct
2 2 0:30 /docker/0123 /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids
`,
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "10000\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_periods 4\nnr_throttled 4\nthrottled_time 1000000000\n",
		"sys/fs/cgroup/pids/inner/pids.max", "8\n",
		"sys/fs/cgroup/pids/inner/pids.current", "3\n",
		"sys/fs/cgroup/pids/pids.max", "16\n",
		"sys/fs/cgroup/pids/pids.current", "5\n",
	), limits{
		quota: 0.1, leaf: 0.1, file: root + "/cpu,cpuacct/cpu.cfs_quota_us", throttling: 1,
		pids: []Limit{{root + "/pids/inner/pids.max", 8, 3}, {root + "/pids/pids.max", 16, 5}},
	}},
	// Moved out of its namespace: only the mount's top is visible.
	"outside the namespace": {host(
		"proc/self/cgroup", "0::/../elsewhere\n",
		"proc/self/mountinfo", "1 2 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/cpu.max", "400000 100000\n",
		"sys/fs/cgroup/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
		"sys/fs/cgroup/elsewhere/cpu.max", "1000 100000\n",
	), limits{quota: 4, file: root + "/cpu.max"}},
	// Mounted from outside the namespace: both paths lead out of it, and one is below the other.
	"mounted from outside": {host(
		"proc/self/cgroup", "0::/../../app\n",
		"proc/self/mountinfo", "1 2 0:29 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/app/cpu.max", "20000 100000\n",
		"sys/fs/cgroup/app/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
	), limits{quota: 0.2, leaf: 0.2, file: root + "/app/cpu.max"}},
	// The same hierarchy three times: the first mount shows another part, the second is hidden by a later one.
	"three mounts": {host(
		"proc/self/cgroup", "0::/app/x\n",
		"proc/self/mountinfo", "1 2 0:29 /other /snap/cgroup rw - cgroup2 cgroup rw\n"+
			"3 2 0:29 / /hidden rw - cgroup2 cgroup rw\n"+
			"2 2 0:29 /app /mnt rw - cgroup2 cgroup rw\n",
		"snap/cgroup/cpu.max", "1000 100000\n",
		"hidden/file", "",
		"mnt/x/cpu.max", "60000 100000\n",
		"mnt/x/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
	), limits{quota: 0.6, leaf: 0.6, file: "/mnt/x/cpu.max"}},
	// The group's own directory is missing: its ancestor's limit still applies.
	"missing directory": {host(
		"proc/self/cgroup", "0::/app/gone/deep\n",
		"proc/self/mountinfo", "1 2 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/app/pids.max", "5\n",
		"sys/fs/cgroup/app/pids.current", "1\n",
	), limits{pids: []Limit{{root + "/app/pids.max", 5, 1}}}},
	// Counters are read even if the file with the quota is missing.
	"hidden quota": {host(
		"proc/self/cgroup", "0::/\n",
		"proc/self/mountinfo", "1 2 0:29 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/cpu.stat", "throttled_usec 1500000\n",
	), limits{throttling: 1.5}},
	// The newer file of version 1 wins over the one it replaced.
	"effective CPUs": {host(
		"proc/self/cgroup", "11:cpuset:/\n4:cpu:/\n",
		"proc/self/mountinfo", "39 25 0:34 / /cpuset rw - cgroup cgroup rw,cpuset\n38 25 0:33 / /cpu rw - cgroup cgroup rw,cpu\n",
		"cpuset/cpuset.cpus", "0-3\n",
		"cpuset/cpuset.effective_cpus", "0-1\n",
		"cpu/tasks", "1\n",
	), limits{cpus: "0-1"}},
	"nothing mounted": {host(
		"proc/self/cgroup", "0::/\n4:cpu:/\n",
		"proc/self/mountinfo", "1 2 0:2 / / rw - ext4 /dev/vda rw\n",
	), limits{hidden: true}},
	"no mountinfo": {host("proc/self/cgroup", "0::/\n"), limits{hidden: true}},
	"no cgroups":   {want: limits{hidden: true}},
}

func TestHosts(t *testing.T) {
	for name, host := range hosts {
		t.Run(name, func(t *testing.T) {
			want := host.want
			cpus, err := ReadCPUs(host.files)
			require.NoError(t, err)
			assert.Equal(t, want.cpus, cpus.String())

			quota, err := ReadQuota(host.files)
			require.NoError(t, err)
			hidden := want.hidden && name != "no cgroups"
			assert.Equal(t, Quota{CPUs: want.quota, File: want.file, Leaf: want.leaf, Hidden: hidden}, quota)

			throttling, err := FindGroups(host.files).ReadThrottling()
			if want.hidden {
				require.ErrorIs(t, err, fs.ErrNotExist)
			} else {
				require.NoError(t, err)
			}
			assert.Equal(t, want.throttling, throttling)

			pids, err := ReadPids(host.files)
			require.NoError(t, err)
			assert.Equal(t, want.pids, pids)

			memory, err := ReadMemory(host.files)
			require.NoError(t, err)
			assert.Equal(t, want.memory, memory)
		})
	}
}

// readers are the functions that read files.
var readers = map[string]func(fs.FS) error{
	"cpus":       func(fsys fs.FS) error { _, err := ReadCPUs(fsys); return err },
	"quota":      func(fsys fs.FS) error { _, err := ReadQuota(fsys); return err },
	"throttling": func(fsys fs.FS) error { _, err := FindGroups(fsys).ReadThrottling(); return err },
	"pids":       func(fsys fs.FS) error { _, err := ReadPids(fsys); return err },
	"memory":     func(fsys fs.FS) error { _, err := ReadMemory(fsys); return err },
}

// A malformed file, and a missing one that another needs, is an error that names it.
func TestFaultyFiles(t *testing.T) {
	const missing = "missing"
	for _, c := range []struct{ host, reader, file, text string }{
		{"v2", "cpus", "proc/self/cgroup", "0:/\n"},
		{"v2", "cpus", "proc/self/cgroup", "0::relative\n"},
		{"v2", "pids", "proc/self/mountinfo", "1 2 3\n"},
		{"v2", "pids", "proc/self/mountinfo", "1 2 0:29 / relative rw - cgroup2 cgroup rw\n"},
		{"docker v2", "cpus", "sys/fs/cgroup/cpuset.cpus.effective", "3-1\n"},
		{"docker v2", "quota", "sys/fs/cgroup/cpu.max", "0 100000\n"},
		{"docker v2", "quota", "sys/fs/cgroup/cpu.max", "5 0\n"},
		{"docker v2", "quota", "sys/fs/cgroup/cpu.max", "5\n"},
		{"docker v2", "quota", "sys/fs/cgroup/cpu.max", "\n"},
		{"docker v2", "quota", "sys/fs/cgroup/cpu.max", "-1 100000\n"},
		{"docker v2", "throttling", "sys/fs/cgroup/cpu.max", "x\n"},
		{"docker v2", "throttling", "sys/fs/cgroup/cpu.stat", "nr_periods many\n"},
		{"docker v2", "throttling", "sys/fs/cgroup/cpu.stat", missing},
		{"docker v2", "pids", "sys/fs/cgroup/pids.max", "-1\n"},
		{"docker v2", "pids", "sys/fs/cgroup/pids.current", "max\n"},
		{"docker v2", "memory", "sys/fs/cgroup/memory.max", "1G\n"},
		{"docker v1", "quota", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-2\n"},
		{"docker v1", "quota", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "0\n"},
		{"docker v1", "quota", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", missing},
		{"v1", "memory", "sys/fs/cgroup/memory/batch/memory.stat", "total_inactive_file -1\n"},
	} {
		fsys, want := maps.Clone(hosts[c.host].files), sysfs.ErrMalformed
		require.NoError(t, readers[c.reader](fsys))
		fsys[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		if c.text == missing {
			delete(fsys, c.file)
			want = fs.ErrNotExist
		} else if strings.HasSuffix(c.file, "cfs_period_us") { // it is read together with the quota, which is named
			c.file = path.Dir(c.file)
		}
		err := readers[c.reader](fsys)
		require.ErrorIs(t, err, want, "%s of %q", c.reader, c.text)
		assert.ErrorContains(t, err, c.file)
	}
	// Counters of the other version, and none of a quota.
	for _, stat := range []string{"usage_usec 5\n", "throttled_time 1\n"} {
		fsys := maps.Clone(hosts["docker v2"].files)
		fsys["sys/fs/cgroup/cpu.stat"] = &fstest.MapFile{Data: []byte(stat)}
		_, err := FindGroups(fsys).ReadThrottling()
		assert.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// TestGroupsOf: the groups of another process have throttled it in addition to those that it shares with this one.
func TestGroupsOf(t *testing.T) {
	fsys := maps.Clone(hosts["v2"].files)
	fsys["proc/7/cgroup"] = &fstest.MapFile{Data: []byte("0::/user.slice/user-1000.slice/session.scope/deep/deeper\n")}
	deep := strings.TrimPrefix(session, "/") + "/deep"
	fsys[deep+"/deeper/cpu.max"] = &fstest.MapFile{Data: []byte("1000 100000\n")}
	fsys[deep+"/deeper/cpu.stat"] = &fstest.MapFile{Data: []byte("throttled_usec 1000000\n")}
	fsys[deep+"/cpu.max"] = &fstest.MapFile{Data: []byte("1000 100000\n")}
	fsys[deep+"/cpu.stat"] = &fstest.MapFile{Data: []byte("throttled_usec 4000000\n")}
	own, its := FindGroups(fsys), FindGroupsOf(fsys, 7)
	for _, c := range []struct {
		groups  Groups
		seconds float64
	}{{own, 3}, {its, 3 + 5}, {its.Without(own), 5}, {own.Without(its), 0}, {its, 3 + 5}} {
		seconds, err := c.groups.ReadThrottling()
		require.NoError(t, err)
		assert.Equal(t, c.seconds, seconds)
	}
	_, err := FindGroupsOf(fsys, 8).Without(own).ReadThrottling()
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// This machine may have any kind of control groups or none.
func TestThisMachine(t *testing.T) {
	fsys := os.DirFS("/")
	if _, err := fs.Stat(fsys, membershipFile(self)); err != nil {
		t.Skip("needs control groups")
	}
	for name, read := range readers {
		require.NoError(t, read(fsys), name)
	}
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		root, group, below string
		ok                 bool
	}{
		{"/", "/", "/", true},
		{"/", "/a/b", "/a/b", true},
		{"/a", "/a", "", true},
		{"/a", "/a/b", "/b", true},
		{"/a", "/ab", "", false},
		{"/a", "/", "", false},
		{"/", "/..", "", false},
		{"/", "/../x", "", false},
		{"/..", "/../x", "/x", true},
		{"/..", "/../../x", "", false},
		{"/../..", "/..", "", false},
	} {
		below, ok := within(c.root, c.group)
		assert.Equal(t, c.ok, ok, "%s in %s", c.group, c.root)
		assert.Equal(t, c.below, below, "%s in %s", c.group, c.root)
	}
}

// No content of the files of control groups causes a panic, or a name that is not one of an fs.FS.
func FuzzFiles(f *testing.F) {
	for _, host := range hosts {
		for _, name := range []string{membershipFile(self), mountsFile} {
			if file, ok := host.files[name]; ok {
				f.Add(string(file.Data), "/a/b")
			}
		}
	}
	f.Add("1 2 3 / / rw - cgroup2 c rw\n", "/..")
	f.Add("1 2 3 /.. /../x rw - cgroup2 c\n", "/../y")
	for _, text := range []string{"max 100000", "-1 5", "1", "1  1", "18446744073709551615 1", "9223372036854771712", "nr_periods 1\n", "a\n"} {
		f.Add(text, "/")
	}
	f.Fuzz(func(t *testing.T, text, group string) {
		fsys := fstest.MapFS{"f": {Data: []byte(text)}}
		memberships, err := readLines(fsys, "f", parseMembership)
		for _, m := range memberships {
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(m.path, "/"))
		}
		mounts, err := readLines(fsys, "f", parseMount)
		mounts = slices.DeleteFunc(mounts, func(m mount) bool { return m.point == "" }) // of other file systems
		for _, m := range mounts {
			require.NoError(t, err)
			require.NotContains(t, strings.Split(m.point, "/"), "..")
			require.False(t, strings.HasPrefix(m.point, "/"))
		}
		dirs, _ := locate(fstest.MapFS{}, mounts, group)
		for _, dir := range dirs {
			require.NotContains(t, strings.Split(dir, "/"), "..")
		}
		cpus, err := parseQuota(text)
		require.False(t, cpus > 0 && err != nil)
		_, limited, err := readMax(fsys, "f")
		require.False(t, limited && err != nil)
		stat, err := readStat(fsys, "f")
		require.Equal(t, err != nil, stat == nil)
	})
}
