package main

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"gorun/internal/kernel/linux/linuxtest"
)

// No process has the user or group somebody or a higher one.
const somebody = 61234

// A condition is a set of privileges that are taken away from gorun.
type condition struct {
	name  string
	lacks []string // the privileges, as the table names them
	linuxtest.Without
}

// conditions returns a condition for each privilege.
func conditions() (all []condition) {
	add := func(name string, w linuxtest.Without, lacks ...string) {
		if w.User != 0 {
			w.User += len(all) // a user of its own: the kernel counts RLIMIT_NPROC by user
		}
		all = append(all, condition{name: name, Without: w, lacks: append(slices.Clone(lacks), name)})
	}
	capabilities := slices.Sorted(maps.Keys(linuxtest.Capabilities))
	for _, name := range capabilities {
		add(name, linuxtest.Without{Capability: name})
	}
	// An ordinary user lacks privileges that depend on kernel.perf_event_paranoid: from 2 on, counters of the kernel.
	ordinary := capabilities
	if level, err := os.ReadFile("/proc/sys/kernel/perf_event_paranoid"); err != nil || string(level) > "1\n" {
		ordinary = append(slices.Clone(ordinary), "perf_event_open")
	}
	add("an ordinary user", linuxtest.Without{User: somebody}, ordinary...)
	add("perf_event_paranoid 4", linuxtest.Without{ // at which the kernel refuses every event with EACCES
		User: somebody, Filter: []linuxtest.Refusal{{Call: "perf_event_open", Errno: syscall.EACCES}},
	}, append(slices.Clone(capabilities), "perf_event_open")...)
	add("no_new_privs", linuxtest.Without{NewPrivs: true})

	limits := map[string]uint64{ // less than gorun uses, if it uses any
		"RLIMIT_AS": 2 << 30, "RLIMIT_CORE": 0, "RLIMIT_CPU": 60, "RLIMIT_DATA": 1 << 30, "RLIMIT_FSIZE": 100, "RLIMIT_LOCKS": 0,
		"RLIMIT_MEMLOCK": 0, "RLIMIT_MSGQUEUE": 0, "RLIMIT_NICE": 0, "RLIMIT_NOFILE": 12, "RLIMIT_NPROC": 100, "RLIMIT_RSS": 0,
		"RLIMIT_RTPRIO": 0, "RLIMIT_RTTIME": 1, "RLIMIT_SIGPENDING": 0, "RLIMIT_STACK": 64 << 10,
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		w := linuxtest.Without{User: somebody, Limits: map[string]uint64{name: limits[name]}}
		add(name, w, ordinary...)
	}

	paths := []string{
		"/proc", "/proc/cpuinfo", "/proc/meminfo", "/proc/pressure", "/proc/stat", "/proc/sys", "/sys",
		"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel",
	}
	below := func(dir string) (all []string) {
		for _, path := range paths {
			if strings.HasPrefix(path, dir+"/") {
				all = append(all, path)
			}
		}
		return all
	}
	for _, path := range paths {
		add(path, linuxtest.Without{Hidden: []string{path}}, below(path)...)
	}
	add("/proc and /sys", linuxtest.Without{Hidden: []string{"/proc", "/sys"}}, slices.Concat(paths, []string{"any"})...)
	add("/proc, hidepid=2", linuxtest.Without{
		User: somebody, Mounts: []linuxtest.Mount{{Type: "proc", Dir: "/proc", Options: "hidepid=2"}},
	}, ordinary...)
	add("/proc, subset=pid", linuxtest.Without{
		Mounts: []linuxtest.Mount{{Type: "proc", Dir: "/proc", Options: "subset=pid"}},
	}, below("/proc")...)
	v2 := linuxtest.Without{Mounts: []linuxtest.Mount{{Type: "cgroup2", Dir: "/sys/fs/cgroup"}}}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		add("cgroup v2", v2) // the machine already has this layout: nothing is missing
	} else {
		add("cgroup v2, controllers in v1", v2, "/sys/fs/cgroup")
	}

	for _, call := range slices.Sorted(maps.Keys(linuxtest.Calls)) {
		for name, errno := range map[string]syscall.Errno{"EPERM": syscall.EPERM, "ENOSYS": syscall.ENOSYS} {
			add(call+" "+name, linuxtest.Without{Filter: []linuxtest.Refusal{{Call: call, Errno: errno}}}, call)
		}
	}
	return all
}

// commandsTried are short runs by their names in the table. bench.line replaces the words that begin with $.
var commandsTried = []struct{ name, args string }{
	{"topo", "topo --format json"},
	{"doctor", "doctor --format json"},
	{"compare", "compare $RUN"},
	{"report", "report --out $DIR/page.html $RUN"},
	{"journal verify", "journal verify $RUN"},
	{"primes", "primes $PRIMES"},
	{"primes --out", "primes $PRIMES --out $DIR/out.jsonl"},
	{"primes --cpus", "primes $PRIMES --cpus $CPU"},
	{"primes --pin-cpus", "primes $PRIMES --pin-cpus $CPU"},
	{"primes --pin-thread", "primes $PRIMES --pin-thread"},
	{"primes --nice 5", "primes $PRIMES --nice 5"},
	{"primes --nice -5", "primes $PRIMES --nice -5"},
	{"primes --sched batch", "primes $PRIMES --sched batch"},
	{"primes --sched fifo:1", "primes $PRIMES --sched fifo:1"},
	{"contend", "contend --count 1000 $JSON"},
	{"c2c", "c2c --samples 1 $JSON"},
	{"numa", "numa --mem float --cpu float --load 0 $NUMA"},
	{"numa --mem 0", "numa --mem 0 --cpu $CPU --load 0 $NUMA"},
	{"numa --load", "numa --mem float --cpu float --load 10 $NUMA"},
	{"pair", "pair --samples 1 --warmup 0 $JSON -- $CPU $CPU 1000"},
	{"bind", "bind --processes 2 --checks 10 --array 4KiB --passes 10 --trials 1 $JSON"},
	{"futex", "futex --round-trips 10 --samples 1 --warmup 0 $JSON -- $CPU $CPU"},
	{"migrate", "migrate --relation same-cpu --working-set 16KiB --moves 2 --samples 1 --warmup 0 $JSON"},
	{"exec", "exec -- /bin/true"},
	{"exec --cpus", "exec --cpus $CPU -- /bin/true"},
	{"exec --nice 5", "exec --nice 5 -- /bin/true"},
	{"exec --nice -5", "exec --nice -5 -- /bin/true"},
	{"exec --sched batch", "exec --sched batch -- /bin/true"},
	{"exec --mempolicy", "exec --mempolicy bind:0 -- /bin/true"},
	{"exec --stat", "exec --stat -- /bin/true"},
	{"exec --timeout", "exec --timeout 1h -- /bin/true"},
	{"exec --placements", "exec --placements unbound,one-cpu --samples 1 $JSON -- /bin/true"},
	{"matrix primes", "matrix primes --workers 1,2 --limit 2000 --samples 1 --warmup 0 $JSON"},
}
