package command

import (
	"cmp"
	"strconv"
	"strings"

	"gorun/internal/launch"
	"gorun/internal/linux"
	"gorun/internal/result"
)

// numa holds the names of memory policies in numactl(8) and systemd.exec(5).
var numa = map[linux.Mempolicy]struct{ numactl, systemd string }{
	linux.MempolicyPreferred:     {"--preferred", "preferred"},
	linux.MempolicyPreferredMany: {"--preferred-many", ""},
	linux.MempolicyBind:          {"--membind", "bind"},
	linux.MempolicyInterleave:    {"--interleave", "interleave"},
	linux.MempolicyLocal:         {"--localalloc", "local"},
}

// linesOf returns how to apply a setting without gorun; none for a preferred node, which no other program can set.
func linesOf(s launch.CommandSetting) result.Lines {
	if s.PreferredNode != nil {
		return result.Lines{}
	}
	var before, numactl, unit []string // words before the command, of numactl, lines of the unit
	cpus, nodes := s.CPUs.String(), s.Nodes.String()
	if s.GOMAXPROCS > 0 {
		variable := "GOMAXPROCS=" + strconv.Itoa(s.GOMAXPROCS)
		before = append(before, "env", variable)
		unit = append(unit, "Environment="+variable)
	}
	if s.Nice != nil {
		before = append(before, "nice", "-n", strconv.Itoa(*s.Nice))
		unit = append(unit, "Nice="+strconv.Itoa(*s.Nice))
	}
	if s.Sched != nil {
		policy, priority, _ := strings.Cut(s.Sched.String(), ":")
		before = append(before, "chrt", "--"+policy, cmp.Or(priority, "0"))
		unit = append(unit, "CPUSchedulingPolicy="+policy)
		if priority != "" {
			unit = append(unit, "CPUSchedulingPriority="+priority)
		}
	}
	if cpus != "" {
		numactl = append(numactl, "--physcpubind="+cpus)
		unit = append(unit, "CPUAffinity="+cpus)
	}
	if names := numa[s.Mempolicy]; names.numactl != "" {
		word := names.numactl
		if nodes != "" {
			word += "=" + nodes
		}
		numactl = append(numactl, word)
		if names.systemd != "" {
			unit = append(unit, "NUMAPolicy="+names.systemd)
		}
		if names.systemd != "" && nodes != "" {
			unit = append(unit, "NUMAMask="+nodes)
		}
	}
	l := result.Lines{Systemd: unit}
	if numactl != nil {
		l.Numactl = strings.Join(append(before, append([]string{"numactl"}, numactl...)...), " ")
	}
	switch {
	case s.Mempolicy != linux.MempolicyDefault:
	case cpus != "":
		l.Taskset = strings.Join(append(before, "taskset", "-c", cpus), " ")
	default:
		l.Taskset = strings.Join(before, " ")
	}
	return l
}
