package sysfs

import (
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// This returns the files of this machine, rooted at /. Its ReadFile makes four system calls or fewer for a small file:
// os.ReadFile makes eleven, since it asks for the file's size and offers each file to the poller of the runtime, and a
// machine of thousands of CPUs has a hundred thousand files.
func This() fs.FS { return thisMachine{os.DirFS("/").(dirFS)} }

// dirFS is the interface of os.DirFS's result.
type dirFS interface {
	fs.StatFS
	fs.ReadDirFS
	fs.ReadLinkFS
}

type thisMachine struct{ dirFS }

// page is the smallest page size. A read of a file below /sys/devices returns its whole content or one page
// (Documentation/filesystems/sysfs.rst), so a shorter read is the end. Files of /proc and of control groups may
// return less than they hold.
const page = 4096

// ReadFile implements fs.ReadFileFS.
func (thisMachine) ReadFile(name string) ([]byte, error) {
	fault := func(op string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }
	if !fs.ValidPath(name) {
		return nil, fault("open", fs.ErrInvalid)
	}
	fd, err := uninterrupted(func() (int, error) { return unix.Open("/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, fault("open", err)
	}
	defer unix.Close(fd) // only read
	whole := strings.HasPrefix(name, "sys/devices/")
	var data []byte
	for buf := [page]byte{}; ; {
		n, err := uninterrupted(func() (int, error) { return unix.Read(fd, buf[:]) })
		if err != nil {
			return nil, fault("read", err)
		}
		data = append(data, buf[:n]...)
		if n == 0 || whole && n < len(buf) {
			return data, nil
		}
	}
}

// uninterrupted repeats a system call that a signal interrupts (signal(7)), as package os does.
func uninterrupted(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
}
