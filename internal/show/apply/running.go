package apply

import (
	"fmt"
	"strings"

	"gorun/internal/kernel/linux"
	"gorun/internal/place/placement"
)

// Running is a program that runs already.
type Running struct {
	PID       int    // of its only process, or of the first one
	Children  bool   // it has more: the children of that process
	Group     string // the directory of a control group that holds it all; "": PID says which processes
	Unit      string // of systemd; "": it is not known
	User      bool   // the unit is one of a user's manager
	Container string // of Docker; "": it is not known
}

// each returns a command for each process: of which "PID" stands for its number.
func (r *Running) each(command string) string {
	switch {
	case r.Group != "":
		return fmt.Sprintf("for pid in $(cat %s/cgroup.procs); do %s; done", r.Group, strings.ReplaceAll(command, "PID", "$pid"))
	case r.Children:
		return fmt.Sprintf("for pid in %d $(pgrep -P %[1]d); do %s; done", r.PID, strings.ReplaceAll(command, "PID", "$pid"))
	}
	return strings.ReplaceAll(command, "PID", fmt.Sprint(r.PID))
}

// nowByTaskset gives all threads a setting: taskset(1), chrt(1) and renice(1).
func nowByTaskset(s placement.Setting, r *Running) (lines []string) {
	if s.Mempolicy != linux.MempolicyDefault {
		return nil
	}
	add := func(command string) { lines = append(lines, r.each(command)) }
	if !s.CPUs.Empty() {
		add("taskset -acp " + s.CPUs.String() + " PID")
	}
	if s.Sched != nil {
		policy, _, _ := strings.Cut(s.Sched.String(), ":")
		add(fmt.Sprintf("chrt --all-tasks --%s --pid %d PID", policy, s.Sched.Priority))
	}
	if s.Nice != nil {
		add(fmt.Sprintf("renice -n %d -p $(ls /proc/PID/task)", *s.Nice))
	}
	return lines
}

// nowBySystemd sets properties of a unit, which keeps them (systemctl(1), set-property; systemd.resource-control(5)).
func nowBySystemd(s placement.Setting, r *Running) []string {
	words := []string{"systemctl", "set-property", "UNIT"}
	if r.Unit != "" {
		words[2] = r.Unit
	}
	if r.User {
		words[0] += " --user"
	}
	return nowByCpuset(s, words, "AllowedCPUs=", "AllowedMemoryNodes=", r.Container != "")
}

// nowByDocker changes a container (docker-update(1)).
func nowByDocker(s placement.Setting, r *Running) []string {
	name := "NAME"
	if r.Container != "" {
		name = r.Container
	}
	lines := nowByCpuset(s, []string{"docker", "update"}, "--cpuset-cpus=", "--cpuset-mems=", r.Unit != "")
	for i := range lines {
		lines[i] += " " + name
	}
	return lines
}

// nowByCpuset sets the CPUs and the memory of a control group, which has no more; nil: it cannot, or another keeps the group.
func nowByCpuset(s placement.Setting, words []string, cpus, nodes string, another bool) []string {
	bound := s.Mempolicy == linux.MempolicyBind
	if another || s.Nice != nil || s.Sched != nil || s.Mempolicy != linux.MempolicyDefault && !bound || s.CPUs.Empty() && !bound {
		return nil
	}
	if !s.CPUs.Empty() {
		words = append(words, cpus+s.CPUs.String())
	}
	if bound {
		words = append(words, nodes+s.Nodes.String())
	}
	return []string{strings.Join(words, " ")}
}
