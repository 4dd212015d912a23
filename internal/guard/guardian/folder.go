package guardian

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorun/internal/files/input"
)

// Folder is a temporary folder that the guardian removes, with the worktrees of git that are in it.
type Folder struct {
	Path string

	guardian *Guardian
}

// folderState is the state of a step of kind "folder", whose name is the path.
type folderState struct {
	// Repository is the folder of a repository of git that knows worktrees in the folder (gitrepository-layout(5),
	// $GIT_COMMON_DIR); "": there are none.
	Repository string `json:"repository,omitempty"`
}

const folderKind = "folder"

// MakeFolder makes a new folder below a directory. repository is $GIT_COMMON_DIR of the repository that gets worktrees in
// the folder; "": there will be none.
func (g *Guardian) MakeFolder(below, name, repository string) (*Folder, error) {
	f := &Folder{Path: filepath.Join(below, name+"-"+rand.Text()), guardian: g}
	if err := g.add(folderKind, f.Path, folderState{repository}, 0); err != nil {
		return nil, err
	}
	if err := os.Mkdir(f.Path, 0o700); err != nil {
		return nil, errors.Join(err, f.Remove())
	}
	return f, nil
}

// Remove removes the folder. A second call does nothing.
func (f *Folder) Remove() error { return f.guardian.undo(folderKind, f.Path) }

// A process that writes into the folder may end a little later than the process that started it: removing is repeated.
const (
	removePatience = 5 * time.Second
	removePause    = 20 * time.Millisecond
)

// undo removes the folder, whose name is random, and what git knows of worktrees in it.
func (s folderState) undo(path string) (err error) {
	for end := time.Now().Add(removePatience); time.Now().Before(end); time.Sleep(removePause) {
		if err = errors.Join(os.RemoveAll(path), s.forget(path)); err != nil {
			continue
		}
		time.Sleep(removePause)
		if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("remove %s: %w", path, err)
}

// forget removes what git keeps about the worktrees in a folder that is gone, as git worktree prune does. That would
// also remove what it keeps about other worktrees, and keep what a killed git worktree add has locked.
func (s folderState) forget(path string) error {
	if s.Repository == "" {
		return nil
	}
	worktrees := filepath.Join(s.Repository, "worktrees")
	entries, err := os.ReadDir(worktrees)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		of := filepath.Join(worktrees, entry.Name())
		text, unread := input.Opener{}.ReadFile(context.Background(), filepath.Join(of, "gitdir"), input.List)
		if unread == nil && strings.HasPrefix(string(text), path+string(filepath.Separator)) {
			err = errors.Join(err, os.RemoveAll(of))
		}
	}
	_ = os.Remove(worktrees) // git keeps no empty one; others are not empty
	return err
}
