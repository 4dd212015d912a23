package cgroup

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/kernel/sysfs"
)

func TestCPUSeconds(t *testing.T) {
	const unified = "35 22 0:30 / /sys/fs/cgroup rw,nosuid,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	const separate = `22 28 0:21 / /sys rw - sysfs sysfs rw
33 32 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 32 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	// In a container without a cgroup namespace, a mount shows the container's part.
	const part = `1 2 0:29 /docker/0123 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct
2 2 0:30 /docker/0123 /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset
`
	for name, c := range map[string]struct {
		mounts, dir string
		files       []string
		want        float64
		err         error
	}{
		"version 2": {unified, "sys/fs/cgroup/web.slice", []string{"sys/fs/cgroup/web.slice/cpu.stat", "usage_usec 2500000\nuser_usec 3\n"}, 2.5, nil},
		"the top":   {unified, "sys/fs/cgroup", []string{"sys/fs/cgroup/cpu.stat", "usage_usec 1\n"}, 1e-6, nil},
		"version 1": {separate, "sys/fs/cgroup/cpuacct/a", []string{"sys/fs/cgroup/cpuacct/a/cpuacct.usage", "1500000000\n"}, 1.5, nil},
		"another controller": {
			separate, "sys/fs/cgroup/cpuset/a/b",
			[]string{"sys/fs/cgroup/cpuset/a/b/cpuset.cpus", "0\n", "sys/fs/cgroup/cpuacct/a/b/cpuacct.usage", "500000000\n"},
			0.5, nil,
		},
		"version 2 of a hybrid": {separate, "sys/fs/cgroup/unified/a", []string{"sys/fs/cgroup/unified/a/cpu.stat", "usage_usec 7000000\n"}, 7, nil},
		"in a container": {
			part, "sys/fs/cgroup/cpuset/inner",
			[]string{"sys/fs/cgroup/cpuset/inner/cpuset.cpus", "0\n", "sys/fs/cgroup/cpu,cpuacct/inner/cpuacct.usage", "2000000000\n"},
			2, nil,
		},
		"a mount over another": {unified + separate, "sys/fs/cgroup/cpuacct", []string{"sys/fs/cgroup/cpuacct/cpuacct.usage", "1000000000\n"}, 1, nil},
		"not counted by that controller": {
			separate, "sys/fs/cgroup/cpuset/a", []string{"sys/fs/cgroup/cpuset/a/tasks", "1\n", "sys/fs/cgroup/cpuacct/cpuacct.usage", "5\n"}, 0, fs.ErrNotExist,
		},
		"no such group":             {unified, "sys/fs/cgroup/gone", nil, 0, fs.ErrNotExist},
		"no usage":                  {unified, "sys/fs/cgroup/a", []string{"sys/fs/cgroup/a/cpu.stat", "nr_periods 5\n"}, 0, fs.ErrNotExist},
		"not a control group":       {unified, "sys/fs", []string{"sys/fs/cpu.stat", "usage_usec 5\n"}, 0, fs.ErrNotExist},
		"nothing mounted":           {"", "sys/fs/cgroup", []string{"sys/fs/cgroup/cpu.stat", "usage_usec 5\n"}, 0, fs.ErrNotExist},
		"malformed":                 {unified, "sys/fs/cgroup", []string{"sys/fs/cgroup/cpu.stat", "usage_usec -5\n"}, 0, sysfs.ErrMalformed},
		"malformed in version 1":    {separate, "sys/fs/cgroup/cpuacct", []string{"sys/fs/cgroup/cpuacct/cpuacct.usage", "x\n"}, 0, sysfs.ErrMalformed},
		"mountinfo that is no such": {"1 2 3\n", "sys/fs/cgroup", nil, 0, sysfs.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CPUSeconds(host(append(c.files, mountsFile, c.mounts)...), c.dir)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.InDelta(t, c.want, got, 1e-12)
		})
	}
}

// The processes of a group, and of those below it; a group of threads has no list, and its processes are those above it.
func TestProcesses(t *testing.T) {
	fsys := host(
		"sys/fs/cgroup/a/cgroup.procs", "5\n6\n", "sys/fs/cgroup/a/b/c/cgroup.procs", "70\n", "sys/fs/cgroup/a/d/cpu.stat", "usage_usec 5\n",
		"sys/fs/cgroup/e/cgroup.procs", "8\n", "sys/fs/cgroup/wrong/cgroup.procs", "x\n",
	)
	pids, err := Processes(fsys, "sys/fs/cgroup/a")
	require.NoError(t, err)
	assert.ElementsMatch(t, []int{5, 6, 70}, pids)
	_, err = Processes(fsys, "sys/fs/cgroup/gone")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Processes(fsys, "sys/fs/cgroup/wrong")
	require.ErrorIs(t, err, sysfs.ErrMalformed)
}
