package sysfs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"
)

// OpenRoot opens the machine recorded at path: a directory that holds sys/ and, where recorded, proc/; or a .txtar file
// with such names. The path "/" is this machine.
//
// In a recorded directory symbolic links resolve inside it, absolute ones too, and a link that leaves it or runs in a
// circle is an error: a recording never reads the files of the machine it is looked at on. The directory stays open
// as long as the program runs.
func OpenRoot(path string) (fs.FS, error) {
	if filepath.Clean(path) == "/" {
		return Live(), nil
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
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	fsys, err := txtar.FS(archive)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fsys, nil
}
