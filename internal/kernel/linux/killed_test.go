package linux

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A memory limit is named if it may be the cause: only for SIGKILL, and only if it has killed something.
func TestKilled(t *testing.T) {
	limited := map[string]string{
		"sys/fs/cgroup/app/memory.max": "67108864\n", "sys/fs/cgroup/app/memory.current": "60000000\n",
	}
	with := func(events string) map[string]string {
		files := map[string]string{"sys/fs/cgroup/app/memory.events": events}
		for name, text := range limited {
			files[name] = text
		}
		return files
	}
	const limit = "killed by SIGKILL; the memory limit of its control group is 67108864 bytes"
	for _, c := range []struct {
		name   string
		files  map[string]string
		signal syscall.Signal
		want   string
	}{
		{"no limit", nil, syscall.SIGKILL, "killed by SIGKILL"},
		{"another signal", with("oom_kill 1\n"), syscall.SIGSEGV, "killed by SIGSEGV"},
		{"a limit", limited, syscall.SIGKILL, limit},
		{"a limit that has killed nothing", with("max 7\noom 0\noom_kill 0\n"), syscall.SIGKILL, "killed by SIGKILL"},
		{
			"a limit that has killed", with("max 7\noom 2\noom_kill 2\n"), syscall.SIGKILL,
			limit + ", for which the kernel has killed 2 there so far",
		},
		{"version 1", map[string]string{
			"proc/self/cgroup":                               "8:memory:/job\n",
			"proc/self/mountinfo":                            "39 31 0:36 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "67108864\n",
			"sys/fs/cgroup/memory/job/memory.usage_in_bytes": "1\n",
			"sys/fs/cgroup/memory/job/memory.oom_control":    "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.oom_control":        "oom_kill 5\n",
		}, syscall.SIGKILL, limit + ", for which the kernel has killed 1 there so far"},
		{"an odd file", with("oom_kill many\n"), syscall.SIGKILL, "killed by SIGKILL"},
	} {
		k := NewKilled(machine(c.files), c.signal)
		assert.EqualError(t, k, c.want, c.name)
		assert.Equal(t, len(k.limits) > 0, k.Hint() != "", c.name)
	}
}
