package gobench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gorun/internal/base/hint"
	"gorun/internal/guard/checkout"
)

// useWorkspace makes the base use the workspace of the checkout (go.dev/ref/mod, "Workspaces"), unless the revision has its own: with
// the base's folders in place of the checkout's, and without those that the base does not have.
func (s *Source) useWorkspace(ctx context.Context, tree checkout.Tree) error {
	work, err := s.line(ctx, side{}, "go", "env", "-json=false", "GOWORK")
	if err != nil || work == "" || work == "off" {
		return err
	}
	base := &s.sides[0]
	at := tree.Mirror(work)
	base.environ = append(base.environ, "GOWORK="+at)
	within := func(path string) bool {
		return path == tree.Top || strings.HasPrefix(path, tree.Top+string(filepath.Separator))
	}
	if within(work) && checkout.Exists(at) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	for _, ext := range []string{"", ".sum"} {
		_ = os.Remove(at + ext) // it may be a link, and is about to be edited
		if err := checkout.CopyFile(work+ext, at+ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
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
			path = tree.Mirror(path)
			edit = append(edit, "-dropuse="+use.DiskPath)
		}
		switch has := checkout.Exists(filepath.Join(path, "go.mod")); {
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
