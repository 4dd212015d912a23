package sysfs

import (
	"errors"
	"io/fs"
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
