package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"gorun/internal/sysfs"
)

// readRlimit reads a resource limit of this process from /proc/self/limits (proc_pid_limits(5)).
func readRlimit(fsys fs.FS, name string) (soft uint64, hard string, limited bool, err error) {
	const file = "proc/self/limits"
	text, err := sysfs.ReadString(fsys, file)
	if err != nil {
		return 0, "", false, err
	}
	if soft, hard, limited, err = parseRlimit(text, name); err != nil {
		return 0, "", false, sysfs.Malformed(file, "%v", err)
	}
	return soft, hard, limited, nil
}

// parseRlimit finds the line "NAME SOFT HARD UNITS". limited is false when the soft limit is "unlimited".
func parseRlimit(text, name string) (soft uint64, hard string, limited bool, err error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name+" ")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) < 2 {
			return 0, "", false, fmt.Errorf("%.60q has no soft and hard limit", line)
		}
		if fields[0] == "unlimited" {
			return 0, fields[1], false, nil
		}
		soft, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return 0, "", false, fmt.Errorf("%.60q has no number for its soft limit", line)
		}
		return soft, fields[1], true, nil
	}
	return 0, "", false, fmt.Errorf("no line %q", name)
}

// status holds the fields of /proc/PID/status (proc_pid_status(5)) that matter for RLIMIT_NPROC.
type status struct {
	uid          uint64 // real
	threads      uint64
	capabilities uint64 // effective; 0 if the line is missing
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
