// Package cgroup reads control groups: what the groups of a process allow it (CPUs, CPU time, threads and memory), what has put it
// there, and the processes and the CPU time of any group; in version 1, version 2 and hybrid setups
// (Documentation/admin-guide/cgroup-v1, cgroup-v2.rst).
//
// Every function takes an fs.FS rooted at /. The limits of ancestors apply too, so each function reads all groups from
// the process's own to the top of the mounted hierarchy; in a container, ancestors and their limits may be hidden. A
// controller that is absent limits nothing. An invalid file is an error that wraps sysfs.ErrMalformed.
package cgroup

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"gorun/internal/kernel/sysfs"
)

// hierarchy holds the directories of one controller: those of the process's own group and of its ancestors, innermost
// first. None: the controller is absent.
type hierarchy struct {
	v2     bool
	dirs   []string // names in the fs.FS
	own    bool     // the first is the process's own group, not only an ancestor
	hidden bool     // the process is in a group without a visible directory
}

// self is the name of this process in /proc.
const self = "self"

// The files that list the groups of a process, and the mounts.
func membershipFile(pid string) string { return "proc/" + pid + "/cgroup" }

const mountsFile = "proc/self/mountinfo"

// find locates the groups that this process has of a controller.
func find(fsys fs.FS, controller string) (hierarchy, error) { return findOf(fsys, self, controller) }

// findOf locates the groups that a process has of a controller.
func findOf(fsys fs.FS, pid, controller string) (hierarchy, error) {
	memberships, err := readLines(fsys, membershipFile(pid), parseMembership)
	if err != nil {
		return hierarchy{}, err
	}
	mounts, err := readLines(fsys, mountsFile, parseMount)
	if err != nil {
		return hierarchy{}, err
	}
	own, ok := choose(memberships, controller)
	if !ok {
		return hierarchy{}, nil
	}
	mounts = slices.DeleteFunc(mounts, func(m mount) bool { return !m.carries(own, controller) })
	dirs, found := locate(fsys, mounts, own.path)
	return hierarchy{own.v2, dirs, found, len(dirs) == 0}, nil
}

// InRoot reports whether a process is in the root group of a controller. It also is, if its groups do not have the controller.
func InRoot(fsys fs.FS, pid int, controller string) (bool, error) {
	groups, err := findOf(fsys, strconv.Itoa(pid), controller)
	return len(groups.dirs) == 1 && !groups.hidden || len(groups.dirs) == 0, err
}

// choose returns the hierarchy of a controller: the one of version 1 that names it, or else that of version 2, which
// has all controllers that version 1 does not use.
func choose(memberships []membership, controller string) (membership, bool) {
	var unified membership
	for _, m := range memberships {
		if m.v2 {
			unified = m
		} else if slices.Contains(m.controllers, controller) {
			return m, true
		}
	}
	return unified, unified.v2
}

// locate returns the directories from the group up to its mount point. A mount may show only a part of the hierarchy
// (below its root), as in a container. If it does not show the group, its top is the nearest known ancestor, or the
// group itself under another name. If the directory is missing, its nearest ancestor is used. own reports whether the
// group's directory was found.
func locate(fsys fs.FS, mounts []mount, group string) (best []string, own bool) {
	for _, m := range mounts {
		below, shown := within(m.root, group)
		dirs := existing(fsys, path.Join(m.point, below), m.point)
		if shown && len(dirs) > 0 && dirs[0] == path.Join(m.point, below) {
			return dirs, true
		}
		if best == nil {
			best = dirs
		}
	}
	return best, false
}

// within returns the path of a group below the root of a mount. Both are as seen from the reader's cgroup namespace:
// ".." leads out of it.
func within(root, group string) (below string, ok bool) {
	if root != "/" {
		if group != root && !strings.HasPrefix(group, root+"/") {
			return "", false
		}
		group = group[len(root):]
	}
	if slices.Contains(strings.Split(group, "/"), "..") {
		return "", false
	}
	return group, true
}

// existing returns dir and its parents up to top, without the innermost ones that do not exist.
func existing(fsys fs.FS, dir, top string) []string {
	var dirs []string
	for {
		if len(dirs) > 0 || isDir(fsys, dir) {
			dirs = append(dirs, dir)
		}
		if dir == top || dir == "." {
			return dirs
		}
		dir = path.Dir(dir)
	}
}

func isDir(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name)
	return err == nil && info.IsDir()
}

// membership is the group of a process in one hierarchy: a line of /proc/PID/cgroup (cgroups(7)).
type membership struct {
	v2          bool
	controllers []string // of version 1
	path        string
}

// readLines parses each line of a file. An absent file has none: a kernel has no control groups, or a captured machine no mounts.
func readLines[T any](fsys fs.FS, name string, parse func(line string) (T, error)) (parsed []T, err error) {
	text, err := sysfs.ReadString(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		one, err := parse(line)
		if err != nil {
			return nil, sysfs.Malformed(name, "%.80q %v", line, err)
		}
		parsed = append(parsed, one)
	}
	return parsed, err
}

// parseMembership parses "hierarchy-ID:controller,…:path"; version 2 is "0::path".
func parseMembership(line string) (m membership, err error) {
	fields := strings.SplitN(line, ":", 3)
	if len(fields) < 3 || !strings.HasPrefix(fields[2], "/") {
		return m, errors.New("is not ID:CONTROLLERS:/PATH")
	}
	m = membership{v2: fields[0] == "0" && fields[1] == "", path: fields[2]}
	if !m.v2 {
		m.controllers = strings.Split(fields[1], ",")
	}
	return m, nil
}

// mount is a mounted hierarchy: a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)). It is zero for another file system.
type mount struct {
	v2      bool
	root    string   // the group at its top
	point   string   // name in the fs.FS
	options []string // of the superblock; version 1 has the controllers among them
}

// carries reports whether the membership is in this mounted hierarchy.
func (m mount) carries(own membership, controller string) bool {
	return m.v2 == own.v2 && (m.v2 || slices.Contains(m.options, controller))
}

// parseMount parses "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG…] - TYPE SOURCE SUPEROPTIONS".
func parseMount(line string) (m mount, err error) {
	before, after, ok := strings.Cut(line, " - ")
	place, kind := strings.Fields(before), strings.Fields(after)
	if !ok || len(place) < 6 || len(kind) < 2 {
		return m, errors.New("is not a mount")
	}
	if kind[0] != "cgroup" && kind[0] != "cgroup2" {
		return m, nil
	}
	m = mount{v2: kind[0] == "cgroup2", root: unescape(place[3])}
	point := path.Clean(unescape(place[4]))
	if !strings.HasPrefix(point, "/") || !strings.HasPrefix(m.root, "/") {
		return m, errors.New("is mounted at no absolute path")
	}
	m.point = path.Join(".", point[1:])
	if len(kind) > 2 {
		m.options = strings.Split(kind[2], ",")
	}
	return m, nil
}

// unescape undoes the kernel's escapes in mountinfo: white space and backslash as three octal digits
// (fs/proc_namespace.c, mangle).
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`, `\043`, "#").Replace
