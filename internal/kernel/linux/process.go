package linux

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/sysfs"
)

// Inode returns the inode of a file, after symbolic links; 0 if it does not exist. The inode of /proc/PID/ns/NAME identifies a namespace
// (namespaces(7)).
func Inode(path string) uint64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Ino
}

// IsCgroup reports whether a path is one of a control group, of either version (cgroups(7)).
func IsCgroup(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && (fs.Type == unix.CGROUP2_SUPER_MAGIC || fs.Type == unix.CGROUP_SUPER_MAGIC)
}

// RenameNew renames a file, unless the new name exists: the error is fs.ErrExist then (renameat2(2), RENAME_NOREPLACE).
func RenameNew(from, to string) error {
	if err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// LowestNice returns the lowest nice value that the threads of a process may be given without a privilege, by its RLIMIT_NICE
// (getrlimit(2)): MaxNice, if it is not known.
func LowestNice(root fs.FS, pid int) int {
	text, err := sysfs.ReadString(root, fmt.Sprintf("proc/%d/limits", pid))
	if err != nil {
		return MaxNice
	}
	for line := range strings.Lines(text) {
		soft, found := strings.CutPrefix(line, "Max nice priority")
		if fields := strings.Fields(soft); found && len(fields) > 0 {
			limit, err := strconv.Atoi(fields[0])
			if err != nil {
				return MinNice // unlimited
			}
			return max(MinNice, min(MaxNice, 20-limit))
		}
	}
	return MaxNice
}
