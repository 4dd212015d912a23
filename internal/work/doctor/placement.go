package doctor

import (
	"fmt"
	"math"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/base/units"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/linux"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/machine/topology"
)

func cpus(s Subject, _ *Trial) *Condition {
	m := s.Machine
	allowed, online := m.Allowed(), m.Counts().Online
	c := &Condition{Level: OK, Value: fmt.Sprintf("%d of %s: %s", allowed.Len(), units.Things(online, "online CPU"), allowed)}
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

func kinds(s Subject, _ *Trial) *Condition {
	kinds := s.Machine.Kinds()
	if len(kinds) == 1 {
		return &Condition{Level: OK, Value: "one"}
	}
	var each []string
	for _, cpus := range kinds {
		each = append(each, cpus.String())
	}
	return &Condition{
		Level: Note, Value: fmt.Sprintf("%d, the fastest first: %s", len(kinds), strings.Join(each, "; ")), Digest: "hybrid",
		Effect: "the same work takes longer on a slower CPU", Remedy: "--cpus kind:0, pcores or ecores",
	}
}

// placementCalls tries the calls by which gorun places a thread, each with what the thread has already.
func placementCalls(_ Subject, _ *Trial) *Condition {
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

// gomaxprocs compares GOMAXPROCS with the quota that the kernel enforces. The Go runtime derives its default from the
// quota of the innermost control group alone, without a tighter one above it (golang/go #81180), and from none where it
// cannot read the files or GODEBUG forbids it (golang/go #77911).
func gomaxprocs(s Subject, _ *Trial) *Condition {
	allowed := s.Machine.Allowed().Len()
	q, _ := cgroup.ReadQuota(s.Root) // that it is not known is the quota's own condition
	is, most := s.Host.GOMAXPROCS, goProcs(allowed, q.CPUs)
	environ := strings.Fields(s.Host.Environment)
	c := &Condition{Level: OK, Value: strconv.Itoa(is)}
	if !s.Live { // its environment is not known
		is, environ = goProcs(allowed, q.Leaf), nil
		c.Value = strconv.Itoa(is) + " by default"
	}
	undo := "unset GOMAXPROCS"
	set := slices.Contains(environ, "GOMAXPROCS="+strconv.Itoa(is))
	if set {
		undo = "export GOMAXPROCS=" + strconv.Itoa(is)
	}
	limits := q.CPUs > 0 && q.CPUs < float64(is)
	switch {
	case is > most && limits:
		c.Level = Limit
		c.Effect = fmt.Sprintf("a Go program has up to %d threads at work, and is stopped when the quota of %s CPUs is used up", is, units.Digits(q.CPUs))
		switch {
		case set:
		case slices.ContainsFunc(environ, ignoresQuota):
			c.Effect += "; GODEBUG makes the Go runtime ignore quotas"
		case q.Leaf != q.CPUs:
			c.Effect += "; the Go runtime reads the quota of the innermost control group only, not " + q.File
		}
	case is > most:
		c.Level, c.Effect = Note, fmt.Sprintf("a Go program has more threads that run Go code than its %s", units.Things(allowed, "CPU"))
	case is < allowed:
		c.Level, c.Effect = Note, fmt.Sprintf("a Go program runs on %d of %d CPUs at once", is, allowed)
		fallthrough
	default:
		if limits {
			c.Value += ", the quota rounded as the Go runtime does"
		}
	}
	if is != most {
		change := fmt.Sprintf("GOMAXPROCS=%d", most)
		c.Remedy, c.Fix = "set "+change, &Fix{Do: "export " + change, Undo: undo}
	}
	return c
}

// goProcs returns the default of GOMAXPROCS for a quota of the innermost control group, 0 for none: the Go runtime
// rounds it up, and to at least 2 (runtime/cgroup_linux.go).
func goProcs(cpus int, quota float64) int {
	if quota == 0 {
		return cpus
	}
	return int(min(float64(cpus), max(2, math.Ceil(quota))))
}

// ignoresQuota reports whether a variable of the environment makes the Go runtime ignore quotas.
func ignoresQuota(variable string) bool {
	return strings.HasPrefix(variable, "GODEBUG=") && strings.Contains(variable, "containermaxprocs=0")
}

// manyThreads is how many threads an experiment such as `gorun primes --lock-thread --barrier` may have at once.
const manyThreads = 10_000

func threadLimit(s Subject, _ *Trial) *Condition {
	_, err := linux.Enough(s.Root, linux.Need{Threads: manyThreads})
	if err == nil {
		return &Condition{Level: OK, Value: fmt.Sprintf("room for %d and more", manyThreads)}
	}
	return &Condition{
		Level: Note, Value: err.Error(), Remedy: hint.Of(err), Effect: "runs with that many threads are refused",
	}
}

func schedExt(s Subject, _ *Trial) *Condition {
	const dir = "sys/kernel/sched_ext"
	state, err := sysfs.ReadString(s.Root, path.Join(dir, "state"))
	if err != nil || state == "disabled" {
		return &Condition{Level: OK, Value: "none"}
	}
	name, _ := sysfs.ReadString(s.Root, path.Join(dir, "root", "ops"))
	return &Condition{
		Level: Note, Value: strings.TrimSpace(state + " " + name), Digest: strings.TrimSpace("sched_ext " + name),
		Effect: "threads are scheduled by a BPF program, not by the kernel's own scheduler",
	}
}
