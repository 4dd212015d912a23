package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
)

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
	b := tests.Read(t, path)
	return string(b)
}

// target is a file that an output is to be written to.
type target struct {
	name      string
	root      bool // only root can make it
	umask     int
	make      func(t *testing.T, path string)
	want, out string // what comes of an output, and of a journal if it is different
}

const device = 1 << 8 // the major number of /dev/null, /dev/full (null(4), full(4))

var targets = []target{
	{name: "new", want: "-rw-r--r-- new file, written"},
	{name: "new, umask 077", umask: 0o77, want: "-rw------- new file, written"},
	{name: "0600", make: regular(0o600), want: "-rw------- another file, written", out: "-rw------- same file, written"},
	{
		name: "0666, umask 077", umask: 0o77, make: regular(0o666),
		want: "-rw-rw-rw- another file, written", out: "-rw-rw-rw- same file, written",
	},
	{
		name: "0444 of root", root: true, make: regular(0o444),
		want: "-r--r--r-- another file, written", out: "-r--r--r-- same file, written",
	},
	{name: "0200 of another user", root: true, make: owned(65534, 65534), want: "--w------- same file, written"},
	{name: "of a group that a new file would not have", root: true, make: owned(-1, 12345), want: "--w------- same file, written"},
	{name: "hard link", make: linked(os.Link), want: "-rw-r--r-- same file, written, 2 links"},
	{name: "symlink", make: linked(os.Symlink), want: "Lrwxrwxrwx same file, written"},
	{
		name: "dangling symlink", want: "Lrwxrwxrwx same file, written",
		make: func(t *testing.T, path string) { require.NoError(t, os.Symlink(path+".missing", path)) },
	},
	{name: "copy of /dev/null", root: true, make: node(device | 3), want: "Dcrw-r--r-- same file, not written"},
	{
		name: "copy of /dev/full", root: true, make: node(device | 7),
		want: "Dcrw-r--r-- same file, not written, no space left on device",
	},
	{
		name: "directory", want: "drwxr-xr-x same file, not written, refused: is a directory",
		make: func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o755)) },
	},
}

// regular makes a file with a mode, whose contents are longer than its new ones. A journal is appended to.
func regular(mode fs.FileMode) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		before := strings.Repeat("earlier\n", 100)
		if strings.HasSuffix(path, "out") {
			before = ""
		}
		require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
		require.NoError(t, os.Chmod(path, mode))
	}
}

func owned(user, group int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		regular(0o200)(t, path)
		require.NoError(t, os.Chown(path, user, group))
	}
}

// linked makes a file, and a link to it.
func linked(link func(from, to string) error) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		first := path + ".first." + filepath.Base(path)
		regular(0o644)(t, first)
		require.NoError(t, link(first, path))
	}
}

func node(number int) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o644, number); err != nil {
			t.Skip("needs mknod")
		}
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Skip("needs a file system with devices")
		}
		require.NoError(t, file.Close())
	}
}

// Each kind of target is written in its way, and has the mode that it should have.
func TestTargets(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o22))
	for _, to := range targets {
		for name, write := range map[string]func(path string) error{
			"svg": func(path string) error {
				f, err := Opener{}.Open(t.Context(), Named{"svg", path})
				if err != nil {
					return err
				}
				return errors.Join(f.Write(text("new")), f.Close())
			},
			"out": func(path string) error {
				f, err := Opener{}.Append(t.Context(), Named{"out", path})
				if err != nil {
					return err
				}
				_, err = f.WriteString("new")
				return errors.Join(err, f.Close())
			},
		} {
			t.Run(to.name+"/"+name, func(t *testing.T) {
				if to.root {
					tests.Root(t)
				}
				want := to.want
				if name == "out" {
					want = cmp.Or(to.out, to.want)
				}
				assert.Equal(t, want, to.observe(t, name, write))
			})
		}
	}
}

// observe writes an output to the target, and returns what came of it.
func (to target) observe(t *testing.T, name string, write func(path string) error) string {
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if to.make != nil {
		to.make(t, path)
	}
	was, _ := os.Lstat(path)
	syscall.Umask(0o22 | to.umask)
	err := write(path)
	syscall.Umask(0o22)
	now, statErr := os.Lstat(path)
	require.NoError(t, statErr)
	seen := now.Mode().String()
	stat := now.Sys().(*syscall.Stat_t)
	switch {
	case was == nil:
		seen += " new file"
	case os.SameFile(was, now):
		seen += " same file"
	default:
		seen += " another file"
	}
	if was != nil {
		before := was.Sys().(*syscall.Stat_t)
		require.Equal(t, [2]uint32{before.Uid, before.Gid}, [2]uint32{stat.Uid, stat.Gid})
	}
	written := ""
	if now.Mode()&(fs.ModeDevice|fs.ModeDir) == 0 {
		written = content(t, path)
	}
	seen += map[bool]string{true: ", written", false: ", not written"}[written == "new"]
	if stat.Nlink > 1 && now.Mode()&fs.ModeDir == 0 {
		seen += fmt.Sprintf(", %d links", stat.Nlink)
	}
	if hint.IsUsage(err) {
		seen += ", refused"
	}
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		seen += map[bool]string{true: ": ", false: ", "}[hint.IsUsage(err)] + errno.Error()
	}
	left := tests.Glob(t, filepath.Join(dir, ".*"))
	require.Empty(t, left, "nothing of what was tried is left")
	return seen
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
	out := newStdout(w)
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
		out := newStdout(full)
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
	o := Opener{Stdout: newStdout(file)}
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

// opening are the ways to open a file that is written in place.
var opening = map[string]func(ctx context.Context, path string) (io.Closer, error){
	"Open": func(ctx context.Context, path string) (io.Closer, error) {
		return Opener{}.Open(ctx, Named{"svg", path})
	},
	"Append": func(ctx context.Context, path string) (io.Closer, error) {
		return Opener{}.Append(ctx, Named{"out", path})
	},
	"Handed": func(ctx context.Context, path string) (io.Closer, error) {
		return Opener{}.Handed(ctx, Named{"output", path})
	},
	"Extend": func(_ context.Context, path string) (io.Closer, error) { return Named{"out", path}.Extend() },
}

// What another user has put into a directory like /tmp is not written into, not even by root; what the owner of that directory has
// put there is.
func TestPlanted(t *testing.T) {
	tests.Root(t)
	const other = 65534
	dir, away := t.TempDir(), filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.Chmod(dir, os.ModeSticky|0o777))
	regular(0o600)(t, away)
	file, link, loose := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "loose")
	regular(0o666)(t, file)
	require.NoError(t, os.Symlink(away, link))
	require.NoError(t, os.Symlink(away+".none", loose))
	mine := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.Symlink(file, mine))
	for _, path := range []string{file, link, loose} {
		require.NoError(t, os.Lchown(path, other, other))
	}
	for name, open := range opening {
		for _, path := range []string{file, link, loose, mine} {
			_, err := open(t.Context(), path)
			require.Error(t, err, name)
			if !errors.Is(err, os.ErrPermission) { // the kernel's own rule for links (fs.protected_symlinks)
				require.ErrorContains(t, err, "belongs to another user, in a directory where everyone may make files", name)
				require.Equal(t, "name a file in a directory of your own", hint.Of(err))
			}
		}
	}
	require.NoFileExists(t, away+".none")
	require.NoError(t, os.Lchown(dir, other, other))
	for name, open := range opening {
		file, err := open(t.Context(), file)
		require.NoError(t, err, name)
		require.NoError(t, file.Close())
	}
}

// Only a regular file is extended, and nothing is waited for.
func TestExtend(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file or directory", dir: "is a directory", os.DevNull: "is not a regular file",
		fifo: "is not a regular file",
	} {
		_, err := Named{"out", path}.Extend()
		require.ErrorContains(t, err, want)
	}
	path := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(path, []byte("one"), 0o600))
	file, err := Named{"out", path}.Extend()
	require.NoError(t, err)
	read, err := io.ReadAll(file)
	require.NoError(t, err)
	assert.Equal(t, "one", string(read))
	_, err = file.WriteString(" two")
	require.NoError(t, errors.Join(err, file.Close()))
	assert.Equal(t, "one two", content(t, path))
}

// A command gets a file as it expects it: a FIFO has a reader, and blocks.
func TestHanded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Opener{}.Handed(ctx, Named{"output", path})
	require.ErrorIs(t, err, context.Canceled)
	reader, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	for _, path := range []string{path, filepath.Join(t.TempDir(), "new"), os.DevNull} {
		file, err := Opener{}.Handed(t.Context(), Named{"output", path})
		require.NoError(t, err)
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, file.Fd(), syscall.F_GETFL, 0)
		require.Zero(t, errno)
		assert.Zero(t, flags&(syscall.O_NONBLOCK|syscall.O_APPEND), path)
		require.NoError(t, file.Close())
	}
}

// What is written acts on no terminal, wherever it goes.
func TestEscaped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, open(t, path).Write(text("\x1b]0;\u009b\u202e\n")))
	const safe = `\u001b]0;\u009b\u202e` + "\n"
	assert.Equal(t, safe, content(t, path))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = io.WriteString(newStdout(w), "\x1b]0;\u009b\u202e\n")
	require.NoError(t, errors.Join(err, w.Close()))
	got, err := io.ReadAll(r)
	require.NoError(t, errors.Join(err, r.Close()))
	assert.Equal(t, safe, string(got))
}
