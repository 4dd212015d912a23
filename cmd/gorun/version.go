package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"gorun/internal/result"
)

// version is the release; the linker may set it (-X main.version=…).
var version = "0.1.0-dev"

// tool returns the name, version and commit of this program. The commit is from the record of the build.
var tool = sync.OnceValue(func() result.Tool {
	t := result.Tool{Name: "gorun", Version: version, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
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

// versionText returns the version, the commit and the Go release, each on its own line.
func versionText() string {
	t := tool()
	return fmt.Sprintf("gorun %s\ncommit %s\n%s %s/%s\n", t.Version, cmp.Or(t.Commit, "unknown"), t.Go, runtime.GOOS, runtime.GOARCH)
}

func newVersion(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the Go release it was built with",
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(e.Stdout, versionText())
			return err
		},
	}
}
