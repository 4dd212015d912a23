package linux

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gorun/internal/kernel/cgroup"
)

// Killed is the error of a process that a signal ended. After SIGKILL it names the memory limits of this process's
// control group, which the process shares, if the kernel has enforced them.
type Killed struct {
	Signal syscall.Signal
	limits []cgroup.MemoryKills
}

// NewKilled reads the limits from fsys, which is rooted at /. If they cannot be read, the error names only the signal.
func NewKilled(fsys fs.FS, signal syscall.Signal) *Killed {
	k := &Killed{Signal: signal}
	if signal == syscall.SIGKILL {
		k.limits, _ = cgroup.ReadMemoryKills(fsys)
	}
	return k
}

func (k *Killed) Error() string {
	text := "killed by " + unix.SignalName(k.Signal)
	for _, l := range k.limits {
		text += fmt.Sprintf("; the memory limit of its control group is %d bytes", l.Max)
		if l.Kills > 0 {
			text += fmt.Sprintf(", for which the kernel has killed %d there so far", l.Kills)
		}
	}
	return text
}

// Hint names the limits.
func (k *Killed) Hint() string {
	files := make([]string, len(k.limits))
	for i, l := range k.limits {
		files[i] = l.File
	}
	if len(files) == 0 {
		return ""
	}
	return "give it more memory (" + strings.Join(files, ", ") + "), or make it use less"
}
