package subject

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/base/lazy"
	"gorun/internal/kernel/linux"
)

// restoreCommand puts back what the states in the folders say.
const restoreCommand = "gorun live --restore"

// folders returns the folders in which states of this user may lie, the best first. A state needs to last no longer than the machine
// runs; /run/user/UID goes away when the user logs out (pam_systemd(8)). root does not follow XDG_RUNTIME_DIR, which sudo may keep.
func folders() (all []string) {
	uid := os.Geteuid()
	if uid == 0 {
		all = append(all, "/run/gorun")
	} else {
		if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
			all = append(all, filepath.Join(dir, "gorun"))
		}
		all = append(all, fmt.Sprintf("/run/user/%d/gorun", uid))
	}
	return slices.Compact(append(all, filepath.Join(os.TempDir(), fmt.Sprintf("gorun-%d", uid))))
}

// oldFolders returns the folders in which older gorun kept states, under other names.
func oldFolders() []string {
	all := []string{"/run", os.TempDir()}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && os.Geteuid() != 0 {
		all = append(all, dir)
	}
	return all
}

// oldName begins the names of files in oldFolders.
const oldName = "gorun-live-"

// makeFolder opens the first folder for states that there is or that can be made.
func makeFolder() (dir *os.Root, err error) { return makeFolderIn(folders()) }

func makeFolderIn(paths []string) (dir *os.Root, err error) {
	var errs []error
	for _, path := range paths {
		made := os.Mkdir(path, 0o700)
		if made != nil && !errors.Is(made, fs.ErrExist) {
			errs = append(errs, made)
			continue
		}
		if info, err := os.Lstat(path); err == nil && !info.IsDir() { // somebody else may have put it into a directory for all
			errs = append(errs, fmt.Errorf("%s is not a directory", path))
			continue
		}
		dir, err := openFolder(path, 0o077)
		if err == nil {
			return dir, nil
		}
		if made == nil {
			removeFolder(path)
		}
		errs = append(errs, err)
	}
	err = errors.Join(errs...)
	return nil, hint.With(fmt.Errorf("there is no folder for what has to be put back: %w", err),
		cmp.Or(linux.Remedy(err), "XDG_RUNTIME_DIR names a folder of yours that nobody else may write"))
}

// removeFolder removes a folder of states that has none.
func removeFolder(path string) {
	if slices.Contains(folders(), path) {
		_ = os.Remove(path) // it may have some
	}
}

// newFile makes a file in a folder of states, which another gorun may remove with its last one.
func newFile() (dir *os.Root, file *os.File, err error) {
	for range 100 {
		if dir, err = makeFolder(); err != nil {
			return nil, nil, err
		}
		file, err = dir.OpenFile("."+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return dir, file, nil
		}
		dir.Close()
		if !errors.Is(err, fs.ErrNotExist) {
			removeFolder(dir.Name())
			break
		}
	}
	return nil, nil, err
}

// openFolder opens a folder of this user's own that gives others none of these permissions.
func openFolder(path string, others fs.FileMode) (*os.Root, error) {
	dir, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	info, err := dir.Stat(".")
	if err == nil && (owner(info) != os.Geteuid() || info.Mode()&others != 0) {
		err = fmt.Errorf("%s is not a folder of yours alone: its mode is %v", path, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return dir, nil
}

// owner returns the UID of a file.
func owner(info fs.FileInfo) int {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1
	}
	return int(stat.Uid)
}

// ID returns the name of the state's file: one gorun at a time can change the same.
func (s *State) ID() string {
	name := "process-" + strconv.Itoa(s.PID)
	if s.PID == 0 {
		sum := sha256.Sum256([]byte(s.Group + "\n" + s.For)) // a name may be too long for a file's, or have slashes
		name = "state-" + hex.EncodeToString(sum[:8])
	}
	if s.Namespace != initialPIDNamespace {
		name += "-" + strconv.FormatUint(s.Namespace, 10)
	}
	return name + ".json"
}

// String says what the state is about.
func (s *State) String() string {
	if s.For != "" {
		return hint.Printable(s.For)
	}
	text := s.Who.String()
	if s.Name != "" {
		text += " (" + s.Name + ")"
	}
	return hint.Printable(text)
}

// Keep writes the state into a file: a new one, or its own again. If another gorun changes the same, the error says so.
func (s *State) Keep() error {
	dir, file, err := newFile()
	if err != nil {
		return fmt.Errorf("keep what has to be put back: %w", err)
	}
	defer dir.Close()
	written := filepath.Base(file.Name())
	defer func() {
		_ = dir.Remove(written)
		removeFolder(dir.Name())
	}()
	path := filepath.Join(dir.Name(), s.ID())
	kept := *s
	kept.Path = path
	text, err := json.Marshal(kept)
	if err == nil {
		_, err = file.Write(append(text, '\n'))
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("keep what has to be put back: %w", err)
	}
	if s.Path != "" { // the folder may be another one since
		s.Path = path
		return dir.Rename(written, s.ID())
	}
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		err := linux.RenameNew(filepath.Join(dir.Name(), written), path)
		if errors.Is(err, fs.ErrExist) {
			if err = s.inUse(path); err == nil || errors.Is(err, errLeft) && time.Now().Before(end) {
				continue // a guardian may be putting it back
			}
		}
		if err == nil {
			s.Path = path
		}
		return err
	}
}

// patience is how long the guardian of a gorun that was killed is awaited.
const (
	patience = 2 * time.Second
	pause    = 20 * time.Millisecond
)

// errLeft is the error of something that a gorun has left changed.
var errLeft = errors.New("it still has what a gorun gave it that was killed")

// InUse returns an error if another gorun changes the same, or has left it changed.
func (s *State) InUse() error {
	for _, dir := range folders() {
		path := filepath.Join(dir, s.ID())
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if err := s.inUse(path); err != nil {
			return err
		}
	}
	return nil
}

// inUse is the error of a state whose file exists. It removes one of another boot, or of another process with the same PID.
func (s *State) inUse(path string) error {
	is, err := Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return hint.With(err, "remove the file if no other gorun runs")
	case is.Boot != BootID(), is.Start != s.Start, !is.Owned() && is.void():
		return is.Drop()
	case is.Owned():
		return hint.With(fmt.Errorf("process %d, another gorun, has changed it", is.Owner), "wait for it")
	}
	return hint.With(errLeft, restoreCommand+" puts it back")
}

// void reports whether nothing is there that could be put back: it has ended, or was not changed yet when its gorun ended.
func (s *State) void() bool {
	if s.Group != "" {
		return false // it may have new threads
	}
	for _, t := range s.Threads {
		is, err := readThread(t.PID, t.TID)
		if is.Whole = t.Whole; err == nil && is.Start == t.Start && !is.same(t) {
			return false
		}
	}
	for _, f := range s.Files {
		if is, err := os.ReadFile(f.Path); err == nil && !f.has(string(is), f.Before) {
			return false
		}
	}
	return true
}

// elsewhere reports whether the state is of another PID namespace, and whether that has a process.
func (s *State) elsewhere() (is, lives bool) {
	if s.Namespace == 0 || s.Namespace == namespace() {
		return false, false
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/ns/pid") // the pattern is right
	return true, slices.ContainsFunc(processes, func(path string) bool { return linux.Inode(path) == s.Namespace })
}

// Owned reports whether the gorun that has written the state still runs.
func (s *State) Owned() bool {
	t, err := linux.ReadTask(os.DirFS("/"), s.Owner, s.Owner)
	return s.Boot == BootID() && err == nil && !t.Ended && (t.Start == s.OwnerStart || s.OwnerStart == 0 && t.Name == "gorun")
}

// Drop removes the file of the state, and the folder if it has no other.
func (s *State) Drop() error {
	if s.Path == "" {
		return nil
	}
	err := os.Remove(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the folder may have gone away with it
	}
	removeFolder(filepath.Dir(s.Path))
	s.Path = ""
	return err
}

// mostState is the most bytes of a state: a thread has some 150.
const mostState = 64 << 20

// Read reads the state in a file, which must be this user's alone, in a folder in which nobody else may replace it.
func Read(path string) (*State, error) {
	dir, err := openFolder(filepath.Dir(path), 0o022) // where nobody else may replace the file
	if err != nil && old(path) {
		dir, err = os.OpenRoot(filepath.Dir(path))
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	named, err := dir.Lstat(filepath.Base(path)) // os.Root follows a link within the folder
	if err != nil {
		return nil, err
	}
	file, err := dir.OpenFile(filepath.Base(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() || !os.SameFile(named, info):
		return nil, fmt.Errorf("%s is no regular file", path)
	case owner(info) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to another user", path)
	case info.Mode().Perm()&0o077 != 0 || ok && stat.Nlink != 1:
		return nil, fmt.Errorf("%s is open to others: its mode is %v, and it has %d names", path, info.Mode(), stat.Nlink)
	case info.Size() > mostState:
		return nil, fmt.Errorf("%s has more than %d MiB", path, mostState>>20)
	}
	text, err := io.ReadAll(io.LimitReader(file, mostState))
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err = json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s is no state that gorun has written: %w", path, err)
	}
	s.Path = path
	return s, nil
}

// old reports whether a path is that of a state of an older gorun.
func old(path string) bool {
	return slices.Contains(oldFolders(), filepath.Dir(path)) && strings.HasPrefix(filepath.Base(path), oldName)
}

// valid returns an error for a state that has what gorun does not change: a file that is not of the group that it names, no interrupt's and
// none of the numbers that gorun sets.
func (s *State) valid() error {
	ours := linux.SettableFiles()
	if s.Group != "" {
		if !linux.IsCgroup(s.Group) && linux.Inode(s.Group) != 0 || filepath.Clean(s.Group) != s.Group {
			return fmt.Errorf("%q is no control group", s.Group)
		}
		ours = groupSetOf(s.Group).files()
	}
	for _, f := range s.Files {
		if !slices.Contains(ours, f.Path) && (s.Who != (Who{}) || !interruptFile().MatchString(f.Path)) {
			return fmt.Errorf("%q is no file that gorun changes", f.Path)
		}
	}
	for _, t := range s.Threads {
		if t.PID <= 0 || t.TID <= 0 {
			return fmt.Errorf("%d is no thread", t.TID)
		}
	}
	if len(s.Threads) == 0 && s.For == "" || s.PID != 0 && s.Start == 0 {
		return errors.New("it names nothing")
	}
	return nil
}

// interruptFile matches the file with the CPUs of an interrupt (proc_pid_irq(5)).
var interruptFile = lazy.Regexp(`^/proc/irq/[0-9]+/smp_affinity_list$`)

// Every is the value of --restore without a file.
const Every = "all"

// Restore puts back what the state in a file says, or all whose gorun has ended, in every folder that there is for them. It writes what it did
// to out. What stays changed is an error, but for what a gorun is changing that runs.
func Restore(out io.Writer, which string) error {
	paths := []string{which}
	if which == Every {
		paths = states()
	}
	if len(paths) == 0 {
		fmt.Fprintf(out, "Nothing to put back: there is no state in %s\n", strings.Join(folders(), " or "))
		return nil
	}
	var errs []error
	for _, path := range paths {
		s, err := Read(path)
		if err != nil {
			errs = append(errs, hint.Flag("restore", path, err))
		} else if err := s.restore(out, which == Every); err != nil {
			errs = append(errs, hint.With(fmt.Errorf("%s: %w", path, err), hint.Of(err)))
		}
	}
	return errors.Join(errs...)
}

// states returns the files with states of this user, also of an older gorun.
func states() (paths []string) {
	for _, dir := range folders() {
		found, _ := filepath.Glob(filepath.Join(dir, "*.json")) // the pattern is right
		paths = append(paths, found...)
	}
	for _, dir := range oldFolders() {
		found, _ := filepath.Glob(filepath.Join(dir, oldName+"*.json"))
		for _, path := range found {
			if info, err := os.Lstat(path); err == nil && owner(info) == os.Geteuid() {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// restore puts back what a state says, and removes its file.
func (s *State) restore(out io.Writer, every bool) error {
	if old(s.Path) {
		fmt.Fprintf(out, "%s: where an older gorun kept states\n", s.Path)
	}
	if err := s.valid(); err != nil {
		return fmt.Errorf("%s is no state that gorun has written: %w", s.Path, err)
	}
	elsewhere, lives := s.elsewhere()
	switch {
	case elsewhere && lives && s.Boot == BootID():
		return hint.With(fmt.Errorf("%v is in another PID namespace", s), "run "+restoreCommand+" in that (nsenter(1), --pid)")
	case elsewhere:
		fmt.Fprintf(out, "%v: nothing to put back: its PID namespace is gone\n", s)
		return s.Drop()
	case s.Boot != BootID():
		fmt.Fprintf(out, "%v: nothing to put back: the machine was started again since\n", s)
		return s.Drop()
	case s.Owned() && every:
		fmt.Fprintf(out, "%v: left, process %d has changed it and runs\n", s, s.Owner)
		return nil
	case s.Owned():
		return hint.With(fmt.Errorf("process %d has changed it and runs", s.Owner), "end it: it puts everything back")
	}
	notes, err := s.Settle()
	if err == nil {
		fmt.Fprintf(out, "%v: put back\n", s)
	}
	for _, note := range notes {
		fmt.Fprintf(out, "  %s\n", note)
	}
	return err
}
