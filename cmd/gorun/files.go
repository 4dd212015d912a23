package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gorun/internal/base/hint"
	"gorun/internal/files/output"
)

// writeFiles writes files into a directory, which it makes if there is none. All of them are opened before the first is
// written, so that a directory in which a file cannot be written keeps its files. Each file is replaced as a whole.
func writeFiles(ctx context.Context, e env, dir output.Named, files map[string][]byte) (err error) {
	if err := os.MkdirAll(dir.Path, 0o755); err != nil {
		if of := new(fs.PathError); errors.As(err, &of) {
			err = of.Err
		}
		return hint.Usage(hint.With(fmt.Errorf("cannot write to %s: %w", dir, err),
			"give a directory in which you may make files"))
	}
	opener := output.Opener{Stdout: e.Stdout, Stderr: e.Stderr}
	opened := map[string]*output.File{}
	defer func() {
		for _, file := range opened {
			err = errors.Join(err, file.Close())
		}
	}()
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if opened[name], err = opener.Open(ctx, output.Named{Flag: dir.Flag, Path: filepath.Join(dir.Path, name)}); err != nil {
			delete(opened, name)
			return err
		}
	}
	for _, name := range names {
		if err := opened[name].Write(func(w io.Writer) error { _, err := w.Write(files[name]); return err }); err != nil {
			return err
		}
	}
	return nil
}
