package gobench

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
)

// checkOut makes a worktree of the base; repository is the folder of its repository ($GIT_COMMON_DIR). The worktree lies below the temporary folder where the checkout lies below the root, between links to
// what surrounds the checkout, so that relative paths which leave it lead to the same place: a replacement of go.mod, a use of
// go.work, an include of cgo, a file that a benchmark reads.
func (s *Source) checkOut(ctx context.Context, repository string) error {
	top, err := s.git(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	prefix, err := s.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return err
	}
	if err := s.surround(top); err != nil {
		return err
	}
	base := &s.sides[0]
	root := s.mirrored(top)
	if _, err := s.git(ctx, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", root, s.base); err != nil {
		return fmt.Errorf("check out %s: %w", s.base, err)
	}
	base.dir, base.root = filepath.Join(root, prefix), root
	if base.lacks, err = s.checkOutModules(ctx, repository, top, s.base+"^{tree}", root); err != nil {
		return err
	}
	return s.useWorkspace(ctx, top)
}

// mirrored returns the place of a path below the temporary folder.
func (s *Source) mirrored(path string) string { return filepath.Join(s.folder.Path, path) }

// surround links the neighbours of a folder, and of the folders above it. Files that go may write are copied.
func (s *Source) surround(folder string) error {
	if err := os.MkdirAll(filepath.Dir(s.mirrored(folder)), 0o700); err != nil {
		return err
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		above := filepath.Dir(folder)
		entries, err := os.ReadDir(above)
		if errors.Is(err, fs.ErrPermission) {
			continue // go cannot find anything there either
		}
		if err != nil {
			return err
		}
		for _, entry := range entries {
			at := filepath.Join(above, entry.Name())
			if at == folder {
				continue
			}
			var err error
			if strings.HasPrefix(entry.Name(), "go.") && isFile(at) {
				err = copyFile(at, s.mirrored(at))
			} else {
				err = os.Symlink(at, s.mirrored(at))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	text, err := input.Opener{}.ReadFile(context.Background(), from, input.Document)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// checkOutModules writes the files of a commit's submodules below root, from the repositories that are there: git submodule update
// would fetch them. repository is the folder of the commit's repository, and checkout a work tree of it. lacks says what to do about
// those that cannot be written; "": nothing.
func (s *Source) checkOutModules(ctx context.Context, repository, checkout, commit, root string) (lacks string, err error) {
	tree, err := s.git(ctx, "--git-dir="+repository, "--work-tree="+root, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil {
		return "", err
	}
	for entry := range strings.SplitSeq(strings.TrimRight(tree, "\x00"), "\x00") {
		about, path, _ := strings.Cut(entry, "\t") // mode, type and object, then the path
		fields := strings.Fields(about)
		if len(fields) != 3 || fields[1] != "commit" {
			continue
		}
		of, from, into := fields[2], filepath.Join(repository, "modules", path), filepath.Join(root, path)
		if here := filepath.Join(checkout, path); exists(filepath.Join(here, ".git")) {
			if from, err = s.line(ctx, side{dir: here}, "git", "rev-parse", "--absolute-git-dir"); err != nil {
				return "", err
			}
		}
		if !exists(from) {
			lacks = cmp.Or(lacks, fmt.Sprintf("the submodule %s was never checked out: git submodule update --init --recursive", path))
			continue
		}
		in := side{dir: into, environ: []string{"GIT_INDEX_FILE=" + filepath.Join(s.folder.Path, "index")}}
		git := []string{"git", "--git-dir=" + from, "--work-tree=" + into}
		if _, err := s.call(ctx, in, append(git, "read-tree", of)...); err != nil {
			lacks = cmp.Or(lacks, fmt.Sprintf("the submodule %s has no commit %.12s: fetch it there, or give a folder: --base FOLDER", path, of))
			continue
		}
		if _, err := s.call(ctx, in, append(git, "checkout-index", "--all", "--force")...); err != nil {
			return "", fmt.Errorf("check out the submodule %s: %w", path, err)
		}
		deeper, err := s.checkOutModules(ctx, from, filepath.Join(checkout, path), of, into)
		if err != nil {
			return "", err
		}
		lacks = cmp.Or(lacks, deeper)
	}
	return lacks, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// useWorkspace makes the base use the workspace of the checkout (go.dev/ref/mod, "Workspaces"), unless the revision has its own: with
// the base's folders in place of the checkout's, and without those that the base does not have.
func (s *Source) useWorkspace(ctx context.Context, top string) error {
	work, err := s.line(ctx, side{}, "go", "env", "-json=false", "GOWORK")
	if err != nil || work == "" || work == "off" {
		return err
	}
	base := &s.sides[0]
	at := s.mirrored(work)
	base.environ = append(base.environ, "GOWORK="+at)
	within := func(path string) bool { return path == top || strings.HasPrefix(path, top+string(filepath.Separator)) }
	if within(work) && exists(at) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	for _, ext := range []string{"", ".sum"} {
		_ = os.Remove(at + ext) // it may be a link, and is about to be edited
		if err := copyFile(work+ext, at+ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	text, err := s.call(ctx, side{}, "go", "work", "edit", "-json", at)
	if err != nil {
		return err
	}
	var listed struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(text, &listed); err != nil {
		return fmt.Errorf("read what go work edit prints: %w", err)
	}
	edit := []string{"go", "work", "edit"}
	for _, use := range listed.Use {
		path := use.DiskPath
		switch {
		case !filepath.IsAbs(path):
			path = filepath.Join(filepath.Dir(at), path)
		case within(path):
			path = s.mirrored(path)
			edit = append(edit, "-dropuse="+use.DiskPath)
		}
		switch has := exists(filepath.Join(path, "go.mod")); {
		case !has:
			edit = append(edit, "-dropuse="+use.DiskPath)
		case within(use.DiskPath):
			edit = append(edit, "-use="+path)
		}
	}
	if len(edit) == 3 {
		return nil
	}
	_, err = s.call(ctx, side{}, append(edit, at)...)
	return err
}

// hasModule returns an error if the base has no go.mod: what go says of it is about something else.
func (s *Source) hasModule(ctx context.Context, of side) error {
	if of.name != s.base || s.base == "" {
		return nil
	}
	found, err := s.call(ctx, of, "go", "env", "-json=false", "GOMOD", "GOWORK")
	if err != nil {
		return err
	}
	module, work, _ := strings.Cut(string(found), "\n")
	none, work := module == os.DevNull || module == "", strings.TrimSpace(work)
	why := ""
	switch {
	case !none && (of.root == "" || strings.HasPrefix(module, of.root+string(filepath.Separator))):
		return nil
	case !none:
		why = fmt.Sprintf(": go would use %s, which lies outside the repository", module)
	case work != "" && work != "off":
		return nil
	}
	return hint.With(fmt.Errorf("%s has no go.mod, and cannot be built as the work tree is%s", s.base, why),
		"give a later revision, or a folder with a go.mod: --base FOLDER")
}

// revisions returns the names of the branches and tags of the repository that holds the work tree, for completion.
func revisions() []string {
	out, err := exec.Command("git", "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes").Output()
	if err != nil {
		return nil // there is no repository, or no git
	}
	return append([]string{"HEAD"}, strings.Fields(string(out))...)
}
