package linux

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gorun/internal/kernel/cpuset"
	"gorun/internal/kernel/sysfs"
)

// Flags of a thread in its stat file (include/linux/sched.h).
const (
	flagKernelThread  = 0x00200000 // PF_KTHREAD
	flagNoSetAffinity = 0x04000000 // PF_NO_SETAFFINITY
)

// Task describes a thread by the files of /proc/PID/task/TID.
type Task struct {
	PID, TID int
	Parent   int        // PID
	Name     string     // of up to 15 bytes; kernel threads may have longer ones
	Start    uint64     // clock ticks after boot (proc_pid_stat(5)). A TID can come back, but not with the same start.
	UID      uint32     // real
	EUID     uint32     // effective
	Kernel   bool       // a thread of the kernel
	Bound    bool       // the kernel refuses to change its mask
	Ended    bool       // nobody has waited for it yet
	CPUs     cpuset.Set // its mask (see AllowedCPUs)
}

// ReadTask reads a thread of a process. The error of one that has ended is Gone.
func ReadTask(root fs.FS, pid, tid int) (Task, error) {
	dir := fmt.Sprintf("proc/%d/task/%d/", pid, tid)
	stat, err := sysfs.ReadString(root, dir+"stat")
	if err != nil {
		return Task{}, err
	}
	status, err := sysfs.ReadString(root, dir+"status")
	if err != nil {
		return Task{}, err
	}
	t, err := parseTask(stat, status)
	if err != nil {
		return t, sysfs.Malformed(dir+"stat or status", "%v", err)
	}
	t.PID, t.TID = pid, tid
	return t, nil
}

// ReadProcess reads the first thread of a process, which may have ended before others. The error of a process without a thread that runs is Gone.
func ReadProcess(root fs.FS, pid int) (Task, error) {
	t, err := ReadTask(root, pid, pid)
	if err != nil || !t.Ended {
		return t, err
	}
	threads, err := fs.ReadDir(root, fmt.Sprintf("proc/%d/task", pid))
	for _, tid := range numbered(threads) {
		if of, err := ReadTask(root, pid, tid); err == nil && !of.Ended {
			return t, nil
		}
	}
	return t, cmp.Or(err, fs.ErrNotExist)
}

// parseTask reads a thread's stat and status.
func parseTask(stat, status string) (t Task, err error) {
	open, end := strings.Index(stat, "("), strings.LastIndex(stat, ")") // the name may have brackets and blanks
	if open < 0 || end < open {
		return t, errors.New("there is no name in brackets")
	}
	t.Name = stat[open+1 : end]
	fields := strings.Fields(stat[end+1:]) // from the third field on
	if len(fields) < 20 {
		return t, errors.New("there are fewer than 22 fields")
	}
	parent, parentErr := strconv.Atoi(fields[1])
	flags, flagsErr := strconv.ParseUint(fields[6], 10, 32)
	start, startErr := strconv.ParseUint(fields[19], 10, 64)
	uids, _ := statusField(status, "Uid")
	ids := strings.Fields(uids)
	if len(ids) < 2 {
		return t, errors.New("there is no Uid with a real and an effective one")
	}
	uid, uidErr := strconv.ParseUint(ids[0], 10, 32)
	euid, euidErr := strconv.ParseUint(ids[1], 10, 32)
	list, _ := statusField(status, "Cpus_allowed_list")
	cpus, cpusErr := cpuset.Parse(list)
	t.Parent, t.Start, t.UID, t.EUID, t.CPUs = parent, start, uint32(uid), uint32(euid), cpus
	t.Ended = fields[0] == "Z" || fields[0] == "X"
	t.Kernel, t.Bound = flags&flagKernelThread != 0, flags&flagNoSetAffinity != 0
	return t, errors.Join(parentErr, flagsErr, startErr, uidErr, euidErr, cpusErr)
}

// Gone reports whether an error says that a process or a thread has ended: its files are gone, or an open one answers
// ESRCH.
func Gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

// ProcessTasks calls visit for each thread of each process that /proc shows. It leaves out threads that have ended, and
// processes that a mount option of /proc hides (hidepid, proc(5)).
func ProcessTasks(root fs.FS, visit func(Task)) error {
	processes, err := fs.ReadDir(root, "proc")
	if err != nil {
		return err
	}
	for _, pid := range numbered(processes) {
		threads, err := fs.ReadDir(root, fmt.Sprintf("proc/%d/task", pid))
		if hidden(err) {
			continue
		}
		if err != nil {
			return err
		}
		for _, tid := range numbered(threads) {
			t, err := ReadTask(root, pid, tid)
			if hidden(err) || t.Ended {
				continue
			}
			if err != nil {
				return err
			}
			visit(t)
		}
	}
	return nil
}

func hidden(err error) bool { return Gone(err) || errors.Is(err, fs.ErrPermission) }

// numbered returns the numbers among the names of a directory's entries, ascending.
func numbered(entries []fs.DirEntry) (all []int) {
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all
}

// capSysNice is the number of CAP_SYS_NICE (include/uapi/linux/capability.h).
const capSysNice = 23

// MayPlaceOthers reports whether this process may set the masks of other users' threads, by its CAP_SYS_NICE.
func MayPlaceOthers(root fs.FS) bool {
	s, err := readStatus(root, "proc/self/status")
	return err == nil && s.capabilities&(1<<capSysNice) != 0
}
