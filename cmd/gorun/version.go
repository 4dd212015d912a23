package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"gorun/csrc"
	"gorun/internal/record/result"
)

// version is the release, and revision the commit of its source. The linker sets them in a release (internal/dev/dist).
var version, revision = "0.1.0-dev", ""

// tool returns the name, version, commit and compilers of this program. The commit is from the record of the build if the linker
// has not set it.
var tool = sync.OnceValue(func() result.Tool {
	t := result.Tool{Name: "gorun", Version: version, Commit: revision, Go: runtime.Version(), C: csrc.Compiler()}
	info, ok := debug.ReadBuildInfo()
	if !ok || revision != "" {
		return t
	}
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			t.Commit = setting.Value + t.Commit
		case setting.Key == "vcs.modified" && setting.Value == "true":
			t.Commit += "+modified"
		}
	}
	return t
})

// versionText returns the version, the commit, the Go release and the C compiler, each on its own line.
func versionText() string {
	t := tool()
	return fmt.Sprintf("gorun %s\ncommit %s\n%s %s/%s\n%s\n", t.Version, cmp.Or(t.Commit, "unknown"), t.Go, runtime.GOOS, runtime.GOARCH, t.C)
}

func newVersion(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, and the compilers it was built with",
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(e.Stdout, versionText())
			return err
		},
	}
}
