package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/tests"
)

// written is a command that writes one output, and the contents.
type written struct {
	args    string // the last one is the flag
	content string
}

// outputs are the files that gorun writes, by their flags.
var outputs = map[string]written{
	"svg":         {"matrix primes --limit 100 --workers 1,2 --samples 1 --warmup 0 --quiet --svg", "</svg>"},
	"export-json": {"primes --limit 100 --samples 1 --warmup 0 --quiet --export-json", `"schema": "gorun/v2"`},
	"textfile":    {"primes --limit 100 --samples 1 --warmup 0 --quiet --metrics-textfile", "\n# TYPE gorun_primes_found_total counter\n"},
	"report":      {"report run.jsonl -o", "</html>"},
	"out":         {"primes --limit 100 --samples 1 --warmup 0 --quiet --out", `"footer":`},
}

// target is a file that an output is to be written to.
type target struct {
	name  string
	root  bool // only root can make it
	each  bool // it is tried with each output, and not only with one that is written at the end and with a journal
	umask int
	make  func(t *testing.T, path string)
	want  string // the observation of an output
	out   string // the observation of a journal, if it is different
}

const device = 1 << 8 // the major number of /dev/null, /dev/full (null(4), full(4))

var targets = []target{
	{name: "new", each: true, want: "exit 0, -rw-r--r-- new file, written"},
	{name: "new, umask 077", umask: 0o77, want: "exit 0, -rw------- new file, written"},
	{
		name: "0600", make: regular(0o600),
		want: "exit 0, -rw------- another file, written", out: "exit 0, -rw------- same file, written",
	},
	{
		name: "0666, umask 077", umask: 0o77, make: regular(0o666),
		want: "exit 0, -rw-rw-rw- another file, written", out: "exit 0, -rw-rw-rw- same file, written",
	},
	{
		name: "0444 of root", root: true, make: regular(0o444),
		want: "exit 0, -r--r--r-- another file, written", out: "exit 0, -r--r--r-- same file, written",
	},
	{name: "0200 of another user", root: true, want: "exit 0, --w------- same file, written", make: owned(0o200)},
	{
		name: "hard link", want: "exit 0, -rw-r--r-- same file, written, 2 links",
		make: func(t *testing.T, path string) {
			regular(0o644)(t, path+".first")
			require.NoError(t, os.Link(path+".first", path))
		},
	},
	{
		name: "symlink", each: true, want: "exit 0, Lrwxrwxrwx same file, written",
		make: func(t *testing.T, path string) {
			regular(0o644)(t, path+".first")
			require.NoError(t, os.Symlink(filepath.Base(path)+".first", path))
		},
	},
	{
		name: "dangling symlink", want: "exit 0, Lrwxrwxrwx same file, written",
		make: func(t *testing.T, path string) { require.NoError(t, os.Symlink(filepath.Base(path)+".missing", path)) },
	},
	{
		name: "FIFO", want: "exit 0, prw-r--r-- same file, written",
		make: func(t *testing.T, path string) { require.NoError(t, syscall.Mkfifo(path, 0o644)) },
	},
	{name: "copy of /dev/null", root: true, make: node(device | 3), want: "exit 0, Dcrw-r--r-- same file, not written"},
	{
		name: "copy of /dev/full", root: true, make: node(device | 7), want: "exit 1, Dcrw-r--r-- same file, not written",
	},
	{
		name: "directory", each: true, want: "exit 2, drwxr-xr-x same file, not written",
		make: func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o755)) },
	},
	{name: "missing directory", want: "exit 2, no file", make: nil},
	{name: "-", want: "exit 0, no file, written"},
}

// earlier is the contents of a file before it is replaced, longer than its new contents.
var earlier = strings.Repeat("earlier\n", 100_000)

// regular makes a file with a mode. A journal's is empty, since that of an earlier run is refused.
func regular(mode fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		text := earlier
		if strings.HasPrefix(filepath.Base(path), "out.") {
			text = ""
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.NoError(t, os.Chmod(path, mode))
	}
}

func owned(mode fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		regular(mode)(t, path)
		require.NoError(t, os.Chown(path, 65534, 65534))
	}
}

func node(number int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o644, number); err != nil {
			t.Skip("needs mknod")
		}
		if file, err := os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			t.Skip("needs a file system with devices")
		} else {
			require.NoError(t, file.Close())
		}
	}
}

// An output replaces a file of the user's with one link. Any other target is written in place.
func TestOutputTargets(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o22))
	dir := t.TempDir()
	t.Chdir(dir)
	out, err := gorunCommand(strings.Fields("primes --limit 100 --samples 1 --quiet --out run.jsonl")...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, to := range targets {
		for flag, output := range outputs {
			if !to.each && flag != "export-json" && flag != "out" {
				continue
			}
			t.Run(to.name+"/"+flag, func(t *testing.T) {
				if to.root {
					tests.Root(t)
				}
				want := to.want
				if flag == "out" && to.out != "" {
					want = to.out
				}
				assert.Equal(t, want, to.observe(t, flag, output))
			})
		}
	}
}

// observe has gorun write an output to the target, and returns its observation.
func (to target) observe(t *testing.T, flag string, output written) string {
	path := flag + "." + strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' || r == ',' {
			return '_'
		}
		return r
	}, to.name) + ".prom"
	switch {
	case to.name == "-":
		path = "-"
	case to.name == "missing directory":
		path = filepath.Join("missing-directory", path)
	case to.make != nil:
		to.make(t, path)
	}
	was, _ := os.Lstat(path)
	var piped chan string
	if was != nil && was.Mode()&fs.ModeNamedPipe != 0 {
		piped = make(chan string, 1)
		go func() {
			text, _ := os.ReadFile(path)
			piped <- string(text)
		}()
	}

	cmd := gorunCommand(append(strings.Fields(output.args), path)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	umask := syscall.Umask(0o22 | to.umask)
	err := cmd.Start()
	syscall.Umask(umask)
	require.NoError(t, err)
	err = cmd.Wait()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	code := cmd.ProcessState.ExitCode()
	if code == 2 {
		require.Empty(t, stdout.String(), "nothing has been measured")
	}
	if code != 0 {
		require.Regexp(t, `^gorun: error: (cannot write )?--[a-z-]+ `+path, stderr.String())
	}

	seen := []string{fmt.Sprintf("exit %d", code)}
	now, err := os.Lstat(path)
	switch {
	case err != nil:
		seen = append(seen, "no file")
	case was == nil:
		seen = append(seen, now.Mode().String()+" new file")
	case os.SameFile(was, now):
		seen = append(seen, now.Mode().String()+" same file")
	default:
		seen = append(seen, now.Mode().String()+" another file")
	}
	text := stdout.String()
	if path != "-" && piped == nil {
		text = ""
		if now != nil && now.Mode()&fs.ModeDevice == 0 {
			content, _ := os.ReadFile(path)
			text = string(content)
		}
	} else if piped != nil {
		text = <-piped
	}
	switch {
	case strings.Contains(text, output.content) && !strings.Contains(text, "earlier"):
		seen = append(seen, "written")
	case now != nil || path == "-":
		seen = append(seen, "not written")
	}
	if now != nil {
		if stat := now.Sys().(*syscall.Stat_t); stat.Nlink > 1 && now.Mode().IsRegular() {
			seen = append(seen, fmt.Sprintf("%d links", stat.Nlink))
		}
		if was != nil {
			require.Equal(t, was.Sys().(*syscall.Stat_t).Uid, now.Sys().(*syscall.Stat_t).Uid)
		}
	}
	left, err := filepath.Glob(".*")
	require.NoError(t, err)
	require.Empty(t, left, "nothing of what was tried is left")
	return strings.Join(seen, ", ")
}

// A file that the user may not write is neither written nor replaced.
func TestOutputMayNotBeWritten(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user")
	}
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("protected.prom", []byte("before"), 0o444))
	for flag, output := range outputs {
		var stderr bytes.Buffer
		cmd := gorunCommand(append(strings.Fields(output.args), "protected.prom")...)
		cmd.Stderr = &stderr
		require.Error(t, cmd.Run())
		require.Equal(t, 2, cmd.ProcessState.ExitCode(), flag)
		require.Contains(t, stderr.String(), " protected.prom: permission denied")
		text, err := os.ReadFile("protected.prom")
		require.NoError(t, err)
		require.Equal(t, "before", string(text))
	}
}

// gorun prints that it waits for a reader of a FIFO, and waits until a signal ends it.
func TestFIFOWithoutReader(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, syscall.Mkfifo("fifo", 0o644))
	commands := map[string]string{"exec": "exec --out fifo -- true"}
	for flag, output := range outputs {
		commands[flag] = output.args + " fifo"
	}
	for name, command := range commands {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			if signal != syscall.SIGINT && name != "exec" {
				continue
			}
			t.Run(name+" "+signal.String(), func(t *testing.T) {
				cmd := gorunCommand(strings.Fields(command)...)
				stderr, err := cmd.StderrPipe()
				require.NoError(t, err)
				require.NoError(t, cmd.Start())
				t.Cleanup(func() { _ = cmd.Process.Kill() }) // if it has not ended
				line, err := bufio.NewReader(stderr).ReadString('\n')
				require.NoError(t, err)
				require.Regexp(t, `^gorun: --[a-z-]+ fifo is a FIFO: waiting for its reader\n`, line)
				require.NoError(t, cmd.Process.Signal(signal))
				over := make(chan error, 1)
				go func() { over <- cmd.Wait() }()
				require.Error(t, tests.Receive(t, "end", over))
				require.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode())
			})
		}
	}
}
