package apply

import (
	"fmt"
	"strings"

	"gorun/internal/kernel/linux"
	"gorun/internal/place/named"
)

// variable tells a Go program that it has started itself again.
const variable = "PLACED"

// byGo returns the lines by which a Go program gives itself a setting. The calls are for one thread, and the program has several
// when main begins: so that thread starts the program again, which keeps the process and its setting (execve(2)), and each
// thread of the new program inherits it.
func byGo(s named.Placement) text {
	if s.PreferredNode != nil {
		return none(onlyGorun)
	}
	if s.CPUs.Last() >= mostCPUs {
		return none(fmt.Sprintf("unix.CPUSet has CPUs up to %d", mostCPUs-1))
	}
	var body []string
	try := func(call string) { body = append(body, "if err := "+call+"; err != nil {", "\tlog.Fatal(err)", "}") }
	system := func(call string) {
		body = append(body, "if _, _, err := unix.Syscall(unix.SYS_"+call+"); err != 0 {", "\tlog.Fatal(err)", "}")
	}
	if !s.CPUs.Empty() {
		body = append(body, "var cpus unix.CPUSet", "for _, cpu := range []int{"+numbers(s.CPUs.List())+"} {", "\tcpus.Set(cpu)", "}")
		try("unix.SchedSetaffinity(0, &cpus)")
	}
	if s.Mempolicy != linux.MempolicyDefault {
		mask := "0, 0"
		if !s.Nodes.Empty() {
			body = append(body, "var nodes unix.CPUSet // a set of bits, as for CPUs", "for _, node := range []int{"+numbers(s.Nodes.List())+"} {",
				"\tnodes.Set(node)", "}")
			mask = "uintptr(unsafe.Pointer(&nodes)), 8*unsafe.Sizeof(nodes)"
		}
		system(fmt.Sprintf("SET_MEMPOLICY, unix.%s, %s", policies[s.Mempolicy].constant, mask))
	}
	if s.Sched != nil {
		policy, _, _ := strings.Cut(s.Sched.String(), ":")
		// sched_setscheduler(2) keeps the nice value; sched_setattr(2) would set it too.
		body = append(body, fmt.Sprintf("priority := int32(%d)", s.Sched.Priority))
		system("SCHED_SETSCHEDULER, 0, unix." + policyConstants[policy] + ", uintptr(unsafe.Pointer(&priority))")
	}
	if s.Nice != nil {
		try(fmt.Sprintf("unix.Setpriority(unix.PRIO_PROCESS, 0, %d)", *s.Nice))
	}
	if s.GOMAXPROCS > 0 && body == nil {
		return text{lines: []string{fmt.Sprintf("runtime.GOMAXPROCS(%d)", s.GOMAXPROCS)}}
	}
	if body == nil {
		return text{}
	}
	imports := "log, os, runtime, golang.org/x/sys/unix"
	if !s.Nodes.Empty() || s.Sched != nil {
		imports += ", unsafe"
	}
	environ := fmt.Sprintf("append(os.Environ(), %q", variable+"=1")
	if s.GOMAXPROCS > 0 {
		environ += fmt.Sprintf(", %q", gomaxprocs(s))
	}
	lines := []string{"// First in main. Imports: " + imports, fmt.Sprintf("if os.Getenv(%q) == \"\" {", variable), "\truntime.LockOSThread()"}
	for _, line := range body {
		lines = append(lines, "\t"+line)
	}
	lines = append(lines, "\tlog.Fatal(unix.Exec(\"/proc/self/exe\", os.Args, "+environ+")))", "}")
	return text{lines: lines, lacks: "the program starts itself again, so what it does before main is done twice"}
}

// mostCPUs is the size of a unix.CPUSet, which ignores larger numbers.
const mostCPUs = 1024

// policyConstants are those of golang.org/x/sys/unix.
var policyConstants = map[string]string{
	"other": "SCHED_NORMAL", "batch": "SCHED_BATCH", "idle": "SCHED_IDLE", "fifo": "SCHED_FIFO", "rr": "SCHED_RR",
}

// numbers returns a list as Go writes it.
func numbers(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}
