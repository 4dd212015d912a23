package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/cgroup"
	"gorun/internal/linux"
	"gorun/internal/measure"
	"gorun/internal/sysfs"
	"gorun/internal/topology"
	"gorun/internal/units"
)

// condition is a row of the table: a new one is a row here and a function.
type condition struct {
	name   string
	area   Area
	digest bool // it can be in the digest: it reads few files, and tries nothing
	// read returns the condition; nil where this machine does not have it. t is nil where no trial was taken.
	read func(s Subject, t *Trial) *Condition
}

var conditions = []condition{
	{"equal runs", Timing, false, equalRuns},
	{"other programs", Timing, false, otherPrograms},
	{"hypervisor", Timing, true, hypervisor},
	{"steal", Timing, false, steal},
	{"cpu quota", Timing, true, quota},
	{"throttling", Timing, false, throttling},
	{"governor", Timing, true, governor},
	{"turbo", Timing, true, turbo},
	{"clock source", Timing, true, clockSource},
	{"mitigations", Timing, false, mitigations},
	{"cpus", Placement, false, cpus},
	{"offline cpus", Placement, true, offline},
	{"isolated cpus", Placement, true, isolated},
	{"smt", Placement, true, smt},
	{"classes of cpus", Placement, true, classes},
	{"placement calls", Placement, false, placementCalls},
	{"gomaxprocs", Placement, false, gomaxprocs},
	{"thread limit", Placement, false, threadLimit},
	{"sched_ext", Placement, true, schedExt},
	{"kernels", Placement, true, kernels},
	{"numa nodes", NUMA, true, numaNodes},
	{"memory policy", NUMA, false, memoryPolicy},
	{"numa balancing", NUMA, true, numaBalancing},
	{"huge pages", NUMA, false, hugePages},
	{"perf events", Counters, false, perfEvents},
	{"tracefs", Counters, false, tracefs},
}

// Shares of the CPU time from which a disturbance is worth a note, and from which no result can be trusted.
const (
	disturbing = 0.02
	ruinous    = 0.25
)

// ruinousResolution is the difference above which a placement's effect is rarely found.
const ruinousResolution = 0.10

// percent returns a share with two digits, or all before the point.
func percent(share float64) string {
	if digits := strconv.FormatFloat(100*share, 'g', 2, 64); !strings.Contains(digits, "e") {
		return digits + "%"
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + "%"
}

func equalRuns(_ Subject, t *Trial) *Condition {
	if t == nil {
		return nil
	}
	c := &Condition{Level: OK, Value: "differ by " + percent(t.Differs)}
	after := fmt.Sprintf("after %s, expect “can't tell” below %s", units.Duration(t.PromisedSeconds), percent(t.Resolution))
	switch {
	case t.Resolution == 0:
		c.Level, c.Effect = Unfit, "the differences are too large to say what a run could find"
	case t.Resolution > ruinousResolution:
		c.Level, c.Effect = Unfit, after
	case t.Resolution > disturbing:
		c.Level, c.Effect = Limit, after
	default:
		c.Effect = after
	}
	if c.Level != OK {
		c.Remedy = "make the machine quieter, or compare longer runs (--budget)"
	}
	return c
}

// taken returns a condition about a share of the CPU time that something else took in the trial.
func taken(s Subject, t *Trial, seconds *float64, remedy string) *Condition {
	if seconds == nil {
		return &Condition{Level: Limit, Value: "unknown", Effect: "samples that it disturbs cannot be marked"}
	}
	share := max(0, t.Signals.Share(seconds, s.Machine.Allowed().Len()))
	c := &Condition{Level: OK, Value: percent(share) + " of the CPU time"}
	if share > disturbing {
		c.Level, c.Effect, c.Remedy = Limit, "samples are marked suspect, and times vary", remedy
	}
	if share > ruinous {
		c.Level = Unfit
	}
	return c
}

func otherPrograms(s Subject, t *Trial) *Condition {
	if t == nil {
		return nil
	}
	return taken(s, t, t.Signals.OtherSeconds, "end them, or keep them off some CPUs: gorun exec --dedicate")
}

func hypervisor(s Subject, _ *Trial) *Condition {
	if !s.Host.Hypervisor {
		return &Condition{Level: OK, Value: "none"}
	}
	return &Condition{
		Level: Note, Value: "virtual machine", Digest: "virtual machine",
		Effect: "CPUs may share cores with other machines, and the topology may be invented",
	}
}

func steal(s Subject, t *Trial) *Condition {
	if t == nil {
		return nil
	}
	return taken(s, t, t.Signals.StealSeconds, "ask for a machine with dedicated CPUs, or measure at another time")
}

func quota(s Subject, _ *Trial) *Condition {
	cpus, limited, err := cgroup.ReadQuota(s.Root)
	switch {
	case err != nil:
		return &Condition{Level: Limit, Value: "unknown: " + err.Error(), Effect: "whether threads will be stopped is not known"}
	case !limited:
		return &Condition{Level: OK, Value: "none"}
	}
	c := &Condition{
		Level: Note, Value: units.Digits(cpus) + " CPUs, of this control group or one above it",
		Digest: "quota of " + units.Digits(cpus) + " CPUs",
	}
	if allowed := s.Machine.Allowed().Len(); cpus < float64(allowed) {
		c.Level = Limit
		c.Effect = fmt.Sprintf("threads on more than %s CPUs at once are stopped until the next period", units.Digits(cpus))
		c.Remedy = "use as many threads as the quota allows, or have it raised (cpu.max)"
	}
	return c
}

func throttling(s Subject, t *Trial) *Condition {
	if t == nil {
		return nil
	}
	seconds := t.Signals.ThrottledSeconds
	switch {
	case seconds == nil:
		return &Condition{Level: Note, Value: "unknown", Effect: "samples that a quota stopped cannot be marked"}
	case *seconds > 0:
		return &Condition{
			Level: Unfit, Value: "stopped for " + units.Seconds(*seconds), Effect: "times show the quota, not the placement",
			Remedy: "run fewer threads than the quota's CPUs, or have it raised",
		}
	}
	return &Condition{Level: OK, Value: "none"}
}

const cpuDir = "sys/devices/system/cpu"

func governor(s Subject, _ *Trial) *Condition {
	is := s.Host.Governor
	c := &Condition{Level: OK, Value: is}
	switch is {
	case "":
		c.Value = "not reported"
		return c
	case "performance":
		return c
	}
	c.Level, c.Digest = Limit, "governor "+is
	c.Effect = "a CPU that was idle begins at a low clock"
	c.Remedy = "set the governor to performance"
	all := "/" + cpuDir + "/cpu*/cpufreq/scaling_governor"
	c.Fix = &Fix{Do: "echo performance | sudo tee " + all, Undo: "echo " + is + " | sudo tee " + all}
	return c
}

func turbo(s Subject, _ *Trial) *Condition {
	switch s.Host.Turbo {
	case "":
		return &Condition{Level: OK, Value: "not reported"}
	case "off":
		return &Condition{Level: OK, Value: "off"}
	}
	c := &Condition{
		Level: Note, Value: "on", Digest: "turbo on",
		Effect: "the clock depends on how many cores are busy and on the temperature",
		Remedy: "turn it off for comparisons across numbers of threads",
	}
	file, on, off := "cpufreq/boost", "1", "0"
	if _, err := fs.Stat(s.Root, path.Join(cpuDir, "intel_pstate/no_turbo")); err == nil {
		file, on, off = "intel_pstate/no_turbo", "0", "1"
	}
	tee := " | sudo tee /" + cpuDir + "/" + file
	c.Fix = &Fix{Do: "echo " + off + tee, Undo: "echo " + on + tee}
	return c
}

// fastClocks are read in user mode (vdso(7)).
var fastClocks = []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}

func clockSource(s Subject, _ *Trial) *Condition {
	is := s.Host.Clocksource
	if is == "" {
		return &Condition{Level: OK, Value: "not reported"}
	}
	if slices.Contains(fastClocks, is) {
		return &Condition{Level: OK, Value: is}
	}
	return &Condition{
		Level: Limit, Value: is, Digest: "clock source " + is,
		Effect: "reading the clock takes a system call or longer, which weighs on short samples",
		Remedy: "see the kernel's log for why the TSC is not used (dmesg | grep -i tsc)",
	}
}

func mitigations(s Subject, _ *Trial) *Condition {
	dir := cpuDir + "/vulnerabilities"
	entries, err := fs.ReadDir(s.Root, dir)
	if err != nil {
		return &Condition{Level: OK, Value: "not reported"}
	}
	active, open := 0, 0
	for _, entry := range entries {
		text, _ := sysfs.ReadString(s.Root, path.Join(dir, entry.Name()))
		switch {
		case strings.HasPrefix(text, "Mitigation"):
			active++
		case strings.HasPrefix(text, "Vulnerable"):
			open++
		}
	}
	c := &Condition{Level: OK, Value: fmt.Sprintf("%d active, %d vulnerabilities open", active, open)}
	if active > 0 {
		c.Level, c.Effect = Note, "system calls and context switches take longer; compare machines with the same ones"
	}
	return c
}

func cpus(s Subject, _ *Trial) *Condition {
	m := s.Machine
	allowed, online := m.Allowed(), m.Counts().Online
	c := &Condition{Level: OK, Value: fmt.Sprintf("%d of %s online: %s", allowed.Len(), units.Things(online, "CPU"), allowed)}
	if allowed.Len() < online {
		var why []string
		for _, cpu := range m.CPUs {
			if w := m.WhyNot(cpu.CPU); cpu.Online && w != "" && !slices.Contains(why, w) {
				why = append(why, w)
			}
		}
		c.Level = Note
		c.Effect = "gorun places on these only: the others are " + strings.Join(why, ", ")
	}
	if allowed.Len() == 1 {
		c.Level, c.Effect = Unfit, "with one CPU there is no placement to compare"
		c.Remedy = "use a machine, a cpuset or an affinity mask with two CPUs"
	}
	return c
}

func offline(s Subject, _ *Trial) *Condition {
	off := s.Machine.Where(func(c topology.CPU) bool { return !c.Online })
	if off.Empty() {
		return &Condition{Level: OK, Value: "none"}
	}
	c := &Condition{
		Level: Note, Value: off.String(), Digest: fmt.Sprintf("CPUs %s offline", off),
		Effect: "nothing runs there, and their cores' siblings have the core alone",
	}
	first := fmt.Sprintf("/%s/cpu%d/online", cpuDir, off.First())
	c.Fix = &Fix{Do: "echo 1 | sudo tee " + first, Undo: "echo 0 | sudo tee " + first}
	return c
}

func isolated(s Subject, _ *Trial) *Condition {
	m := s.Machine
	if m.Isolated.Empty() && m.NohzFull.Empty() {
		return &Condition{Level: OK, Value: "none"}
	}
	value := "isolated " + m.Isolated.String()
	if m.Isolated.Empty() {
		value = "none isolated"
	}
	if !m.NohzFull.Empty() {
		value += "; nohz_full " + m.NohzFull.String()
	}
	return &Condition{
		Level: Note, Value: value, Digest: value,
		Effect: "the scheduler does not balance threads onto isolated CPUs: a thread runs there only if it is pinned",
	}
}

func smt(s Subject, _ *Trial) *Condition {
	n := s.Machine.Counts()
	if n.Online <= n.Cores {
		return &Condition{Level: OK, Value: "off, or the cores have one thread"}
	}
	file := "/" + cpuDir + "/smt/control"
	c := &Condition{
		Level: Note, Value: "on: cores have several threads", Digest: "SMT on",
		Effect: "two threads on one core slow each other down",
		Remedy: "place on one CPU per core: --cpus one-per-core",
	}
	if s.Host.SMT == "on" {
		c.Fix = &Fix{Do: "echo off | sudo tee " + file, Undo: "echo on | sudo tee " + file}
	}
	return c
}

func classes(s Subject, _ *Trial) *Condition {
	p := s.Machine.Where(func(c topology.CPU) bool { return c.Class == topology.Performance })
	e := s.Machine.Where(func(c topology.CPU) bool { return c.Class == topology.Efficiency })
	if p.Empty() || e.Empty() {
		return &Condition{Level: OK, Value: "one"}
	}
	return &Condition{
		Level: Note, Value: fmt.Sprintf("performance %s, efficiency %s", p, e), Digest: "hybrid",
		Effect: "the same work takes longer on an efficiency core", Remedy: "--cpus pcores or --cpus ecores",
	}
}

// placementCalls tries the calls by which gorun places a thread, each with what the thread has already.
func placementCalls(s Subject, _ *Trial) *Condition {
	if !s.Live {
		return nil
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var refused []string
	var remedy string
	refuse := func(name string, err error) {
		if err != nil {
			refused, remedy = append(refused, name), linux.Remedy(err)
		}
	}
	if mask, err := linux.GetAffinity(0); err != nil {
		refuse("sched_getaffinity", err)
	} else {
		refuse("sched_setaffinity", linux.SetAffinity(0, mask))
	}
	if nice, err := linux.GetNice(0); err != nil {
		refuse("getpriority", err)
	} else {
		refuse("setpriority", linux.SetNice(0, nice))
	}
	if sched, err := linux.GetSched(0); err != nil {
		refuse("sched_getscheduler", err)
	} else {
		refuse("sched_setscheduler", linux.SetSched(0, sched))
	}
	if refused == nil {
		return &Condition{Level: OK, Value: "allowed"}
	}
	c := &Condition{
		Level: Limit, Value: "refused: " + strings.Join(refused, ", "), Remedy: remedy,
		Effect: "placements by these calls cannot be measured (gorun help privileges)",
	}
	for _, name := range refused {
		if strings.HasSuffix(name, "affinity") {
			c.Level = Unfit
		}
	}
	return c
}

func gomaxprocs(s Subject, _ *Trial) *Condition {
	is, allowed := s.Host.GOMAXPROCS, s.Machine.Allowed().Len()
	c := &Condition{Level: OK, Value: strconv.Itoa(is)}
	if is < allowed {
		c.Level = Note
		c.Effect = fmt.Sprintf("a Go program runs on %d of %d CPUs at once", is, allowed)
		c.Remedy = "set GOMAXPROCS in the environment, or raise the quota that the Go runtime derives it from"
	}
	return c
}

// manyThreads is how many threads an experiment such as `gorun primes --lock-thread --barrier` may have at once.
const manyThreads = 10_000

func threadLimit(s Subject, _ *Trial) *Condition {
	limits, _ := linux.ThreadLimits(s.Root, linux.Cgo)
	obstacles := linux.Obstacles(limits, manyThreads)
	if len(obstacles) == 0 {
		return &Condition{Level: OK, Value: fmt.Sprintf("room for %d and more", manyThreads)}
	}
	tightest := obstacles[0]
	return &Condition{
		Level: Note, Value: tightest.String(), Remedy: tightest.Hint,
		Effect: "runs with more threads than that are refused",
	}
}

func schedExt(s Subject, _ *Trial) *Condition {
	const dir = "sys/kernel/sched_ext"
	state, err := sysfs.ReadString(s.Root, dir+"/state")
	if err != nil || state == "disabled" {
		return &Condition{Level: OK, Value: "none"}
	}
	name, _ := sysfs.ReadString(s.Root, dir+"/root/ops")
	return &Condition{
		Level: Note, Value: strings.TrimSpace(state + " " + name), Digest: strings.TrimSpace("sched_ext " + name),
		Effect: "threads are scheduled by a BPF program, not by the kernel's own scheduler",
	}
}

func kernels(s Subject, _ *Trial) *Condition {
	if s.Kernels {
		return &Condition{Level: OK, Value: "in this build"}
	}
	return &Condition{
		Level: Limit, Value: "not in this build", Digest: "no C kernels",
		Effect: "contend, c2c, futex, migrate, numa, pair and bind do not work",
		Remedy: "build with a C compiler and CGO_ENABLED=1",
	}
}

func numaNodes(s Subject, _ *Trial) *Condition {
	n := s.Machine.Counts().Nodes
	c := &Condition{Level: OK, Value: units.Things(n, "node")}
	if n < 2 {
		c.Level, c.Effect = Unfit, "all memory is equally near: there is nothing to compare"
		return c
	}
	c.Digest = c.Value
	return c
}

func memoryPolicy(s Subject, _ *Trial) *Condition {
	if !s.Live {
		return nil
	}
	_, _, err := linux.GetMempolicy()
	if err == nil {
		return &Condition{Level: OK, Value: "allowed"}
	}
	return &Condition{
		Level: Limit, Value: "refused: " + err.Error(), Remedy: linux.Remedy(err),
		Effect: "memory cannot be placed on a node",
	}
}

func numaBalancing(s Subject, _ *Trial) *Condition {
	if s.Machine.Counts().Nodes < 2 {
		return nil
	}
	is, err := linux.ReadNUMABalancing(s.Root)
	switch {
	case errors.Is(err, linux.ErrNoNUMABalancing):
		return &Condition{Level: OK, Value: "not in this kernel"}
	case err != nil:
		return &Condition{Level: Limit, Value: "unknown", Effect: err.Error()}
	case is == 0:
		return &Condition{Level: OK, Value: "off"}
	}
	delay, _ := linux.ReadNUMAScan(s.Root)
	return &Condition{
		Level: Note, Value: fmt.Sprintf("%d, first scan after %s of CPU time", is, units.Seconds(delay)), Digest: "NUMA balancing on",
		Effect: "the kernel moves memory and threads while a sample runs, but not in samples shorter than that",
		Remedy: "compare with --numa-balancing 0,1, or turn it off",
		Fix: &Fix{
			Do: "sudo sysctl kernel.numa_balancing=0", Undo: fmt.Sprintf("sudo sysctl kernel.numa_balancing=%d", is),
		},
	}
}

func hugePages(s Subject, _ *Trial) *Condition {
	thp := s.Host.THP
	if thp == "" {
		thp = "not reported"
	}
	free, _ := sysfs.ReadString(s.Root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
	c := &Condition{Level: OK, Value: "transparent " + thp}
	if free != "" {
		c.Value += ", " + free + " reserved of 2 MiB free"
	}
	if thp == "always" {
		c.Level, c.Effect = Note, "whether a program gets huge pages depends on free memory, and changes its times"
	}
	if free == "0" {
		c.Fix = &Fix{Do: "sudo sysctl vm.nr_hugepages=64", Undo: "sudo sysctl vm.nr_hugepages=0"}
	}
	return c
}

func perfEvents(s Subject, _ *Trial) *Condition {
	const file = "proc/sys/kernel/perf_event_paranoid"
	paranoid, err := sysfs.ReadInt(s.Root, file)
	if err != nil {
		return &Condition{Level: Limit, Value: "not in this kernel, or hidden", Effect: "migrations are counted less well"}
	}
	c := &Condition{Level: OK, Value: fmt.Sprintf("perf_event_paranoid %d", paranoid)}
	if !s.Live {
		return c
	}
	if err := measure.MigrationsLack(); err != nil {
		c.Level, c.Effect = Limit, "migrations of threads that ended during a sample are not counted"
		c.Remedy = "set kernel.perf_event_paranoid below 2, or give gorun CAP_PERFMON"
		c.Fix = &Fix{
			Do:   "sudo sysctl kernel.perf_event_paranoid=1",
			Undo: fmt.Sprintf("sudo sysctl kernel.perf_event_paranoid=%d", paranoid),
		}
	}
	return c
}

func tracefs(s Subject, _ *Trial) *Condition {
	if _, err := fs.Stat(s.Root, "sys/kernel/tracing/events"); err == nil {
		return &Condition{Level: OK, Value: "mounted and readable"}
	}
	return &Condition{
		Level: Note, Value: "not mounted, or for root only",
		Effect: "gorun numa traces moves of threads less exactly",
		Remedy: "run as root, or mount it readable",
		Fix:    &Fix{Do: "sudo mount -t tracefs -o mode=755 tracefs /sys/kernel/tracing", Undo: "sudo umount /sys/kernel/tracing"},
	}
}
