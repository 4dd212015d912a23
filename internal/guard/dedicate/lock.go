package dedicate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
)

// lockPath is locked by each process that moves threads off a CPU. Every user can open it, and no lock file is left behind. (A container has
// another /proc, and so another lock.)
const lockPath = "/proc/stat"

// patience is how long root waits for a gorun of another user to end.
const (
	patience = 10 * time.Second
	pause    = 20 * time.Millisecond
)

// lock, by the lock of a file, makes this the only process that moves threads off a CPU. An ordinary user does not keep root from it: a gorun of that user is asked to
// end, which puts everything back, and another program that holds the lock is ignored. No file is returned then. Two of root's exclude each
// other by the file of their state too.
func lock(ctx context.Context, path string, patience time.Duration) (file *os.File, err error) {
	asked, root := 0, os.Geteuid() == 0
	for end := time.Now().Add(patience); ; {
		if file, err = linux.Lock(path); err == nil {
			return file, nil
		}
		var locked linux.Locked
		if !errors.As(err, &locked) {
			return nil, err
		}
		by, readErr := linux.ReadTask(os.DirFS("/"), locked.By, locked.By)
		ended := readErr != nil || by.Ended // its guardian has the lock
		switch {
		case !ended && (!root || by.EUID == 0), time.Now().After(end) && !root:
			return nil, hint.With(err, "wait until that process ends")
		case time.Now().After(end) || !ended && by.Name != "gorun":
			return nil, nil
		case !ended && asked != by.PID:
			asked = by.PID
			fmt.Fprintf(os.Stderr, "gorun: process %d of user %d keeps a CPU free too: it is asked to end\n", by.PID, by.EUID)
			_ = syscall.Kill(by.PID, syscall.SIGTERM) // it may have ended
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
