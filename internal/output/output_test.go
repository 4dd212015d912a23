package output

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/hint"
	"gorun/internal/tests"
)

// How each kind of target is written is tested with the whole program (cmd/gorun, TestOutputTargets).

func open(t *testing.T, path string) *File {
	t.Helper()
	f, err := Opener{Stderr: io.Discard}.Open(t.Context(), Named{"svg", path})
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// A file can be written again with less content, and is not changed if making the content fails. Opening it changes
// nothing.
func TestWriteAgain(t *testing.T) {
	for name, path := range map[string]func(dir string) string{
		"replaced": func(dir string) string { return filepath.Join(dir, "f") },
		"in place": func(dir string) string {
			require.NoError(t, os.Symlink("f", filepath.Join(dir, "link")))
			return filepath.Join(dir, "link")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := path(dir)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("what was there"), 0o600))
			f := open(t, path)
			assert.Equal(t, "what was there", content(t, path))
			require.NoError(t, f.Write(text("longer than that, by far")))
			require.NoError(t, f.Write(text("short")))
			assert.Equal(t, "short", content(t, path))
			broken := errors.New("broken")
			require.ErrorIs(t, f.Write(func(w io.Writer) error { return errors.Join(text("half")(w), broken) }), broken)
			assert.Equal(t, "short", content(t, path))
		})
	}
}

// A file in a directory that is not writable is written in place.
func TestDirectoryTakesNoFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs an ordinary user")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("what was there"), 0o600))
	require.NoError(t, os.Chmod(dir, 0o555))
	defer func() { require.NoError(t, os.Chmod(dir, 0o755)) }()
	require.NoError(t, open(t, path).Write(text("new")))
	assert.Equal(t, "new", content(t, path))
	_, err := Opener{}.Open(t.Context(), Named{"svg", filepath.Join(dir, "g")})
	require.ErrorIs(t, err, os.ErrPermission)
}

// A file whose group a new file would not have is written in place, so that it keeps its group.
func TestGroupIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	if os.Chown(path, -1, 12345) != nil {
		t.Skip("needs root")
	}
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, open(t, path).Write(text("new")))
	after, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	assert.Equal(t, "new", content(t, path))
}

// A file that cannot be opened is a usage error that names the flag.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	require.NoError(t, os.Symlink("loop", filepath.Join(dir, "loop")))
	for name, want := range map[string]error{
		"": syscall.EISDIR, "none/f": syscall.ENOENT, "file/f": syscall.ENOTDIR, "loop": syscall.ELOOP,
		strings.Repeat("x", 300): syscall.ENAMETOOLONG,
	} {
		named := Named{"svg", dir + "/" + name}
		_, err := Opener{}.Open(t.Context(), named)
		require.ErrorIs(t, err, want)
		require.EqualError(t, err, named.String()+": "+want.Error())
		assert.True(t, hint.IsUsage(err))
		assert.NotEmpty(t, hint.Of(err))
		_, err = Opener{}.Append(t.Context(), named)
		require.ErrorIs(t, err, want)
	}
}

// Different names of the same file are detected, also if the file does not exist yet.
func TestSame(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("dir", 0o755))
	require.NoError(t, os.Symlink("dir", "dir2"))
	require.NoError(t, os.Symlink("dir2/../dir2/new", "dangling"))
	require.NoError(t, os.WriteFile("file", nil, 0o600))
	require.NoError(t, os.Link("file", "hard"))
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"x", "x", true},
		{"x", "dir/../x", true},
		{"dir/x", "dir2/x", true},
		{"dir/new", "dangling", true},
		{"dangling", "dangling", true},
		{"file", "hard", true},
		{"-", "-", true},
		{"x", "y", false},
		{"x", "dir/x", false},
		{"dir", "dir/x", false},
		{"none/x", "none/x", false}, // neither can be opened
		{os.DevNull, os.DevNull, false},
		{"-", "x", false},
	} {
		assert.Equal(t, c.same, Opener{}.Same(Named{"a", c.a}, Named{"b", c.b}), "%s %s", c.a, c.b)
	}
}

// A FIFO is waited for: until it has a reader, or ctx ends.
func TestFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 5*pollEvery)
		defer cancel()
		_, err := Opener{Stderr: &said}.Append(ctx, Named{"out", path})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, "gorun: --out "+path+" is a FIFO: waiting for its reader\n", said.String(), "once")
	})

	read := make(chan string)
	go func() {
		b, _ := os.ReadFile(path)
		read <- string(b)
	}()
	f := open(t, path)
	require.NoError(t, f.Write(text("one ")))
	require.NoError(t, f.Write(text("two")))
	require.NoError(t, f.Close())
	assert.Equal(t, "one two", tests.Receive(t, "text of the FIFO", read))
}

// A reader that does not read does not prevent a run from ending.
func TestStalledReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	ctx, cancel := context.WithCancel(t.Context())
	f, err := Opener{patience: time.Millisecond}.Open(ctx, Named{"svg", path})
	require.NoError(t, err)
	defer f.Close()
	ended := make(chan error)
	go func() { ended <- f.Write(text(strings.Repeat("x", 1<<22))) }()
	cancel()
	require.ErrorIs(t, tests.Receive(t, "end of the write", ended), os.ErrDeadlineExceeded)
}

// Stdout keeps its first error, and writes nothing after it.
func TestStdout(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	out := &Stdout{file: w}
	require.NoError(t, Check(out))
	_, err = io.WriteString(out, "x")
	require.NoError(t, err)
	require.NoError(t, out.Err())

	again, err := out.dup()
	require.NoError(t, err)
	require.NoError(t, again.Close())
	_, err = io.WriteString(out, "y")
	require.NoError(t, err, "the other descriptor is closed alone")

	require.NoError(t, r.Close())
	_, err = io.WriteString(out, "z")
	require.ErrorIs(t, err, ErrNoReader)
	require.ErrorIs(t, out.Err(), ErrNoReader)
	require.ErrorIs(t, Check(out), ErrNoReader)
	_, err = out.dup()
	require.ErrorIs(t, err, ErrNoReader)
	require.NoError(t, w.Close())

	if full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0); err == nil {
		out := &Stdout{file: full}
		require.EqualError(t, Check(out), "cannot write to stdout: no space left on device")
		require.NoError(t, full.Close())
	}
}

// A path that leads to stdout is stdout.
func TestPathOfStdout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	file, err := os.Create(path)
	require.NoError(t, err)
	defer file.Close()
	o := Opener{Stdout: &Stdout{file: file}}
	assert.True(t, o.IsStdout(Named{"svg", path}))
	assert.True(t, o.IsStdout(Named{"svg", "-"}))
	assert.False(t, o.IsStdout(Named{"svg", path + "2"}))
	picture, err := o.Open(t.Context(), Named{"svg", path})
	require.NoError(t, err)
	journal, err := o.Append(t.Context(), Named{"out", path})
	require.NoError(t, err)
	require.NoError(t, picture.Write(text("1 ")))
	_, err = journal.WriteString("2 ")
	require.NoError(t, err)
	require.NoError(t, picture.Write(text("3")))
	require.NoError(t, errors.Join(picture.Close(), journal.Close()))
	assert.Equal(t, "1 2 3", content(t, path), "one after another")
	require.Error(t, o.Distinct(Named{"svg", path}, Named{"out", "-"}))
}
