package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gorun/internal/base/units"
	"gorun/internal/kernel/cgroup"
	"gorun/internal/kernel/sysfs"
	"gorun/internal/record/result"
)

// expectation says below which difference a run is not expected to find one.
func (t *Trial) expectation() string {
	return fmt.Sprintf("after %s, expect “can't tell” below %s", units.Duration(t.PromisedSeconds), percent(t.Resolution))
}

func equalRuns(_ Subject, t *Trial) *Condition {
	c := &Condition{Level: OK, Value: "differ by " + percent(t.Differs)}
	switch {
	case t.Resolution == 0:
		c.Level, c.Effect = Unfit, "the differences are too large to say what a run could find"
	case t.Resolution > ruinousResolution:
		c.Level, c.Effect = Unfit, t.expectation()
	case t.Resolution > disturbing:
		c.Level, c.Effect = Limit, t.expectation()
	default:
		c.Effect = t.expectation()
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
	share := t.Signals.Share(seconds, s.Machine.Allowed().Len())
	c := &Condition{Level: OK, Value: percent(share) + " of the CPU time"}
	if share > disturbing {
		c.Level, c.Effect, c.Remedy = Limit, "samples are marked suspect, and times vary", remedy
	}
	if share > ruinous {
		c.Level = Unfit
	}
	return c
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

func quota(s Subject, _ *Trial) *Condition {
	q, err := cgroup.ReadQuota(s.Root)
	if q.Hidden {
		err = errors.New("no control group is visible")
	}
	switch {
	case err != nil:
		return &Condition{Level: Limit, Value: "unknown: " + err.Error(), Effect: "whether threads will be stopped is not known"}
	case q.CPUs == 0:
		return &Condition{Level: OK, Value: "none visible"}
	}
	c := &Condition{Level: Note, Value: fmt.Sprintf("%s CPUs (%s)", units.Digits(q.CPUs), q.File), Digest: "quota of " + units.Digits(q.CPUs) + " CPUs"}
	if allowed := s.Machine.Allowed().Len(); q.CPUs < float64(allowed) {
		c.Level = Limit
		c.Effect = fmt.Sprintf("threads on more than %s CPUs at once are stopped until the next period", units.Digits(q.CPUs))
		c.Remedy = "use as many threads as the quota allows, or have it raised"
	}
	return c
}

func throttling(s Subject, t *Trial) *Condition {
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

func addresses(s Subject, _ *Trial) *Condition {
	switch s.Host.ASLR {
	case "":
		return &Condition{Level: OK, Value: "not reported"}
	case result.NoASLR:
		return &Condition{
			Level: Note, Value: "fixed", Digest: "fixed addresses",
			Effect: "the stack's address depends on the size of the arguments and of the environment, and so may a program's speed",
			Remedy: "leave out setarch -R, or set kernel.randomize_va_space to 2",
		}
	}
	return &Condition{Level: OK, Value: "randomised"}
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
