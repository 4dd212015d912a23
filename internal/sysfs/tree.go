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

// tree is a recorded directory as a file system in which links mean what they meant on the recorded machine.
type tree struct {
	root *os.Root // keeps every access inside, whatever resolve returns
	base string   // the directory's own absolute path, for links that were made with it

	mu   sync.Mutex
	dirs map[string]string // resolved directories: thousands of CPUs share the same few parents
}

// maxLinks is how many links one name may go through: MAXSYMLINKS of the kernel's include/linux/namei.h.
const maxLinks = 40

var (
	errEscapes = errors.New("the link leaves the recorded tree")
	errLoop    = errors.New("too many links")
)

func openDir(dir string) (fs.FS, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	base, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	return &tree{root: root, base: base, dirs: map[string]string{".": "."}}, nil
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	links := 0
	plain, err := t.resolve(name, &links)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	// Without O_NONBLOCK a pipe in the tree would wait for a writer for ever.
	file, err := t.root.OpenFile(plain, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("neither a file nor a directory")}
	}
	if err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	return file, nil
}

// resolve returns the name without links in it.
func (t *tree) resolve(name string, links *int) (string, error) {
	if name == "." {
		return ".", nil
	}
	dir, err := t.resolveDir(path.Dir(name), links)
	if err != nil {
		return "", err
	}
	plain := path.Join(dir, path.Base(name))
	info, err := t.root.Lstat(plain)
	if err != nil {
		return "", cause(err)
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return plain, nil
	}
	if *links++; *links > maxLinks {
		return "", fmt.Errorf("%w at %s", errLoop, plain)
	}
	target, err := t.root.Readlink(plain)
	if err != nil {
		return "", cause(err)
	}
	return t.follow(plain, target, links)
}

func (t *tree) resolveDir(dir string, links *int) (string, error) {
	t.mu.Lock()
	plain, ok := t.dirs[dir]
	t.mu.Unlock()
	if ok {
		return plain, nil
	}
	plain, err := t.resolve(dir, links)
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	t.dirs[dir] = plain
	t.mu.Unlock()
	return plain, nil
}

// follow resolves the target of a link element by element, for ".." after a link means the parent of where that leads.
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
				return "", fmt.Errorf("%w: %s -> %s", errEscapes, link, target)
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

// cause strips the operation and the resolved name: the caller adds the name that was asked for.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
