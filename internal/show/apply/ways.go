package apply

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gorun/internal/kernel/linux"
	"gorun/internal/place/named"
	"gorun/internal/record/result"
)

// Ways is the table of them.
var Ways = [...]Way{
	{
		Name: "gorun", Usage: "gorun exec, which reads the setting back", Before: true, of: byGorun,
		single: func(l *result.Lines) *string { return &l.Gorun },
	},
	{
		Name: "taskset", Usage: "taskset, nice and chrt before a command", Before: true, of: byTaskset, now: nowByTaskset,
		single: func(l *result.Lines) *string { return &l.Taskset },
	},
	{
		Name: "numactl", Usage: "numactl before a command, for memory too", Before: true, of: byNumactl,
		single: func(l *result.Lines) *string { return &l.Numactl },
	},
	{
		Name: "systemd", Usage: "the [Service] section of a unit", head: "[Service]", of: bySystemd, now: nowBySystemd,
		several: func(l *result.Lines) *[]string { return &l.Systemd },
	},
	{
		Name: "docker", Usage: "options of docker run", of: byDocker, now: nowByDocker,
		single: func(l *result.Lines) *string { return &l.Docker },
	},
	{
		Name: "kubernetes", Usage: "the resources of a container in a pod", of: byPod,
		several: func(l *result.Lines) *[]string { return &l.Pod },
		brief:   func(l *result.Lines) string { return l.Kubernetes },
	},
	{
		Name: "go", Usage: "lines for the beginning of a Go program's main", of: byGo,
		several: func(l *result.Lines) *[]string { return &l.Go },
		brief: func(l *result.Lines) string {
			if len(l.Go) == 0 {
				return ""
			}
			return "the program itself, by the lines that --apply go prints"
		},
	},
}

// onlyGorun is why nothing else applies a preferred node.
const onlyGorun = "only gorun asks a kernel for a preferred node"

func byGorun(s named.Placement) text {
	flags := s.Flags()
	if flags == nil {
		return text{}
	}
	line := "gorun exec"
	for _, f := range flags {
		line += " --" + f.Name + " " + f.Value
	}
	return text{lines: []string{line + " --"}}
}

// before returns the commands that set what CPUs and memory are not, before the words of taskset(1) or numactl(8).
func before(s named.Placement) (words []string) {
	if s.GOMAXPROCS > 0 {
		words = append(words, "env", gomaxprocs(s))
	}
	return append(words, scheduled(s)...)
}

// scheduled returns the commands that set the nice value and the policy: nice(1) and chrt(1).
func scheduled(s named.Placement) (words []string) {
	if s.Nice != nil {
		words = append(words, "nice", "-n", strconv.Itoa(*s.Nice))
	}
	if s.Sched != nil {
		policy, priority, _ := strings.Cut(s.Sched.String(), ":")
		words = append(words, "chrt", "--"+policy, cmp.Or(priority, "0"))
	}
	return words
}

// gomaxprocs is the variable of the environment.
func gomaxprocs(s named.Placement) string { return "GOMAXPROCS=" + strconv.Itoa(s.GOMAXPROCS) }

// prefixed returns words as one line, if there are any, and what nice(1) does to the nice value if it is among them.
func prefixed(s named.Placement, words []string) (t text) {
	if len(words) == 0 {
		return t
	}
	t.lines = []string{strings.Join(words, " ")}
	if s.Nice != nil {
		t.lacks = "nice adds to the nice value that the shell has"
	}
	return t
}

func byTaskset(s named.Placement) text {
	words := before(s)
	switch {
	case s.PreferredNode != nil:
		return none(onlyGorun)
	case s.Mempolicy != linux.MempolicyDefault:
		return none("it sets no memory policy")
	case !s.CPUs.Empty():
		words = append(words, "taskset", "-c", s.CPUs.String())
	}
	return prefixed(s, words)
}

// policies has the names of memory policies for other programs; "": the program has none.
var policies = map[linux.Mempolicy]struct{ numactl, systemd, constant string }{
	linux.MempolicyPreferred:     {"--preferred", "preferred", "MPOL_PREFERRED"},
	linux.MempolicyPreferredMany: {"--preferred-many", "", "MPOL_PREFERRED_MANY"},
	linux.MempolicyBind:          {"--membind", "bind", "MPOL_BIND"},
	linux.MempolicyInterleave:    {"--interleave", "interleave", "MPOL_INTERLEAVE"},
	linux.MempolicyLocal:         {"--localalloc", "local", "MPOL_LOCAL"},
}

// byNumactl needs CPUs or memory to be set: numactl(8) without a policy only shows what is set.
func byNumactl(s named.Placement) text {
	if s.PreferredNode != nil {
		return none(onlyGorun)
	}
	var options []string
	if !s.CPUs.Empty() {
		options = append(options, "--physcpubind="+s.CPUs.String())
	}
	if word := policies[s.Mempolicy].numactl; word != "" {
		if !s.Nodes.Empty() {
			word += "=" + s.Nodes.String()
		}
		options = append(options, word)
	}
	if options == nil {
		return text{}
	}
	return prefixed(s, append(append(before(s), "numactl"), options...))
}

// bySystemd follows systemd.exec(5).
func bySystemd(s named.Placement) (t text) {
	policy := policies[s.Mempolicy].systemd
	switch {
	case s.PreferredNode != nil:
		return none(onlyGorun)
	case s.Mempolicy != linux.MempolicyDefault && policy == "":
		return none(fmt.Sprintf("NUMAPolicy= has no %v", s.Mempolicy))
	}
	add := func(name, value string) {
		if value != "" {
			t.lines = append(t.lines, name+"="+value)
		}
	}
	if s.GOMAXPROCS > 0 {
		add("Environment", gomaxprocs(s))
	}
	if s.Nice != nil {
		add("Nice", strconv.Itoa(*s.Nice))
	}
	if s.Sched != nil {
		policy, priority, _ := strings.Cut(s.Sched.String(), ":")
		add("CPUSchedulingPolicy", policy)
		add("CPUSchedulingPriority", priority)
	}
	if cpus := s.CPUs.String(); cpus != "" {
		add("CPUAffinity", cpus)
		t.lacks = "the service may leave the CPUs of CPUAffinity=, but not those of AllowedCPUs= (control groups v2)"
	}
	add("NUMAPolicy", policy)
	if policy != "" {
		add("NUMAMask", s.Nodes.String())
	}
	return t
}

// byDocker sets a cpuset (docker-run(1)): memory is limited to nodes, as by the policy bind, or not at all.
func byDocker(s named.Placement) (t text) {
	words := []string{"docker", "run"}
	switch s.Mempolicy {
	case linux.MempolicyDefault, linux.MempolicyLocal: // memory comes from the node of the CPU that touches it first
	case linux.MempolicyBind:
	default:
		return none(fmt.Sprintf("--cpuset-mems limits memory to nodes, as the policy bind does, and there is no %v", s.Mempolicy))
	}
	if s.PreferredNode != nil {
		return none(onlyGorun)
	}
	if !s.CPUs.Empty() {
		words = append(words, "--cpuset-cpus="+s.CPUs.String())
	}
	if !s.Nodes.Empty() {
		words = append(words, "--cpuset-mems="+s.Nodes.String())
	}
	if s.GOMAXPROCS > 0 {
		words = append(words, "--env="+gomaxprocs(s))
	}
	if len(words) > 2 {
		t.lines = []string{strings.Join(words, " ")}
	}
	t.lacks = inContainer(s)
	return t
}

// inContainer says how a command in a container gets what a container's own options cannot give it.
func inContainer(s named.Placement) string {
	if words := scheduled(s); words != nil {
		return "begin the command in the container with " + strings.Join(words, " ")
	}
	return ""
}

// byPod gives the container of a pod exclusive CPUs. Which ones they are, the kubelet decides.
func byPod(s named.Placement) (t text) {
	switch {
	case s.PreferredNode != nil:
		return none(onlyGorun)
	case s.Mempolicy != linux.MempolicyDefault && s.Mempolicy != linux.MempolicyLocal:
		return none("a container of a pod has no memory policy")
	case s.Pod == nil && !s.CPUs.Empty():
		return none("a pod cannot name its CPUs")
	case s.Pod == nil:
		if s.GOMAXPROCS > 0 {
			t.lines = podEnvironment(s)
		}
		t.lacks = inContainer(s)
		return t
	}
	t.lines = []string{
		"# Memory needs equal requests and limits too (a Guaranteed pod). This needs",
		"# " + s.Pod.Kubelet() + ".",
		"resources:",
		fmt.Sprintf("  requests: {cpu: %d}", s.Pod.CPUs),
		fmt.Sprintf("  limits: {cpu: %d}", s.Pod.CPUs),
	}
	if s.GOMAXPROCS > 0 {
		t.lines = append(t.lines, podEnvironment(s)...)
	}
	t.lacks = "the kubelet decides which CPUs they are"
	if more := inContainer(s); more != "" {
		t.lacks += "; " + more
	}
	return t
}

func podEnvironment(s named.Placement) []string {
	return []string{"env:", fmt.Sprintf(`- {name: GOMAXPROCS, value: "%d"}`, s.GOMAXPROCS)}
}
