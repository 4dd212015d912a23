package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/sysfs"
)

// ReadProc reads a file of /proc by half the system calls of os.ReadFile, for files that are read often.
func ReadProc(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	text := make([]byte, 0, 512)
	for {
		n, err := unix.Read(fd, text[len(text):cap(text)])
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			return text, nil
		}
		text = slices.Grow(text[:len(text)+n], 512)
	}
}

// readRlimit reads a soft resource limit of this process from /proc/self/limits (proc_pid_limits(5)): lines of "NAME SOFT
// HARD UNITS".
func readRlimit(fsys fs.FS, name string) (soft uint64, limited bool, err error) {
	const file = "proc/self/limits"
	text, err := sysfs.ReadString(fsys, file)
	if err != nil {
		return 0, false, err
	}
	_, rest, _ := strings.Cut("\n"+text, "\n"+name+" ")
	word, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if word == "unlimited" {
		return 0, false, nil
	}
	if soft, err = strconv.ParseUint(word, 10, 64); err != nil {
		return 0, false, sysfs.Malformed(file, "%s: %.20q is not a limit", name, word)
	}
	return soft, true, nil
}

// status holds the fields of /proc/PID/status (proc_pid_status(5)) that matter for RLIMIT_NPROC.
type status struct {
	uid          uint64 // real
	threads      uint64
	capabilities uint64 // effective; 0 if the line is missing
}

func readStatus(fsys fs.FS, file string) (status, error) {
	text, err := sysfs.ReadString(fsys, file)
	if err != nil {
		return status{}, err
	}
	s, err := parseStatus(text)
	if err != nil {
		err = sysfs.Malformed(file, "%v", err)
	}
	return s, err
}

func parseStatus(text string) (s status, err error) {
	uid, _ := statusField(text, "Uid")
	uid, _, _ = strings.Cut(uid, "\t")
	threads, _ := statusField(text, "Threads")
	var uidErr, threadsErr, capErr error
	s.uid, uidErr = strconv.ParseUint(uid, 10, 32)
	s.threads, threadsErr = strconv.ParseUint(threads, 10, 32)
	if capabilities, ok := statusField(text, "CapEff"); ok {
		s.capabilities, capErr = strconv.ParseUint(capabilities, 16, 64)
	}
	if err := errors.Join(uidErr, threadsErr, capErr); err != nil {
		return status{}, errors.New("no readable Uid, Threads and CapEff")
	}
	return s, nil
}

// parseLoadavg returns the number of threads of the system: the number after the slash in "0.15 0.08 0.06 1/89 7777"
// (proc_loadavg(5)).
func parseLoadavg(text string) (threads uint64, err error) {
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return 0, fmt.Errorf("%.40q has no fourth field", text)
	}
	_, after, _ := strings.Cut(fields[3], "/")
	threads, err = strconv.ParseUint(after, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.40q has no number of threads", text)
	}
	return threads, nil
}
