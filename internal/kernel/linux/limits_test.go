package linux

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/sysfs"
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

func TestEnough(t *testing.T) {
	const user = "Max processes             "
	for name, c := range map[string]struct {
		files     map[string]string
		err, hint string // for 1000 threads; "": enough
	}{
		"no limit": {},
		"the threads of a user": {
			map[string]string{
				"proc/self/limits": strings.Replace(plainLimits, user+"unlimited", user+"1000     ", 1),
				"proc/1/status":    "Uid:\t0\t0\t0\t0\nThreads:\t50\n",
				"proc/20/status":   "Uid:\t1000\t0\t0\t0\nThreads:\t30\n",
				"proc/21/status":   "Uid:\t1000\t1000\t1000\t1000\nThreads:\t5\n",
				"proc/22/other":    "ended meanwhile",
			},
			"RLIMIT_NPROC leaves room for 965 of the 1000 threads that are needed",
			"ulimit -u 1035, or as root: prlimit --pid $$ --nproc=1035",
		},
		"the threads of the system": {
			map[string]string{
				"proc/loadavg":                "0.15 0.08 0.06 1/189 7777\n",
				"proc/sys/kernel/threads-max": "500\n",
				"proc/sys/kernel/pid_max":     "1488\n",
			},
			"kernel.threads-max leaves room for 311 of the 1000 threads that are needed; " +
				"kernel.pid_max leaves room for 999 of the 1000 threads that are needed",
			"as root: sysctl -w kernel.threads-max=1189; as root: sysctl -w kernel.pid_max=1489",
		},
		"enough threads": {files: map[string]string{
			"proc/loadavg":                "0.15 0.08 0.06 1/189 7777\n",
			"proc/sys/kernel/threads-max": "1189\n",
			"proc/sys/kernel/pid_max":     "1489\n",
		}},
		"the threads of a control group": {
			map[string]string{
				"sys/fs/cgroup/pids.max":     "60\n",
				"sys/fs/cgroup/pids.current": "61\n",
			},
			"/sys/fs/cgroup/pids.max leaves room for 0 of the 1000 threads that are needed",
			"as root: echo 1061 > /sys/fs/cgroup/pids.max (systemd: TasksMax=1061; Docker: --pids-limit 1061)",
		},
		"mappings": {
			map[string]string{"proc/sys/vm/max_map_count": "1000\n", "proc/self/maps": "a\nb\nc\n"},
			"vm.max_map_count leaves room for 997 of the 2000 mappings that are needed",
			"as root: sysctl -w vm.max_map_count=2003",
		},
		"address space": {
			map[string]string{"proc/self/limits": strings.Replace(plainLimits, "space         unlimited ", "space         4294967296", 1)},
			"RLIMIT_AS leaves room for 4190109696 of the 8454144000 bytes that are needed", "ulimit -v unlimited",
		},
		"memory of the control group and of the system": {
			map[string]string{
				"sys/fs/cgroup/app/memory.max":     "1000000\n",
				"sys/fs/cgroup/app/memory.current": "600000\n",
				"sys/fs/cgroup/app/memory.stat":    "anon 5\ninactive_file 100000\n",
				"proc/meminfo":                     "MemTotal: 9 kB\nMemAvailable:    2048 kB\n",
			},
			"/sys/fs/cgroup/app/memory.max leaves room for 500000 of the 46080000 bytes that are needed",
			"free some memory, or raise the limit of the control group",
		},
	} {
		unread, err := Enough(machine(c.files), Need{Threads: 1000})
		require.Empty(t, unread, name)
		if c.err == "" {
			require.NoError(t, err, name)
			continue
		}
		require.EqualError(t, err, c.err, name)
		assert.Equal(t, c.hint, hint.Of(err), name)
	}
	_, err := Enough(machine(map[string]string{"proc/meminfo": "MemAvailable: 1 kB\n", "proc/sys/vm/max_map_count": "0\n"}),
		Need{Others: 1, Bytes: math.MaxFloat64})
	require.EqualError(t, err, "MemAvailable leaves room for 1024 of the 4611686018427387904 bytes that are needed",
		"mappings of other processes do not count")
}

// RLIMIT_NPROC does not apply to the privileged of the initial user namespace.
func TestUserLimitIsNotHeldAgainstThePrivileged(t *testing.T) {
	const status = "Uid:\t%d\t1000\t1000\t1000\nThreads:\t5\nCapEff:\t%016x\n"
	const first = "0 0 4294967295\n"
	for _, c := range []struct {
		name         string
		uid          int
		capabilities uint64
		uidMap       string
		refused      bool
	}{
		{"a user", 1000, 0, first, true},
		{"root", 0, 0, first, false},
		{"CAP_SYS_ADMIN", 1000, 1 << 21, first, false},
		{"CAP_SYS_RESOURCE", 1000, 1 << 24, first, false},
		{"other capabilities", 1000, ^uint64(1<<21 | 1<<24), first, true},
		{"root of a user namespace", 0, ^uint64(0), "0 1000 1\n", true},
	} {
		text := fmt.Sprintf(status, c.uid, c.capabilities)
		_, err := Enough(machine(map[string]string{
			"proc/self/limits":  "Max processes  100  200  processes\nMax address space unlimited unlimited bytes\n",
			"proc/self/status":  text,
			"proc/self/uid_map": c.uidMap,
			"proc/9/status":     text,
		}), Need{Threads: 96})
		assert.Equal(t, c.refused, err != nil, c.name)
	}
}

// An unreadable file is named, and the other limits count.
func TestEnoughWithoutWhatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{
		"proc/self/limits":               "Max processes\n",
		"proc/loadavg":                   "1 2 3 4 5\n",
		"proc/sys/kernel/pid_max":        "many\n",
		"proc/sys/kernel/threads-max":    "-5\n",
		"sys/fs/cgroup/app/pids.current": "\n",
		"proc/meminfo":                   "MemAvailable: lots\n",
		"proc/9/status":                  "Uid:\tme\n",
		"proc/self/status":               "Uid:\t0\nThreads:\t\n",
	} {
		files := map[string]string{
			"proc/self/limits":               "Max processes 10 10 p\nMax address space unlimited unlimited bytes\n",
			"proc/loadavg":                   "0.15 0.08 0.06 1/189 7777\n",
			"sys/fs/cgroup/app/pids.max":     "5\n",
			"sys/fs/cgroup/app/pids.current": "1\n",
			"proc/sys/vm/max_map_count":      "1\n",
		}
		files[name] = text
		unread, err := Enough(machine(files), Need{Threads: 1})
		require.ErrorIs(t, errors.Join(unread...), sysfs.ErrMalformed, name)
		assert.ErrorContains(t, errors.Join(unread...), name)
		assert.ErrorContains(t, err, "vm.max_map_count leaves room for 1 of", name)
	}
	unread, err := Enough(fstest.MapFS{}, Need{Threads: 1})
	require.NoError(t, err)
	assert.Empty(t, unread, "an empty machine has no limits")
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

// On this machine the limits allow the existing threads, and not any number.
func TestEnoughOfThisMachine(t *testing.T) {
	fsys := os.DirFS("/")
	unread, err := Enough(fsys, Need{Threads: 1})
	require.Empty(t, unread)
	require.NoError(t, err)
	_, err = Enough(fsys, Need{Threads: math.MaxInt32})
	require.ErrorContains(t, err, "kernel.threads-max")
	tids, err := Tasks()
	require.NoError(t, err)
	threads, err := countThreads(fsys, uint64(os.Getuid()))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, threads, uint64(len(tids)), "this process is among those counted")
}
