package apply

import (
	"fmt"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests/hosts"
	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/linux"
	"gorun/internal/place/named"
	"gorun/internal/place/placement"
)

// A setting in gorun's words, and as each way applies it: "!" and what it cannot express follow the lines.
func TestWays(t *testing.T) {
	nice, node, sched := 5, 1, linux.Sched{Policy: linux.SchedBatch}
	realTime := linux.Sched{Policy: linux.SchedFIFO, Priority: 10}
	memory := func(policy linux.Mempolicy, nodes ...int) placement.Setting {
		return placement.Setting{Mempolicy: policy, Nodes: cpuset.Of(nodes...)}
	}
	bound := memory(linux.MempolicyBind, 7)
	bound.CPUs = cpuset.Of(0)
	const (
		only       = "! only gorun asks a kernel for a preferred node"
		affinity   = " ! the service may leave the CPUs of CPUAffinity=, but not those of AllowedCPUs= (control groups v2)"
		noPolicy   = "! a container of a pod has no memory policy"
		cannotName = "! a pod cannot name its CPUs"
		taskset    = "! it sets no memory policy"
	)
	docker := func(policy string) string {
		return "! --cpuset-mems limits memory to nodes, as the policy bind does, and there is no " + policy
	}
	for words, c := range map[string]struct {
		setting placement.Setting
		procs   int
		want    map[string]string // but of go
	}{
		"none": {},
		"cpus 0,32": {placement.Setting{CPUs: cpuset.Of(0, 32)}, 0, map[string]string{
			"gorun": "gorun exec --cpus 0,32 --", "taskset": "taskset -c 0,32", "numactl": "numactl --physcpubind=0,32",
			"systemd": "CPUAffinity=0,32" + affinity, "docker": "docker run --cpuset-cpus=0,32", "kubernetes": cannotName,
		}},
		"mempolicy interleave:0-1": {memory(linux.MempolicyInterleave, 0, 1), 0, map[string]string{
			"gorun": "gorun exec --mempolicy interleave:0-1 --", "taskset": taskset, "numactl": "numactl --interleave=0-1",
			"systemd": "NUMAPolicy=interleave NUMAMask=0-1", "docker": docker("interleave"), "kubernetes": noPolicy,
		}},
		"cpus 0, mempolicy bind:7": {bound, 0, map[string]string{
			"gorun": "gorun exec --cpus 0 --mempolicy bind:7 --", "taskset": taskset, "numactl": "numactl --physcpubind=0 --membind=7",
			"systemd": "CPUAffinity=0 NUMAPolicy=bind NUMAMask=7" + affinity, "docker": "docker run --cpuset-cpus=0 --cpuset-mems=7", "kubernetes": noPolicy,
		}},
		"mempolicy preferred-many:0-1": {memory(linux.MempolicyPreferredMany, 0, 1), 0, map[string]string{
			"gorun": "gorun exec --mempolicy preferred-many:0-1 --", "taskset": taskset, "numactl": "numactl --preferred-many=0-1",
			"systemd": "! NUMAPolicy= has no preferred-many", "docker": docker("preferred-many"), "kubernetes": noPolicy,
		}},
		"cpus 0, preferred-node 1": {placement.Setting{CPUs: cpuset.Of(0), PreferredNode: &node}, 0, map[string]string{
			"gorun": "gorun exec --cpus 0 --preferred-node 1 --", "taskset": only, "numactl": only, "systemd": only, "docker": only, "kubernetes": only,
		}},
		"mempolicy local, gomaxprocs 3": {memory(linux.MempolicyLocal), 3, map[string]string{
			"gorun": "gorun exec --mempolicy local --gomaxprocs 3 --", "taskset": taskset, "numactl": "env GOMAXPROCS=3 numactl --localalloc",
			"systemd": "Environment=GOMAXPROCS=3 NUMAPolicy=local", "docker": "docker run --env=GOMAXPROCS=3",
			"kubernetes": `env: - {name: GOMAXPROCS, value: "3"}`,
		}},
		"nice 5, sched batch": {placement.Setting{Nice: &nice, Sched: &sched}, 0, map[string]string{
			"gorun": "gorun exec --nice 5 --sched batch --", "taskset": "nice -n 5 chrt --batch 0 ! nice adds to the nice value that the shell has", "systemd": "Nice=5 CPUSchedulingPolicy=batch",
			"docker": "! begin the command in the container with nice -n 5 chrt --batch 0", "kubernetes": "! begin the command in the container with nice -n 5 chrt --batch 0",
		}},
		"cpus 1, sched fifo:10": {placement.Setting{CPUs: cpuset.Of(1), Sched: &realTime}, 0, map[string]string{
			"gorun": "gorun exec --cpus 1 --sched fifo:10 --", "taskset": "chrt --fifo 10 taskset -c 1", "numactl": "chrt --fifo 10 numactl --physcpubind=1",
			"systemd":    "CPUSchedulingPolicy=fifo CPUSchedulingPriority=10 CPUAffinity=1" + affinity,
			"docker":     "docker run --cpuset-cpus=1 ! begin the command in the container with chrt --fifo 10",
			"kubernetes": cannotName,
		}},
		"gomaxprocs 2": {placement.Setting{}, 2, map[string]string{
			"gorun": "gorun exec --gomaxprocs 2 --", "taskset": "env GOMAXPROCS=2", "systemd": "Environment=GOMAXPROCS=2",
			"docker": "docker run --env=GOMAXPROCS=2", "kubernetes": `env: - {name: GOMAXPROCS, value: "2"}`,
		}},
	} {
		t.Run(words, func(t *testing.T) {
			s := c.setting
			s.GOMAXPROCS = c.procs
			require.Equal(t, words, s.String())
			l := Lines(named.Placement{Setting: s}, nil)
			got := map[string]string{}
			for _, w := range Ways {
				text := strings.TrimPrefix(strings.Join(w.Lines(&l), " "), "[Service] ")
				if lacks := l.Lacks[w.Name]; lacks != "" {
					text = strings.TrimSpace(text + " ! " + lacks)
				}
				if text != "" && w.Name != "go" {
					got[w.Name] = text
				}
			}
			if c.want == nil {
				c.want = map[string]string{}
			}
			assert.Equal(t, c.want, got)
			_, err := parser.ParseFile(token.NewFileSet(), "main.go", "package main\nfunc main() {\n"+strings.Join(l.Go, "\n")+"\n}", 0)
			assert.NoError(t, err)
			assert.Equal(t, words == "none" || c.setting.PreferredNode != nil, len(l.Go) == 0)
		})
	}
}

// What gives a setting to a program that runs. A name is there if it is known; a way that cannot give all of it has no line.
func TestRunning(t *testing.T) {
	nice, sched := 5, linux.Sched{Policy: linux.SchedBatch}
	cpus := placement.Setting{CPUs: cpuset.Of(1)}
	nodes := placement.Setting{CPUs: cpuset.Of(1), Mempolicy: linux.MempolicyBind, Nodes: cpuset.Of(0)}
	all := placement.Setting{CPUs: cpuset.Of(1), Nice: &nice, Sched: &sched}
	for _, c := range []struct {
		setting placement.Setting
		program Running
		want    map[string][]string
	}{
		{cpus, Running{PID: 7}, map[string][]string{
			"taskset": {"taskset -acp 1 7"}, "systemd": {"systemctl set-property UNIT AllowedCPUs=1"}, "docker": {"docker update --cpuset-cpus=1 NAME"},
		}},
		{cpus, Running{PID: 7, Unit: "db.service"}, map[string][]string{
			"taskset": {"taskset -acp 1 7"}, "systemd": {"systemctl set-property db.service AllowedCPUs=1"},
		}},
		{cpus, Running{PID: 7, Unit: "db.service", User: true}, map[string][]string{
			"taskset": {"taskset -acp 1 7"}, "systemd": {"systemctl --user set-property db.service AllowedCPUs=1"},
		}},
		{nodes, Running{Group: "/sys/fs/cgroup/docker/1a", Container: "1a"}, map[string][]string{"docker": {"docker update --cpuset-cpus=1 --cpuset-mems=0 1a"}}},
		{nodes, Running{PID: 7, Unit: "db.service"}, map[string][]string{"systemd": {"systemctl set-property db.service AllowedCPUs=1 AllowedMemoryNodes=0"}}},
		{all, Running{PID: 7, Children: true}, map[string][]string{"taskset": {
			"for pid in 7 $(pgrep -P 7); do taskset -acp 1 $pid; done",
			"for pid in 7 $(pgrep -P 7); do chrt --all-tasks --batch --pid 0 $pid; done",
			"for pid in 7 $(pgrep -P 7); do renice -n 5 -p $(ls /proc/$pid/task); done",
		}}},
		{cpus, Running{Group: "/g", Unit: "db.service"}, map[string][]string{
			"taskset": {"for pid in $(cat /g/cgroup.procs); do taskset -acp 1 $pid; done"},
			"systemd": {"systemctl set-property db.service AllowedCPUs=1"},
		}},
		{placement.Setting{}, Running{PID: 7}, nil},
	} {
		l := Lines(named.Placement{Setting: c.setting}, &c.program)
		assert.Equal(t, c.want, l.Now)
	}
	l := Lines(named.Placement{Setting: cpus}, &Running{PID: 7, Unit: "db.service"})
	table := Table(&l)
	var got []string
	for _, row := range table.Rows[:5] {
		got = append(got, strings.TrimSpace(fmt.Sprint(row.Values[0], " ", row.Values[1])))
	}
	assert.Equal(t, []string{
		"gorun at its start: gorun exec --cpus 1 --", "taskset now: taskset -acp 1 7", "at its start: taskset -c 1",
		"numactl at its start: numactl --physcpubind=1", "systemd now: systemctl set-property db.service AllowedCPUs=1",
	}, got)
	var out, errs strings.Builder
	require.NoError(t, Print(&out, &errs, "taskset", "Use it", &l, ""))
	assert.Equal(t, "taskset -acp 1 7\n", out.String())
	assert.Equal(t, "gorun: Use it; at its start: taskset -c 1\n", errs.String())
}

func TestPods(t *testing.T) {
	const guaranteed = "in requests and limits alike (a Guaranteed pod), the kubelet's cpuManagerPolicy: static"
	assert.Empty(t, (*named.Pod)(nil).String())
	assert.Equal(t, "cpu: 1 "+guaranteed, (&named.Pod{CPUs: 1}).String())
	nice := 5
	s := named.Placement{Setting: placement.Setting{CPUs: cpuset.Of(0, 32), Nice: &nice, GOMAXPROCS: 2}}
	s.Pod = &named.Pod{CPUs: 2, Needs: "the option full-pcpus-only"}
	l := Lines(s, nil)
	assert.Equal(t, "cpu: 2 "+guaranteed+" with the option full-pcpus-only", l.Kubernetes)
	assert.Equal(t, `# Memory needs equal requests and limits too (a Guaranteed pod). This needs
# the kubelet's cpuManagerPolicy: static with the option full-pcpus-only.
resources:
  requests: {cpu: 2}
  limits: {cpu: 2}
env:
- {name: GOMAXPROCS, value: "2"}`, strings.Join(l.Pod, "\n"))
	assert.Equal(t, "the kubelet decides which CPUs they are; begin the command in the container with nice -n 5", l.Lacks["kubernetes"])
}

// Every placement of every recorded machine has lines.
func TestLinesOfPlacements(t *testing.T) {
	for name, m := range hosts.All(t) {
		placements, err := named.In(m, m.Allowed(), cpuset.Set{}).All("")
		require.NoError(t, err)
		for _, p := range placements[1:] { // the first is unbound
			lines := Lines(p, nil)
			assert.NotEmpty(t, lines.Numactl, "%s: %s", name, p.Name)
			assert.NotEmpty(t, lines.Systemd, "%s: %s", name, p.Name)
		}
	}
}

// All lines of a Go program.
func TestGo(t *testing.T) {
	nice, sched := -5, linux.Sched{Policy: linux.SchedIdle}
	l := Lines(named.Placement{Setting: placement.Setting{
		GOMAXPROCS: 2, CPUs: cpuset.Of(0, 32), Mempolicy: linux.MempolicyBind, Nodes: cpuset.Of(1), Nice: &nice, Sched: &sched,
	}}, nil)
	assert.Equal(t, `// First in main. Imports: log, os, runtime, golang.org/x/sys/unix, unsafe
if os.Getenv("PLACED") == "" {
	runtime.LockOSThread()
	var cpus unix.CPUSet
	for _, cpu := range []int{0, 32} {
		cpus.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &cpus); err != nil {
		log.Fatal(err)
	}
	var nodes unix.CPUSet // a set of bits, as for CPUs
	for _, node := range []int{1} {
		nodes.Set(node)
	}
	if _, _, err := unix.Syscall(unix.SYS_SET_MEMPOLICY, unix.MPOL_BIND, uintptr(unsafe.Pointer(&nodes)), 8*unsafe.Sizeof(nodes)); err != 0 {
		log.Fatal(err)
	}
	priority := int32(0)
	if _, _, err := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, 0, unix.SCHED_IDLE, uintptr(unsafe.Pointer(&priority))); err != 0 {
		log.Fatal(err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, -5); err != nil {
		log.Fatal(err)
	}
	log.Fatal(unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), "PLACED=1", "GOMAXPROCS=2")))
}`, strings.Join(l.Go, "\n"))
	l = Lines(named.Placement{Setting: placement.Setting{GOMAXPROCS: 2}}, nil)
	assert.Equal(t, []string{"runtime.GOMAXPROCS(2)"}, l.Go)
	l = Lines(named.Placement{Setting: placement.Setting{CPUs: cpuset.Of(1024)}}, nil)
	assert.Empty(t, l.Go)
	assert.Equal(t, "unix.CPUSet has CPUs up to 1023", l.Lacks["go"])
}
