package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"gorun/internal/child"
	"gorun/internal/result"
)

// odd is the file system of this machine, with other contents of some files.
type odd struct {
	fs.FS
	content map[string]string
}

// ReadFile implements fs.ReadFileFS.
func (o odd) ReadFile(name string) ([]byte, error) {
	if content, ok := o.content[name]; ok {
		return []byte(content), nil
	}
	return fs.ReadFile(o.FS, name)
}

// A run goes on if kernel files are malformed, and its result names them: files of the machine and of its limits.
func TestRunOnAnOddMachine(t *testing.T) {
	var out, errs strings.Builder
	e := env{
		Root: odd{os.DirFS("/"), map[string]string{
			"sys/devices/system/cpu/isolated": "some\n", "proc/loadavg": "low\n",
		}},
		Stdout: &out, Stderr: &errs, Now: time.Now, Environ: os.Environ, Tool: tool(), Views: rows,
		Self: child.Self{Path: "/proc/self/exe", Argv: []string{"gorun"}},
	}
	for _, command := range []string{
		"primes --limit 2000 --workers 2 --lock-thread --samples 1 --warmup 0",
		"matrix primes --limit 2000 --workers 1,2 --lock-thread --samples 2 --warmup 0",
	} {
		out.Reset()
		require.Zero(t, execute(append(strings.Fields(command), "--format", "json"), e), errs.String())
		var run result.Run
		require.NoError(t, json.Unmarshal([]byte(out.String()), &run))
		messages := map[string]string{}
		for _, w := range run.Warnings {
			messages[w.Code] += w.Message + "\n"
		}
		require.Contains(t, messages["odd-machine"], "sys/devices/system/cpu/isolated: malformed", command)
		require.Contains(t, messages["unknown-limit"], "proc/loadavg: malformed", command)
		require.Equal(t, 1, strings.Count(messages["unknown-limit"], "\n"), "once, however many cells there are")
	}
}
