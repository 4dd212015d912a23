// Package checkout writes revisions of a git repository into worktrees of a temporary folder, and runs what builds them there. The
// user's work tree, index and HEAD stay as they are. The guardian removes the worktrees, also when gorun is killed.
package checkout

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
	"gorun/internal/guard/guardian"
	"gorun/internal/start/launch"
)

// Folder is a temporary folder for revisions of the repository in which gorun was started, and for what is built of them. Without Make
// it only asks git.
type Folder struct {
	Path string // "": it was not made

	self       launch.Self
	environ    []string
	made       *guardian.Folder
	repository string // $GIT_COMMON_DIR; "": there are no worktrees
}

// In returns a folder whose programs have these variables.
func In(self launch.Self, environ []string) *Folder {
	return &Folder{self: self.In(environ), environ: environ}
}

// Make makes the folder below a directory. worktrees: it may have some.
func (f *Folder) Make(ctx context.Context, below, name string, worktrees bool) (err error) {
	if worktrees {
		if f.repository, err = f.Git(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir"); err != nil {
			return err
		}
	}
	if below, err = filepath.EvalSymlinks(below); err != nil { // as git writes it
		return err
	}
	if f.made, err = guardian.New(f.self).MakeFolder(below, name, f.repository); err != nil {
		return err
	}
	f.Path = f.made.Path
	return nil
}

// Remove removes the folder, with what git knows of its worktrees. Without Make it does nothing.
func (f *Folder) Remove() error {
	if f.made == nil {
		return nil
	}
	return f.made.Remove()
}

// Place is where a program runs.
type Place struct {
	Dir     string   // "": the working directory
	Environ []string // variables in addition to the folder's
}

// Git returns what a command of git prints, without the end of the line.
func (f *Folder) Git(ctx context.Context, args ...string) (string, error) {
	return f.Line(ctx, Place{}, append([]string{"git"}, args...)...)
}

// Line returns what a program prints, without the end of the line.
func (f *Folder) Line(ctx context.Context, in Place, argv ...string) (string, error) {
	out, err := f.Call(ctx, in, argv...)
	return strings.TrimSpace(string(out)), err
}

// Shell runs a command by sh -c. The error has the end of what it wrote to stderr.
func (f *Folder) Shell(ctx context.Context, in Place, command string) error {
	o, err := f.run(ctx, in, "/bin/sh", "-c", command)
	if err == nil && o.ExitCode != 0 {
		err = errors.New(cmp.Or(launch.EndOf(o.Stderr), exited(o)))
	}
	return err
}

func exited(o launch.Outcome) string { return fmt.Sprintf("exit code %d", o.ExitCode) }

// Call runs a program, and returns what it writes to stdout. The error has what it wrote to stderr.
func (f *Folder) Call(ctx context.Context, in Place, argv ...string) ([]byte, error) {
	o, err := f.run(ctx, in, argv...)
	switch {
	case err != nil:
		return nil, err
	case o.ExitCode != 0:
		return nil, fmt.Errorf("%s: %s", strings.Join(argv[:min(2, len(argv))], " "), cmp.Or(tail(bytes.TrimSpace(o.Stderr)), exited(o)))
	}
	return o.Stdout, nil
}

// run runs a program. In a hook of git, $GIT_INDEX_FILE is the user's index (githooks(5)), into which git worktree would write the revision, and
// $GIT_DIR is no repository of another folder. Temporary files are in the folder that the guardian removes.
func (f *Folder) run(ctx context.Context, in Place, argv ...string) (launch.Outcome, error) {
	temporary := []string{"GOTMPDIR", "TMPDIR"} // go's own, and those of the compilers that it runs
	environ := slices.DeleteFunc(slices.Clone(f.environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "GIT_INDEX_FILE" || in.Dir != "" && (name == "GIT_DIR" || name == "GIT_WORK_TREE") ||
			f.Path != "" && slices.Contains(temporary, name)
	})
	environ = append(environ, in.Environ...)
	if f.Path != "" {
		for _, name := range temporary {
			environ = append(environ, name+"="+f.Path)
		}
	}
	return launch.Run(ctx, launch.Group{
		Self: f.self.In(environ), Members: []launch.Member{{Argv: argv}}, Dir: in.Dir, Keep: 64 << 20,
	})
}

// keptText is how much of an output is in an error, in bytes.
const keptText = 3000

// tail returns the end of an output.
func tail(output []byte) string {
	text := strings.ToValidUTF8(string(output[max(0, len(output)-keptText):]), "�")
	return strings.ReplaceAll(text, "\t", "    ")
}

// Find returns the commit of a revision; "": git knows none.
func (f *Folder) Find(ctx context.Context, revision string) (commit string, err error) {
	commit, err = f.Git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", ctx.Err()
	}
	return commit, nil
}

// Unknown returns the error of a text that names no revision, with the cause if git has none of the older revisions, or cannot look. flag
// is the one that has the text.
func (f *Folder) Unknown(ctx context.Context, flag, what string) error {
	way := "git log --oneline lists revisions"
	shallow, err := f.Git(ctx, "rev-parse", "--is-shallow-repository")
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case shallow == "true":
		way = "this clone is shallow: git fetch --unshallow gets its older revisions; git fetch origin BRANCH and --" + flag + " FETCH_HEAD, another branch"
	}
	return hint.With(errors.New(what), way)
}

// Revisions returns the names of the branches and tags of the repository that holds the work tree, for completion.
func Revisions() []string {
	out, err := exec.Command("git", "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes").Output()
	if err != nil {
		return nil // there is no repository, or no git
	}
	return append([]string{"HEAD"}, strings.Fields(string(out))...)
}

// Tree is the worktree of a revision.
type Tree struct {
	Root string
	Dir  string // what the working directory is in the user's work tree

	// Top is the root of the user's work tree, and At the folder below which the files of the user have their places (see Mirror).
	Top, At string
	Lacks   string // what to do if it does not build, because a submodule is lacking; "": none is
}

// Mirror returns the place of one of the user's paths next to the worktree.
func (t Tree) Mirror(path string) string { return filepath.Join(t.At, path) }

// Add makes a worktree of a revision. The worktree lies below the folder at, which is the Folder or below it, where the user's work tree
// lies below the root, between links to what surrounds that, so that relative paths which leave it lead to the same place: a replacement of go.mod, a use of
// go.work, an include of cgo, a file that a benchmark reads.
func (f *Folder) Add(ctx context.Context, revision, at string) (t Tree, err error) {
	t.At = at
	if t.Top, err = f.Git(ctx, "rev-parse", "--show-toplevel"); err != nil {
		return t, err
	}
	prefix, err := f.Git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return t, err
	}
	if err := t.surround(); err != nil {
		return t, err
	}
	t.Root = t.Mirror(t.Top)
	if _, err := f.Git(ctx, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", t.Root, revision); err != nil {
		return t, fmt.Errorf("check out %s: %w", revision, err)
	}
	t.Dir = filepath.Join(t.Root, prefix)
	t.Lacks, err = f.addModules(ctx, f.repository, t.Top, revision+"^{tree}", t.Root)
	return t, err
}

// surround links the neighbours of the user's work tree, and of the folders above it. Files that go may write are copied.
func (t Tree) surround() error {
	folder := t.Top
	if err := os.MkdirAll(filepath.Dir(t.Mirror(folder)), 0o700); err != nil {
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
			if strings.HasPrefix(entry.Name(), "go.") && IsFile(at) {
				err = CopyFile(at, t.Mirror(at))
			} else {
				err = os.Symlink(at, t.Mirror(at))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// IsFile reports whether a path leads to a regular file.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// CopyFile copies a text, such as a go.mod, with which go would write into the user's own.
func CopyFile(from, to string) error {
	text, err := input.Opener{}.ReadFile(context.Background(), from, input.Document)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}

// addModules writes the files of a commit's submodules below root, from the repositories that are there: git submodule update
// would fetch them. repository is the folder of the commit's repository, and checkout a work tree of it. lacks says what to do about
// those that cannot be written; "": nothing.
func (f *Folder) addModules(ctx context.Context, repository, checkout, commit, root string) (lacks string, err error) {
	tree, err := f.Git(ctx, "--git-dir="+repository, "--work-tree="+root, "ls-tree", "-r", "-z", "--full-tree", commit)
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
		if here := filepath.Join(checkout, path); Exists(filepath.Join(here, ".git")) {
			if from, err = f.Line(ctx, Place{Dir: here}, "git", "rev-parse", "--absolute-git-dir"); err != nil {
				return "", err
			}
		}
		if !Exists(from) {
			lacks = cmp.Or(lacks, fmt.Sprintf("the submodule %s was never checked out: git submodule update --init --recursive", path))
			continue
		}
		in := Place{Dir: into, Environ: []string{"GIT_INDEX_FILE=" + filepath.Join(f.Path, "index")}}
		git := []string{"git", "--git-dir=" + from, "--work-tree=" + into}
		if _, err := f.Call(ctx, in, append(git, "read-tree", of)...); err != nil {
			lacks = cmp.Or(lacks, fmt.Sprintf("the submodule %s has no commit %.12s: fetch it there", path, of))
			continue
		}
		if _, err := f.Call(ctx, in, append(git, "checkout-index", "--all", "--force")...); err != nil {
			return "", fmt.Errorf("check out the submodule %s: %w", path, err)
		}
		deeper, err := f.addModules(ctx, from, filepath.Join(checkout, path), of, into)
		if err != nil {
			return "", err
		}
		lacks = cmp.Or(lacks, deeper)
	}
	return lacks, nil
}

// Exists reports whether there is something at a path, even if it is a link that leads nowhere.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
