package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// tree is a recorded directory as a file system. Its links have the same meaning as on the recorded machine.
type tree struct {
	base string // the directory's absolute path, which the target of an absolute link may begin with

	mu   sync.Mutex
	dirs map[string]string // resolved directories: thousands of CPUs share the same few parents
	way  []step            // from the top to the last directory used, since most files of a directory are read one after another
}

// step is an open directory. An os.Root confines names to itself even if resolve is wrong; with a path it opens each
// element again, so each gets single names only.
type step struct {
	name string // relative to the directory before it
	root *os.Root
}

// maxLinks is the number of links in one name: MAXSYMLINKS of the kernel's include/linux/namei.h.
const maxLinks = 40

func openDir(dir string) (fs.FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &tree{base: base, dirs: map[string]string{".": "."}, way: []step{{root: root}}}, nil
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	file, err := t.open(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	return file, nil
}

func (t *tree) open(name string) (*os.File, error) {
	if !fs.ValidPath(name) {
		return nil, fs.ErrInvalid
	}
	plain, err := t.resolve(name, new(int))
	if err != nil {
		return nil, err
	}
	dir, err := t.walk(path.Dir(plain))
	if err != nil {
		return nil, err
	}
	// Without O_NONBLOCK, opening a pipe in the tree would wait forever for a writer.
	file, err := dir.OpenFile(path.Base(plain), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := recorded(file); err != nil {
		_ = file.Close() // only read
		return nil, err
	}
	return file, nil
}

// mostRecorded is the size of the largest recording that is read, and of the largest file of one, in bytes.
const mostRecorded = 256 << 20

// recorded returns an error if an open file can be no part of a recording.
func recorded(file *os.File) error {
	info, err := file.Stat()
	switch {
	case err != nil:
		return err
	case !info.IsDir() && !info.Mode().IsRegular():
		return errors.New("neither a file nor a directory")
	case info.Size() > mostRecorded:
		return fmt.Errorf("larger than %d MiB", mostRecorded>>20)
	}
	return nil
}

// ReadLink returns the target of a link in the recorded directory without following it.
func (t *tree) ReadLink(name string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	target, err := "", fs.ErrInvalid
	if fs.ValidPath(name) && name != "." {
		var dir *os.Root
		if _, dir, err = t.parent(name, new(int)); err == nil {
			target, err = dir.Readlink(path.Base(name))
		}
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: cause(err)}
	}
	return target, nil
}

// resolve returns the name without links.
func (t *tree) resolve(name string, links *int) (string, error) {
	if name == "." {
		return ".", nil
	}
	plain, parent, err := t.parent(name, links)
	if err != nil {
		return "", err
	}
	info, err := parent.Lstat(path.Base(name))
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return plain, err
	}
	if *links++; *links > maxLinks {
		return "", fmt.Errorf("too many links at %s", plain)
	}
	target, err := parent.Readlink(path.Base(name))
	if err != nil {
		return "", err
	}
	return t.follow(plain, target, links)
}

// parent returns the name with its directories resolved, and opens the last of them.
func (t *tree) parent(name string, links *int) (plain string, parent *os.Root, err error) {
	dir := path.Dir(name)
	at, known := t.dirs[dir]
	if !known {
		if at, err = t.resolve(dir, links); err != nil {
			return "", nil, err
		}
		t.dirs[dir] = at
	}
	parent, err = t.walk(at)
	return path.Join(at, path.Base(name)), parent, err
}

// walk opens a resolved directory, starting from the last one used.
func (t *tree) walk(dir string) (*os.Root, error) {
	var names []string
	if dir != "." {
		names = strings.Split(dir, "/")
	}
	same := 0
	for same < min(len(names), len(t.way)-1) && t.way[same+1].name == names[same] {
		same++
	}
	for _, left := range t.way[same+1:] {
		_ = left.root.Close() // only read
	}
	t.way = t.way[:same+1]
	for _, name := range names[same:] {
		root, err := t.way[len(t.way)-1].root.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		t.way = append(t.way, step{name, root})
	}
	return t.way[len(t.way)-1].root, nil
}

// follow resolves the target of a link element by element, because ".." after a link is the parent of the link's
// target.
func (t *tree) follow(link, target string, links *int) (string, error) {
	at := path.Dir(link)
	if strings.HasPrefix(target, "/") {
		at = "."
		if inside, ok := strings.CutPrefix(target, t.base+"/"); ok {
			target = inside
		}
	}
	for element := range strings.SplitSeq(target, "/") {
		switch element {
		case "", ".":
		case "..":
			if at == "." {
				return "", fmt.Errorf("the link leaves the recorded tree: %s -> %s", link, target)
			}
			at = path.Dir(at)
		default:
			var err error
			if at, err = t.resolve(path.Join(at, element), links); err != nil {
				return "", err
			}
		}
	}
	return at, nil
}

// cause removes the operation and the resolved name, since the caller adds the requested name.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
