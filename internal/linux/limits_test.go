package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gorun/internal/sysfs"
)

const plainLimits = `Limit                     Soft Limit           Hard Limit           Units     
Max stack size            8388608              unlimited            bytes     
Max processes             unlimited            unlimited            processes 
Max address space         unlimited            unlimited            bytes     
`

// machine returns a system without limits on threads, plus the given files.
func machine(files map[string]string) fstest.MapFS {
	all := map[string]string{
		"proc/self/limits": plainLimits,
		"proc/self/status": "Name:\tgorun\nUid:\t1000\t1000\t1000\t1000\nVmSize:\t  102400 kB\nThreads:\t5\n" +
			"CapEff:\t0000000000000000\n",
		"proc/self/uid_map": "         0          0 4294967295\n",
		"proc/self/cgroup":  "0::/app\n",
		"proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" +
			"32 23 0:29 / / rw,relatime - ext4 /dev/vda rw\n",
		"sys/fs/cgroup/app/cgroup.controllers": "cpu memory pids\n",
	}
	maps.Copy(all, files)
	fsys := fstest.MapFS{}
	for name, text := range all {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestThreadLimits(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []Limit // without hints
		hint  string  // of the first, for 1000 threads
	}{
		{name: "none"},
		{
			name: "a user's limit counts the threads of that user",
			files: map[string]string{
				"proc/self/limits": strings.Replace(plainLimits, "Max processes             unlimited",
					"Max processes             1000     ", 1),
				"proc/1/status":      "Uid:\t0\t0\t0\t0\nThreads:\t50\n",
				"proc/20/status":     "Uid:\t1000\t0\t0\t0\nThreads:\t30\n",
				"proc/21/status":     "Uid:\t1000\t1000\t1000\t1000\nThreads:\t5\n",
				"proc/22/other":      "ended meanwhile",
				"proc/loadavgs/else": "not a process",
			},
			want: []Limit{{Name: "RLIMIT_NPROC", Unit: "threads", Max: 1000, Used: 35, PerThread: 1}},
			hint: "ulimit -u 1035 (the hard limit is unlimited; above it, as root: prlimit --pid $$ --nproc=1035)",
		},
		{
			name: "system-wide limits",
			files: map[string]string{
				"proc/loadavg":                "0.15 0.08 0.06 1/189 7777\n",
				"proc/sys/kernel/threads-max": "500\n",
				"proc/sys/kernel/pid_max":     "32768\n",
			},
			want: []Limit{
				{Name: "kernel.threads-max", Unit: "threads", Max: 500, Used: 189, PerThread: 1},
				{Name: "kernel.pid_max", Unit: "threads", Max: 32768, Used: 489, PerThread: 1},
			},
			hint: "as root: sysctl -w kernel.threads-max=1189",
		},
		{
			name: "pids of a control group and of its ancestor, version 2",
			files: map[string]string{
				"sys/fs/cgroup/app/pids.max":     "100\n",
				"sys/fs/cgroup/app/pids.current": "7\n",
				"sys/fs/cgroup/pids.max":         "60\n",
				"sys/fs/cgroup/pids.current":     "59\n",
			},
			want: []Limit{
				{Name: "/sys/fs/cgroup/app/pids.max", Unit: "threads", Max: 100, Used: 7, PerThread: 1},
				{Name: "/sys/fs/cgroup/pids.max", Unit: "threads", Max: 60, Used: 59, PerThread: 1},
			},
			hint: "as root: echo 1007 > /sys/fs/cgroup/app/pids.max " +
				"(systemd: TasksMax=1007; Docker: --pids-limit 1007)",
		},
		{
			name: "pids of a control group, version 1",
			files: map[string]string{
				"proc/self/cgroup":                    "8:pids:/job\n",
				"proc/self/mountinfo":                 "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
				"sys/fs/cgroup/pids/job/pids.max":     "10\n",
				"sys/fs/cgroup/pids/job/pids.current": "11\n",
			},
			want: []Limit{{Name: "/sys/fs/cgroup/pids/job/pids.max", Unit: "threads", Max: 10, Used: 11, PerThread: 1}},
			hint: "as root: echo 1011 > /sys/fs/cgroup/pids/job/pids.max " +
				"(systemd: TasksMax=1011; Docker: --pids-limit 1011)",
		},
		{
			name:  "mappings",
			files: map[string]string{"proc/sys/vm/max_map_count": "1000\n", "proc/self/maps": "a\nb\nc\n"},
			want:  []Limit{{Name: "vm.max_map_count", Unit: "mappings", Max: 1000, Used: 3, PerThread: 2}},
			hint:  "as root: sysctl -w vm.max_map_count=2003",
		},
		{
			name: "memory of the control group and of the system",
			files: map[string]string{
				"sys/fs/cgroup/app/memory.max":     "1000000\n",
				"sys/fs/cgroup/app/memory.current": "600000\n",
				"sys/fs/cgroup/app/memory.stat":    "anon 5\ninactive_file 100000\n",
				"proc/meminfo":                     "MemTotal: 9 kB\nMemAvailable:    2048 kB\n",
			},
			want: []Limit{
				{Name: "/sys/fs/cgroup/app/memory.max", Unit: "bytes", Max: 1000000, Used: 500000, PerThread: 45 << 10},
				{Name: "MemAvailable", Unit: "bytes", Max: 2 << 20, PerThread: 45 << 10},
			},
			hint: "as root: echo 46580000 > /sys/fs/cgroup/app/memory.max " +
				"(systemd: MemoryMax=46580000; Docker: --memory 46580000)",
		},
		{
			name: "address space holds the stacks of pthreads, and the first arenas",
			files: map[string]string{
				"proc/self/limits": strings.Replace(plainLimits, "Max address space         unlimited ",
					"Max address space         4294967296", 1),
				"sys/devices/system/cpu/online": "0-1\n",
			},
			want: []Limit{{
				Name: "RLIMIT_AS", Unit: "bytes", Max: 4 << 30, Used: 100<<20 + 16*64<<20, PerThread: 8<<20 + 64<<10,
			}},
			hint: "ulimit -v unlimited",
		},
		{
			name: "a small address space is full before every arena exists",
			files: map[string]string{
				"proc/self/limits": "Max stack size unlimited unlimited b\nMax processes unlimited unlimited p\n" +
					"Max address space 1073741824 1 b\n",
				"sys/devices/system/cpu/online": "0-1\n",
			},
			want: []Limit{{
				Name: "RLIMIT_AS", Unit: "bytes", Max: 1 << 30, Used: 100 << 20, PerThread: 72<<20 + 64<<10,
			}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits, unread := ThreadLimits(machine(c.files))
			require.Empty(t, unread)
			if c.hint != "" {
				obstacles := Obstacles(limits[:1], 1000)
				require.Len(t, obstacles, 1)
				assert.Equal(t, c.hint, obstacles[0].Hint)
			}
			for i := range limits {
				limits[i].Hint = ""
			}
			assert.Equal(t, c.want, limits)
		})
	}
}

func TestUserLimitIsNotHeldAgainstThePrivileged(t *testing.T) {
	const status = "Uid:\t%d\t1000\t1000\t1000\nThreads:\t5\nCapEff:\t%016x\n"
	const first = "0 0 4294967295\n"
	for _, c := range []struct {
		name         string
		uid          int
		capabilities uint64
		uidMap       string
		limits       int
	}{
		{"a user", 1000, 0, first, 1},
		{"root", 0, 0, first, 0},
		{"CAP_SYS_ADMIN", 1000, 1 << 21, first, 0},
		{"CAP_SYS_RESOURCE", 1000, 1 << 24, first, 0},
		{"other capabilities", 1000, ^uint64(1<<21 | 1<<24), first, 1},
		{"root of a user namespace", 0, ^uint64(0), "0 1000 1\n", 1},
		{"no user namespaces", 0, 0, "", 0},
	} {
		text := fmt.Sprintf(status, c.uid, c.capabilities)
		fsys := machine(map[string]string{
			"proc/self/limits":  "Max processes  100  200  processes\nMax address space unlimited unlimited bytes\n",
			"proc/self/status":  text,
			"proc/self/uid_map": c.uidMap,
			"proc/9/status":     text,
		})
		if c.uidMap == "" {
			delete(fsys, "proc/self/uid_map")
		}
		limits, unread := ThreadLimits(fsys)
		require.Empty(t, unread, c.name)
		assert.Len(t, limits, c.limits, c.name)
	}
}

func TestThreadLimitsOfAnEmptyMachine(t *testing.T) {
	limits, unread := ThreadLimits(fstest.MapFS{})
	require.Empty(t, unread)
	assert.Empty(t, limits)
}

// An unreadable file is named, and the other limits are returned.
func TestThreadLimitsWithoutWhatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"proc/self/limits":               "Max processes\n",
		"proc/loadavg":                   "1 2 3 4 5\n",
		"proc/sys/kernel/pid_max":        "many\n",
		"proc/sys/kernel/threads-max":    "-5\n",
		"sys/fs/cgroup/app/pids.max":     "few\n",
		"sys/fs/cgroup/app/pids.current": "\n",
		"sys/fs/cgroup/app/memory.max":   "1G\n",
		"proc/sys/vm/max_map_count":      "-1\n",
		"proc/meminfo":                   "MemAvailable: lots\n",
		"proc/9/status":                  "Uid:\tme\n",
		"proc/self/status":               "Uid:\t0\nThreads:\t\n",
		"proc/self/cgroup":               "nonsense\n",
	} {
		files := map[string]string{
			"proc/self/limits":              "Max processes 10 10 p\nMax address space unlimited unlimited bytes\n",
			"proc/loadavg":                  "0.15 0.08 0.06 1/189 7777\n",
			"proc/sys/kernel/threads-max":   "300\n",
			"proc/sys/kernel/pid_max":       "600\n",
			"sys/fs/cgroup/app/pids.max":    "5\n",
			"sys/fs/cgroup/app/memory.max":  "4096\n",
			"sys/fs/cgroup/app/memory.stat": "inactive_file 0\n",
		}
		files["sys/fs/cgroup/app/pids.current"], files["sys/fs/cgroup/app/memory.current"] = "1\n", "1\n"
		whole, unread := ThreadLimits(machine(files))
		require.Empty(t, unread)
		files[name] = text
		limits, unread := ThreadLimits(machine(files))
		err := errors.Join(unread...)
		require.ErrorIs(t, err, sysfs.ErrMalformed, name)
		assert.ErrorContains(t, err, name)
		assert.NotEmpty(t, limits, name)
		for _, l := range limits {
			assert.Contains(t, whole, l, "%s: a limit that another file has stays as it was", name)
		}
	}
}

func TestThreadLimitsOfAForbiddenFile(t *testing.T) {
	fsys := machine(map[string]string{"proc/loadavg": "1 1 1 1/1 1", "proc/sys/kernel/pid_max": "400"})
	_, unread := ThreadLimits(forbidden{fsys, "proc/loadavg"})
	assert.ErrorIs(t, errors.Join(unread...), fs.ErrPermission, "an unreadable file is not an infinite limit")
}

type forbidden struct {
	fs.FS
	name string
}

func (f forbidden) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return f.FS.Open(name)
}

func TestObstacles(t *testing.T) {
	limits := []Limit{
		{Name: "wide", Max: 1000, Used: 0, PerThread: 1},
		{Name: "tight", Max: 100, Used: 90, PerThread: 1, Hint: "set NEEDED, yes NEEDED"},
		{Name: "pairs", Max: 100, Used: 50, PerThread: 2},
	}
	assert.Empty(t, Obstacles(limits, 10))
	one := Obstacles(limits, 11)
	require.Len(t, one, 1)
	assert.Equal(t, "tight", one[0].Name)
	assert.Equal(t, "set 101, yes 101", one[0].Hint)
	assert.Equal(t, "tight: 90 of 100  used, room for 10 threads", one[0].String())
	var names []string
	for _, l := range Obstacles(limits, 5000) {
		names = append(names, l.Name)
	}
	assert.Equal(t, []string{"tight", "pairs", "wide"}, names, "the tightest first")
	assert.Equal(t, "set NEEDED, yes NEEDED", limits[1].Hint, "the limits are not changed")
	assert.Empty(t, Obstacles(nil, math.MaxInt))
}

// The hint's number is the least maximum that holds the threads.
func TestHintIsTheLeastThatHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limit{
			Max:       rapid.Uint64Max(1<<40).Draw(t, "max"),
			Used:      rapid.Uint64Max(1<<40).Draw(t, "used"),
			PerThread: rapid.Uint64Range(1, 1<<24).Draw(t, "per thread"),
			Hint:      "NEEDED",
		}
		threads := rapid.IntRange(1, 100000).Draw(t, "threads")
		obstacles := Obstacles([]Limit{l}, threads)
		if l.Room() >= threads {
			require.Empty(t, obstacles)
			return
		}
		var most uint64
		_, err := fmt.Sscan(obstacles[0].Hint, &most)
		require.NoError(t, err)
		l.Max = most
		require.Equal(t, threads, l.Room())
		l.Max--
		require.Equal(t, threads-1, l.Room())
	})
}

func FuzzParseRlimit(f *testing.F) {
	for _, seed := range []string{plainLimits, "Max processes 1 2", "Max processes x y z", "Max processes"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		soft, _, limited, err := parseRlimit(text, "Max processes")
		if err != nil || !limited {
			require.Zero(t, soft)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add("Uid:\t1000\t0\t0\t0\nThreads:\t5\nCapEff:\t000001ffffffffff\n")
	f.Add("Uid:\t-1\nThreads:\t5\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseStatus(text)
		if err != nil {
			require.Zero(t, s)
			return
		}
		text = fmt.Sprintf("Uid:\t%d\nThreads:\t%d\nCapEff:\t%x\n", s.uid, s.threads, s.capabilities)
		again, err := parseStatus(text)
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}

func FuzzParseLoadavg(f *testing.F) {
	f.Add("0.15 0.08 0.06 1/89 7777")
	f.Add("0 0 0 1 2")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseLoadavg(text)
		if err == nil {
			require.Contains(t, text, "/")
			require.LessOrEqual(t, n, uint64(math.MaxUint32))
		}
	})
}

// Processes take threads and memory. This process's own limits do not count.
func TestProcessLimits(t *testing.T) {
	fsys := machine(map[string]string{
		"proc/loadavg":                   "0.1 0.2 0.3 1/700 1234\n",
		"proc/sys/kernel/threads-max":    "1000\n",
		"proc/sys/vm/max_map_count":      "0\n",
		"proc/self/maps":                 "\n",
		"proc/meminfo":                   "MemAvailable:   1024 kB\n",
		"sys/fs/cgroup/app/pids.max":     "100\n",
		"sys/fs/cgroup/app/pids.current": "20\n",
	})
	limits, unread := ProcessLimits(fsys, 10, 1<<18)
	require.Empty(t, unread)
	rooms := map[string]int{}
	for _, l := range limits {
		rooms[l.Name] = l.Room()
	}
	assert.Equal(t, map[string]int{"kernel.threads-max": 30, "/sys/fs/cgroup/app/pids.max": 8, "MemAvailable": 4}, rooms)
	obstacles := Obstacles(limits, 5)
	require.Len(t, obstacles, 1)
	assert.Equal(t, "free some memory: 1310720 bytes are needed", obstacles[0].Hint)

	_, unread = ProcessLimits(machine(map[string]string{"proc/loadavg": "?"}), 1, 1)
	require.Len(t, unread, 1)
}
