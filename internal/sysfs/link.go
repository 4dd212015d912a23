package sysfs

import (
	"errors"
	"io/fs"
	"path"
	"syscall"
)

// ReadLink returns the target of a symbolic link as written there: "../../devices/pci0000:00/…". A captured machine
// is an archive of plain files, in which the content of a file is the target, as in git without symbolic links
// (core.symlinks).
func ReadLink(fsys fs.FS, name string) (string, error) {
	if links, ok := fsys.(interface{ ReadLink(string) (string, error) }); ok {
		target, err := links.ReadLink(name)
		if err == nil {
			return target, nil
		}
		// not a link, readlink(2)
		if !errors.Is(err, syscall.EINVAL) && !errors.Is(err, fs.ErrInvalid) {
			return "", readError(name, err)
		}
	}
	return ReadString(fsys, name)
}

// ReadLink returns the target of a link in the recorded directory without following it.
func (t *tree) ReadLink(name string) (string, error) {
	fault := func(err error) error { return &fs.PathError{Op: "readlink", Path: name, Err: err} }
	if !fs.ValidPath(name) || name == "." {
		return "", fault(fs.ErrInvalid)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	links := 0
	dir, err := t.resolveDir(path.Dir(name), &links)
	if err != nil {
		return "", fault(err)
	}
	parent, err := t.walk(dir)
	if err != nil {
		return "", fault(err)
	}
	target, err := parent.Readlink(path.Base(name))
	if err != nil {
		return "", fault(cause(err))
	}
	return target, nil
}
