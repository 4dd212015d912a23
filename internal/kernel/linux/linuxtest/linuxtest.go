// Package linuxtest starts programs without some of the privileges that the caller has, for tests.
package linuxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Without lists what is taken away from a program before it starts. The zero value takes nothing away.
type Without struct {
	Capability string            // of Capabilities
	User       int               // user and group ID of the program; 0: the caller's
	NewPrivs   bool              // no privileges by set-user-ID programs (PR_SET_NO_NEW_PRIVS)
	Limits     map[string]uint64 // soft and hard limits by name, in Resources; in the units of getrlimit(2)
	Hidden     []string          // files and directories that appear empty
	Mounts     []Mount           // in the order in which they are made
	Filter     []Refusal         // what a seccomp filter refuses
}

// Mount is a file system that is mounted for the program alone (mount_namespaces(7)).
type Mount struct{ Type, Dir, Options string }

// Refusal is the answer of a seccomp filter to a system call.
type Refusal struct {
	Call  string // of Calls
	Errno syscall.Errno
}

// Capabilities are the numbers of the capabilities that matter for placing or measuring (capabilities(7)).
var Capabilities = map[string]int{
	"CAP_DAC_OVERRIDE":    unix.CAP_DAC_OVERRIDE,
	"CAP_DAC_READ_SEARCH": unix.CAP_DAC_READ_SEARCH,
	"CAP_IPC_LOCK":        unix.CAP_IPC_LOCK,
	"CAP_KILL":            unix.CAP_KILL,
	"CAP_PERFMON":         unix.CAP_PERFMON,
	"CAP_SYSLOG":          unix.CAP_SYSLOG,
	"CAP_SYS_ADMIN":       unix.CAP_SYS_ADMIN,
	"CAP_SYS_NICE":        unix.CAP_SYS_NICE,
	"CAP_SYS_PTRACE":      unix.CAP_SYS_PTRACE,
	"CAP_SYS_RESOURCE":    unix.CAP_SYS_RESOURCE,
}

// Resources are the numbers of the resources that have limits (getrlimit(2)).
var Resources = map[string]int{
	"RLIMIT_AS":         unix.RLIMIT_AS,
	"RLIMIT_CORE":       unix.RLIMIT_CORE,
	"RLIMIT_CPU":        unix.RLIMIT_CPU,
	"RLIMIT_DATA":       unix.RLIMIT_DATA,
	"RLIMIT_FSIZE":      unix.RLIMIT_FSIZE,
	"RLIMIT_LOCKS":      unix.RLIMIT_LOCKS,
	"RLIMIT_MEMLOCK":    unix.RLIMIT_MEMLOCK,
	"RLIMIT_MSGQUEUE":   unix.RLIMIT_MSGQUEUE,
	"RLIMIT_NICE":       unix.RLIMIT_NICE,
	"RLIMIT_NOFILE":     unix.RLIMIT_NOFILE,
	"RLIMIT_NPROC":      unix.RLIMIT_NPROC,
	"RLIMIT_RSS":        unix.RLIMIT_RSS,
	"RLIMIT_RTPRIO":     unix.RLIMIT_RTPRIO,
	"RLIMIT_RTTIME":     unix.RLIMIT_RTTIME,
	"RLIMIT_SIGPENDING": unix.RLIMIT_SIGPENDING,
	"RLIMIT_STACK":      unix.RLIMIT_STACK,
}

// Calls are the numbers of the system calls with which gorun places threads and memory, reads that back, and counts events.
var Calls = map[string]uint32{
	"get_mempolicy":           unix.SYS_GET_MEMPOLICY,
	"getcpu":                  unix.SYS_GETCPU,
	"getpriority":             unix.SYS_GETPRIORITY,
	"getrusage":               unix.SYS_GETRUSAGE,
	"mbind":                   unix.SYS_MBIND,
	"move_pages":              unix.SYS_MOVE_PAGES,
	"perf_event_open":         unix.SYS_PERF_EVENT_OPEN,
	"prctl":                   unix.SYS_PRCTL,
	"prlimit64":               unix.SYS_PRLIMIT64,
	"sched_getaffinity":       unix.SYS_SCHED_GETAFFINITY,
	"sched_getattr":           unix.SYS_SCHED_GETATTR,
	"sched_getparam":          unix.SYS_SCHED_GETPARAM,
	"sched_getscheduler":      unix.SYS_SCHED_GETSCHEDULER,
	"sched_setaffinity":       unix.SYS_SCHED_SETAFFINITY,
	"sched_setattr":           unix.SYS_SCHED_SETATTR,
	"sched_setscheduler":      unix.SYS_SCHED_SETSCHEDULER,
	"set_mempolicy":           unix.SYS_SET_MEMPOLICY,
	"set_mempolicy_home_node": unix.SYS_SET_MEMPOLICY_HOME_NODE,
	"setpriority":             unix.SYS_SETPRIORITY,
}

// Argument returns w as the first argument of a program whose main function is Main. The second argument is the path of the
// program to start, which is its argv[0] too, and the rest are its arguments.
func (w Without) Argument() string {
	text, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ExitImpossible is the exit code of Main if it cannot take something away; stderr says why.
const ExitImpossible = 99

// Main executes the program that its arguments name, without what the first argument lists (Argument).
func Main() {
	var w Without
	err := json.Unmarshal([]byte(os.Args[1]), &w)
	if err == nil {
		err = w.become(os.Args[2], os.Args[2:])
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(ExitImpossible)
}

// become executes a program. It takes everything away from the calling thread only: that is the thread which execve(2)
// leaves.
func (w Without) become(path string, argv []string) error {
	runtime.LockOSThread()
	if err := w.mount(); err != nil {
		return err
	}
	if w.Capability != "" {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(Capabilities[w.Capability]), 0, 0, 0); err != nil {
			return fmt.Errorf("drop %s: %w", w.Capability, err)
		}
	}
	if id := uintptr(w.User); id != 0 {
		_, _, groups := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0)
		_, _, group := unix.RawSyscall(unix.SYS_SETRESGID, id, id, id)
		_, _, user := unix.RawSyscall(unix.SYS_SETRESUID, id, id, id)
		if groups != 0 || group != 0 || user != 0 {
			return fmt.Errorf("become user %d: %w", id, errors.Join(groups, group, user))
		}
	}
	for name, most := range w.Limits {
		limit := unix.Rlimit{Cur: most, Max: most}
		if err := unix.Prlimit(0, Resources[name], &limit, nil); err != nil {
			return fmt.Errorf("limit %s: %w", name, err)
		}
	}
	if w.NewPrivs || len(w.Filter) > 0 {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("no_new_privs: %w", err)
		}
	}
	for _, r := range w.Filter {
		if err := Refuse(Calls[r.Call], r.Errno); err != nil {
			return err
		}
	}
	return syscall.Exec(path, argv, os.Environ())
}

// mount gives the calling thread a mount namespace of its own, in which it mounts w.Mounts and hides w.Hidden.
func (w Without) mount() error {
	if len(w.Hidden)+len(w.Mounts) == 0 {
		return nil
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare the mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts private: %w", err)
	}
	for _, m := range w.Mounts {
		if err := unix.Mount(m.Type, m.Dir, m.Type, 0, m.Options); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.Type, m.Dir, err)
		}
	}
	for _, name := range w.Hidden {
		if err := hide(name); err != nil {
			return fmt.Errorf("hide %s: %w", name, err)
		}
	}
	return nil
}

// hide covers a file with /dev/null, or a directory with an empty file system.
func hide(name string) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return unix.Mount("tmpfs", name, "tmpfs", unix.MS_RDONLY, "mode=755")
	}
	return unix.Mount("/dev/null", name, "", unix.MS_BIND, "")
}

// Refuse makes a system call fail with errno in the calling thread, and in the threads and processes that it starts from
// now on. The thread must have PR_SET_NO_NEW_PRIVS or CAP_SYS_ADMIN (seccomp(2)).
func Refuse(call uint32, errno syscall.Errno) error { return RefuseArgument(call, -1, 0, errno) }

// RefuseArgument is Refuse for those calls whose argument, counted from 0, has this value; argument -1: for all calls.
func RefuseArgument(call uint32, argument int, value uint32, errno syscall.Errno) error {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: skip}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	const number, firstArgument = 0, 16 // offsets in struct seccomp_data
	refusal, permission := answer(unix.SECCOMP_RET_ERRNO|uint32(errno)), answer(unix.SECCOMP_RET_ALLOW)
	filter := []unix.SockFilter{load(number), unless(call, 1), refusal, permission}
	if argument >= 0 {
		filter = []unix.SockFilter{
			load(number), unless(call, 3),
			load(firstArgument + 8*uint32(argument)), unless(value, 1),
			refusal, permission,
		}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, err := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if err != 0 {
		return fmt.Errorf("set a seccomp filter: %w", err)
	}
	return nil
}
