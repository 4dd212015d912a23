package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// Lock locks a file (flock(2)) for this process and the processes that inherit the file, until all of them have closed it. If another
// process has locked it, the error is a Locked.
func Lock(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return file, nil
	}
	file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, Locked{path, flockHolder(path)}
	}
	return nil, &Error{Op: "lock " + path, Err: err}
}

// Locked is the error of a file that another process has locked.
type Locked struct {
	Path string
	By   int // the PID of the process that locked it, which may have ended; 0: not known
}

// Error implements error.
func (l Locked) Error() string {
	by := "another process"
	if l.By > 0 {
		by = fmt.Sprintf("process %d", l.By)
	}
	return fmt.Sprintf("%s holds the lock of %s", by, l.Path)
}

// ReadKernelFile returns the number in a file of the kernel.
func ReadKernelFile(path string) (int, error) {
	return sysfs.ReadInt(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

// MaySetKernelFile returns an error, with the remedy, if this process may not write a number.
func MaySetKernelFile(path string, value int) error {
	if err := unix.Access(path, unix.W_OK); err != nil {
		return kernelFileError(path, value, err)
	}
	return nil
}

// SetKernelFile writes a number and reads it back. If the file already has the number, no privilege is needed.
func SetKernelFile(path string, value int) error {
	is, err := ReadKernelFile(path)
	if err != nil || is == value {
		return err
	}
	if err = write(path, value); err == nil {
		is, err = ReadKernelFile(path)
	}
	if err == nil && is != value {
		err = fmt.Errorf("it is %d afterwards", is)
	}
	if err != nil {
		return kernelFileError(path, value, err)
	}
	return nil
}

// write writes a value into a file that exists.
func write(path string, value any) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, value)
	return errors.Join(err, file.Close())
}

func kernelFileError(path string, value int, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err // Op has the path
	}
	remedy := ""
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = "that needs root on the machine itself"
	case errors.Is(err, unix.EROFS):
		remedy = "a container may not set it: set it on the machine itself"
	case errors.Is(err, unix.EINVAL):
		remedy = "this kernel has no such value"
	}
	return &Error{Op: fmt.Sprintf("set %s to %d", path, value), Err: err, Remedy: remedy}
}

// flockHolder returns the process that locked a file, from /proc/locks (proc_locks(5)); 0: it is not known. If only a guardian still holds
// the lock, it is the process that the guardian outlived.
func flockHolder(path string) (pid int) {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return 0
	}
	text, err := sysfs.ReadString(os.DirFS("/"), "proc/locks")
	if err != nil {
		return 0
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(stat.Dev), unix.Minor(stat.Dev), stat.Ino)
	pid, _ = parseFlock(text, inode)
	return pid
}

// parseFlock finds the line "1: FLOCK ADVISORY WRITE PID INODE 0 EOF", with INODE as "major:minor:number", of
// /proc/locks. Lines of waiting processes have "->" after the number.
func parseFlock(text, inode string) (pid int, ok bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || fields[5] != inode {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 {
			return pid, true
		}
	}
	return 0, false
}

// ReadCPUList returns the CPUs of a file of the kernel that lists them, such as an interrupt's smp_affinity_list.
func ReadCPUList(path string) (cpuset.Set, error) {
	return sysfs.ReadSet(os.DirFS(filepath.Dir(path)), filepath.Base(path))
}

// SetCPUList writes the list and reads it back. The kernel refuses what the hardware cannot do (EIO, EINVAL).
func SetCPUList(path string, cpus cpuset.Set) error {
	if err := write(path, cpus); err != nil {
		return err
	}
	if is, err := ReadCPUList(path); err != nil || !is.Equal(cpus) {
		return fmt.Errorf("%s is %v afterwards, and not %v (%v)", path, is, cpus, err)
	}
	return nil
}
