package linux

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// PeerPID returns the ID of the process at the other end of a Unix socket, which has called connect or listen
// (SO_PEERCRED, unix(7)); 0 if that process is in a PID namespace that is invisible here.
func PeerPID(c syscall.Conn) (pid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		var peer *unix.Ucred
		if peer, refused = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); refused == nil {
			pid = int(peer.Pid)
		}
	})
	if err == nil {
		err = refused
	}
	return pid, err
}

// Ancestors returns the PIDs of all ancestors of this process that /proc shows.
func Ancestors() map[int]bool {
	above := map[int]bool{}
	for pid := os.Getppid(); pid > 0 && !above[pid]; {
		above[pid] = true
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			break
		}
		_, pid, _ = parseStat(stat) // 0 ends the loop
	}
	return above
}
