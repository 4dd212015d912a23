package input

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
)

// fifo makes a FIFO.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

// writer opens a FIFO that has a reader.
func writer(t *testing.T, path string) *os.File {
	t.Helper()
	var file *os.File
	tests.Await(t, "reader of the FIFO", func() bool {
		var err error
		file, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	return file
}

// said collects messages, and returns them.
type said chan string

func (s said) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

type outcome struct {
	text string
	err  error
}

// read reads a file in another goroutine.
func read(ctx context.Context, o Opener, path string, most int64) chan outcome {
	got := make(chan outcome, 1)
	go func() {
		text, err := o.ReadFile(ctx, path, most)
		got <- outcome{string(text), err}
	}()
	return got
}

// A pipe that the user named is read until its first writer closes it. One message says that gorun waits.
func TestPipe(t *testing.T) {
	for _, text := range []string{"what it has", ""} {
		path, waits := fifo(t), make(said, 10)
		got := read(t.Context(), Opener{Named: waits}, path, List)
		assert.Equal(t, "gorun: "+path+" is a pipe: waiting for its writer\n", tests.Receive(t, "message", waits))
		w := writer(t, path)
		_, err := io.WriteString(w, text)
		require.NoError(t, errors.Join(err, w.Close()))
		assert.Equal(t, outcome{text, nil}, tests.Receive(t, "text of the pipe", got))
		assert.Empty(t, waits)
	}
}

// The end of the context ends the wait for a writer, and for what an idle writer writes.
func TestEnd(t *testing.T) {
	t.Run("no writer", func(t *testing.T) {
		path, waits := fifo(t), make(said, 10)
		ctx, cancel := context.WithCancel(t.Context())
		got := read(ctx, Opener{Named: waits}, path, List)
		tests.Receive(t, "message", waits)
		cancel()
		require.ErrorIs(t, tests.Receive(t, "end", got).err, context.Canceled)
	})
	t.Run("idle writer", func(t *testing.T) {
		path := fifo(t)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan error, 1)
		some := make(chan string, 1)
		go func() {
			file, err := Opener{Named: io.Discard}.Open(ctx, path, List)
			if err != nil {
				got <- err
				return
			}
			defer file.Close()
			part := make([]byte, 10)
			n, _ := file.Read(part)
			some <- string(part[:n])
			_, err = file.Read(part)
			got <- err
		}()
		w := writer(t, path)
		defer w.Close()
		_, err := io.WriteString(w, "some")
		require.NoError(t, err)
		assert.Equal(t, "some", tests.Receive(t, "what was written", some))
		cancel()
		require.ErrorIs(t, tests.Receive(t, "end", got), context.Canceled)
	})
	t.Run("idle stdin", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		defer r.Close()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		got := read(ctx, Opener{Stdin: r}, "-", List)
		cancel()
		require.ErrorIs(t, tests.Receive(t, "end", got).err, context.Canceled)
	})
}

// What is no regular file is refused without being opened; a pipe, if nobody named it.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(dir, "link")))
	pipe := fifo(t)
	for path, want := range map[string]string{
		dir:                            "is a directory",
		"/dev/zero":                    "is a device or a socket, not a file",
		filepath.Join(dir, "link"):     "is a device or a socket, not a file",
		filepath.Join(dir, "socket"):   "is a device or a socket, not a file",
		filepath.Join(dir, "none"):     "no such file or directory",
		filepath.Join(pipe, "beneath"): "not a directory",
		"-":                            "no such file or directory",
	} {
		for _, o := range []Opener{{}, {Named: io.Discard}} {
			_, err := o.Open(t.Context(), path, List)
			require.EqualError(t, hint.Flag("file", path, err), "--file "+path+": "+want)
		}
	}
	_, err = Opener{}.Open(t.Context(), pipe, List)
	require.ErrorContains(t, err, "is a pipe, not a file")
	assert.NotEmpty(t, hint.Of(err))
}

// The limit counts what is read, also of a file that says that it is empty, and a file that says that it is larger is not read.
func TestLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat("x", 1<<20)), 0o600))
	text, err := Opener{}.ReadFile(t.Context(), path, 1<<20)
	require.NoError(t, err)
	assert.Len(t, text, 1<<20)
	for _, larger := range []string{path, "/proc/self/maps"} {
		text, err := Opener{}.ReadFile(t.Context(), larger, 100)
		require.ErrorContains(t, err, "is larger than")
		assert.LessOrEqual(t, len(text), 100)
		assert.NotEmpty(t, hint.Of(err))
	}
	require.NoError(t, os.Truncate(path, 1<<40)) // without blocks
	_, err = Opener{}.Open(t.Context(), path, Document)
	require.ErrorContains(t, err, "is larger than 256 MiB, the most that gorun reads of it")
	file, err := Opener{}.Open(t.Context(), path, Any)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, file.From(1<<40-5))
	text, err = io.ReadAll(file)
	require.NoError(t, err)
	assert.Len(t, text, 5)
}

// A command gets a file of any type, as one that blocks, and a pipe when it has a writer.
func TestHanded(t *testing.T) {
	path := fifo(t)
	go func() {
		if w, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil { // it waits for the reader
			_, _ = io.WriteString(w, "text")
			w.Close()
		}
	}()
	for _, path := range []string{"/dev/zero", "/proc/self/maps", path} {
		file, err := Opener{}.Handed(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, control(file, func(fd uintptr) error {
			flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
			assert.Zero(t, errno)
			assert.Zero(t, flags&syscall.O_NONBLOCK, path)
			return nil
		}))
		require.NoError(t, file.Close())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Opener{}.Handed(ctx, fifo(t))
	require.ErrorIs(t, err, context.Canceled)
}

// A line is read whole, the last one without its end, or is too long.
func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", 10_000) + "\n"
	in := bufio.NewReader(strings.NewReader(long + "\nlast"))
	for _, want := range []string{long, "\n"} {
		line, err := ReadLine(in)
		require.NoError(t, err)
		assert.Equal(t, want, string(line))
	}
	line, err := ReadLine(in)
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, "last", string(line))

	_, err = ReadLine(bufio.NewReader(io.MultiReader(bytes.NewReader(make([]byte, Line)), strings.NewReader("\n"))))
	require.ErrorIs(t, err, ErrLongLine)
}
