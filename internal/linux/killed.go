package linux

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gorun/internal/cgroup"
)

// Killed is the error of a process that a signal ended. fsys is rooted at / of this process, whose control group is the
// process's too: its memory limits are named where they may be why the kernel has sent SIGKILL.
type Killed struct {
	Signal syscall.Signal
	limits []cgroup.MemoryKills
}

// NewKilled reads the limits. Where they cannot be read, the signal is all that there is to say.
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
	return "give it more memory (" + strings.Join(files, ", ") + "), or have it take less"
}
