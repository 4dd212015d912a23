package live

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gorun/internal/hint"
	"gorun/internal/linux"
	"gorun/internal/program"
)

// stateName begins the names of state files.
const stateName = "gorun-live-"

// stateDir returns the directory of state files, which needs to last no longer than the machine runs.
func stateDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		return dir
	}
	if os.Geteuid() == 0 {
		return "/run"
	}
	return os.TempDir()
}

// statePath returns the path of the state file of a program: one gorun at a time can switch it.
func statePath(w program.Who) string {
	name := strconv.Itoa(w.PID)
	if w.Group != "" {
		name = strings.NewReplacer("/", "-").Replace(strings.Trim(w.Group, "/"))
	}
	return filepath.Join(stateDir(), stateName+name+".json")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// inUse is the error of a program that has a state file; nil, if the file is of another boot or of another process with the same PID, and
// is removed.
func inUse(path string, of program.Who) error {
	saved, err := program.ReadSaved(path)
	switch {
	case err != nil:
		return hint.With(err, "remove the file if no gorun live runs")
	case saved.Boot != program.BootID(), saved.Start != of.Start:
		return os.Remove(path)
	case owned(saved):
		return hint.With(fmt.Errorf("process %d, another gorun live, switches the program", saved.Owner), "wait for it")
	}
	return hint.With(errors.New("the program still has what a gorun live gave it that was killed"), "gorun live --restore puts it back")
}

// owned reports whether the gorun that wrote a state still runs.
func owned(s *program.Saved) bool {
	return s.Boot == program.BootID() && linux.Inode(fmt.Sprintf("/proc/%d", s.Owner)) != 0 && ownerIsGorun(s.Owner)
}

// ownerIsGorun reports whether a process runs the same program as this one: a PID may be used again.
func ownerIsGorun(pid int) bool {
	its, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	ours, ourErr := os.Stat("/proc/self/exe")
	return err != nil || ourErr != nil || os.SameFile(its, ours)
}

// PutBack puts back what programs had, by the state file that --restore names or by all whose gorun has ended. It says on out what it did.
func (s *Source) PutBack(out io.Writer) error {
	paths := []string{s.Restore}
	if s.Restore == every {
		paths, _ = filepath.Glob(filepath.Join(stateDir(), stateName+"*.json")) // the pattern is right
	}
	if len(paths) == 0 {
		fmt.Fprintf(out, "Nothing to put back: %s has no state of a program\n", stateDir())
		return nil
	}
	var errs []error
	for _, path := range paths {
		saved, err := program.ReadSaved(path)
		switch {
		case err != nil:
		case owned(saved) && s.Restore == every:
			fmt.Fprintf(out, "%s: left, process %d switches it\n", hint.Line(saved.Who.String()), saved.Owner)
			continue
		case owned(saved):
			err = hint.With(fmt.Errorf("process %d switches the program", saved.Owner), "end it: it puts everything back")
		default:
			var notes []string
			if notes, err = saved.PutBack(); err == nil {
				err = os.Remove(path)
			}
			fmt.Fprintf(out, "%s: put back\n", hint.Line(fmt.Sprintf("%v (%s)", saved.Who, saved.Name)))
			for _, note := range notes {
				fmt.Fprintf(out, "  %s\n", hint.Line(note))
			}
		}
		if err != nil {
			errs = append(errs, hint.Flag("restore", path, err))
		}
	}
	return cmp.Or(errors.Join(errs...), nil)
}
