package sysfs

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/tools/txtar"
)

// OpenRoot opens the machine recorded at path: a directory that contains sys/ and, if recorded, proc/; or a .txtar
// file with such names. The path "/" is this machine.
//
// In a recorded directory symbolic links, absolute ones too, resolve inside it; a link that leaves it or forms a loop
// is an error. So reading a recording never reads a file of this machine. The directory stays open until the program
// ends.
func OpenRoot(path string) (fs.FS, error) {
	if filepath.Clean(path) == "/" {
		return This(), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the recorded machine: %w", err)
	}
	var fsys fs.FS
	switch {
	case info.IsDir():
		fsys, err = openDir(path)
	case info.Mode().IsRegular() && strings.HasSuffix(path, ".txtar"):
		fsys, err = openArchive(path)
	default:
		return nil, fmt.Errorf("%s is neither a directory nor a .txtar file", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the recorded machine: %w", err)
	}
	sys, err := fs.Stat(fsys, "sys")
	if err != nil {
		return nil, fmt.Errorf("%s holds no recorded machine: %w", path, readError("sys", err))
	}
	if !sys.IsDir() {
		return nil, fmt.Errorf("%s holds no recorded machine: sys is not a directory", path)
	}
	return fsys, nil
}

func openArchive(path string) (fs.FS, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := recorded(file); err != nil {
		return nil, fmt.Errorf("%s is %w", path, err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	fsys, err := txtar.FS(txtar.Parse(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fsys, nil
}
