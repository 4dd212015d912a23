// Package input opens the files that a command reads and has not written itself. Another user, another program or a mistake may have
// put anything there: opening never blocks, only a regular file or a pipe is read, what is read is limited, and a read ends with the
// context. Files of the kernel are read by internal/kernel/sysfs and internal/kernel/linux.
package input

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/kernel/linux"
)

// The limits of what is read, in bytes. They are counted while reading: the files of /proc and /sys have the size 0.
const (
	List     = 16 << 20  // names, options, source code
	Document = 256 << 20 // what is decoded as a whole
	Line     = 64 << 20  // of a file of any size
	Any      = 1<<63 - 1 // for what is read by the line, or is not kept
)

// Opener opens files.
type Opener struct {
	// Named gets the message that a pipe has no writer yet. nil: the file was found by a pattern or in a directory, and not named by
	// the user; a pipe is refused.
	Named io.Writer
	// Stdin is what the name "-" stands for. nil: it is a name as any other.
	Stdin *os.File
}

// File is an open file.
type File struct {
	ctx  context.Context
	file *os.File
	left int64 // bytes that may be read
	most int64
}

// pollEvery is how often a read that waits looks whether the context has ended.
const pollEvery = 50 * time.Millisecond

// Open opens a file to read at most a number of bytes from it. It waits for the first writer of a pipe. Errors are of type
// *fs.PathError; after the end of ctx, that of ctx.
func (o Opener) Open(ctx context.Context, path string, most int64) (*File, error) {
	if path == "-" && o.Stdin != nil {
		return &File{ctx: ctx, file: o.Stdin, left: most, most: most}, nil
	}
	info, err := os.Stat(path) // before it is opened: opening a device may start something
	if err == nil {
		err = o.refused(info)
	}
	if err != nil {
		return nil, failed("open", path, err)
	}
	file, err := openNow(path)
	if err != nil {
		return nil, err
	}
	f := &File{ctx: ctx, file: file}
	if info, err = file.Stat(); err == nil { // again: the name may be that of another file by now
		err = o.refused(info)
	}
	if err == nil {
		err = f.Limit(most)
	}
	if err == nil {
		err = o.await(ctx, file, info)
	}
	if err != nil {
		file.Close()
		return nil, failed("open", path, err)
	}
	return f, nil
}

// Handed opens a file of any type that a command gets as its stdin. It waits for the first writer of a pipe.
func (o Opener) Handed(ctx context.Context, path string) (*os.File, error) {
	file, err := openNow(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = o.await(ctx, file, info)
	}
	if err == nil {
		err = control(file, func(fd uintptr) error { return syscall.SetNonblock(int(fd), false) }) // the command expects a blocking one
	}
	if err != nil {
		file.Close()
		return nil, failed("open", path, err)
	}
	return file, nil
}

// openNow opens a file without waiting for the writer of a FIFO, for a carrier, or for the holder of a lease (open(2)).
func openNow(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}

// refused returns an error if a file is not of a type that is read.
func (o Opener) refused(info fs.FileInfo) error {
	const way = "name a regular file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return syscall.EISDIR
	case mode&fs.ModeNamedPipe == 0:
		return hint.With(errors.New("is a device or a socket, not a file"), way)
	case o.Named == nil:
		return hint.With(errors.New("is a pipe, not a file"), way)
	}
	return nil
}

// await waits until a pipe has data or has had a writer.
func (o Opener) await(ctx context.Context, file *os.File, info fs.FileInfo) error {
	if info.Mode()&fs.ModeNamedPipe == 0 {
		return nil
	}
	for waits := false; ; waits = true {
		ready, err := readable(file)
		if ready || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !waits && o.Named != nil {
			fmt.Fprintf(o.Named, "gorun: %s is a pipe: waiting for its writer\n", hint.Word(file.Name()))
		}
	}
}

// readable waits for a moment until a file can be read without blocking.
func readable(file *os.File) (ready bool, err error) {
	err = control(file, func(fd uintptr) (err error) {
		ready, err = linux.Readable(fd, pollEvery)
		return err
	})
	return ready, err
}

// control calls a function with the descriptor of a file, which os.File.Fd would make a blocking one.
func control(file *os.File, do func(fd uintptr) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	err = conn.Control(func(fd uintptr) { done = do(fd) })
	return errors.Join(err, done)
}

// Read implements io.Reader. It ends with the context, and with an error after the limit.
func (f *File) Read(p []byte) (n int, err error) {
	if f.left < int64(len(p)) {
		p = p[:max(f.left, 1)] // one byte after the limit, to see whether there is one
	}
	for {
		if err := f.ctx.Err(); err != nil {
			return 0, err
		}
		ready, err := readable(f.file)
		if err != nil {
			return 0, failed("read", f.file.Name(), err)
		}
		if !ready {
			continue
		}
		n, err = f.readNow(p)
		if err == syscall.EAGAIN || err == syscall.EINTR { // another process has read it
			continue
		}
		switch {
		case err != nil:
			return 0, failed("read", f.file.Name(), err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		case int64(n) > f.left:
			return 0, failed("read", f.file.Name(), f.tooLarge())
		}
		f.left -= int64(n)
		return n, nil
	}
}

// readNow reads what is there. os.File.Read would wait without an end for what another process has taken.
func (f *File) readNow(p []byte) (n int, err error) {
	return n, control(f.file, func(fd uintptr) (err error) {
		n, err = syscall.Read(int(fd), p)
		return err
	})
}

// Limit sets the number of bytes that may be read from now on. It returns an error if the file says that it is larger.
func (f *File) Limit(most int64) error {
	f.left, f.most = most, most
	info, err := f.Info()
	if err == nil && info.Size() > most {
		err = f.tooLarge()
	}
	return err
}

// From continues at an offset of a regular file.
func (f *File) From(offset int64) error {
	_, err := f.file.Seek(offset, io.SeekStart)
	return err
}

// Info describes the open file.
func (f *File) Info() (fs.FileInfo, error) { return f.file.Stat() }

// Close closes the file, but not stdin.
func (f *File) Close() error {
	if f.file == os.Stdin {
		return nil
	}
	return f.file.Close()
}

func (f *File) tooLarge() error {
	return hint.With(fmt.Errorf("is larger than %d MiB, the most that gorun reads of it", f.most>>20), "is it the file that you meant?")
}

func failed(op, path string, err error) error {
	if of := new(fs.PathError); errors.As(err, &of) {
		err = of.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// ReadFile reads a whole file of at most a number of bytes, as Open opens it.
func (o Opener) ReadFile(ctx context.Context, path string, most int64) ([]byte, error) {
	file, err := o.Open(ctx, path, most)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file)
}

// SHA256 returns the SHA-256 of a file of at most a number of bytes, in hexadecimal.
func (o Opener) SHA256(ctx context.Context, path string, most int64) (string, error) {
	file, err := o.Open(ctx, path, most)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return fmt.Sprintf("%x", hash.Sum(nil)), err
}

// ErrLongLine is the error of ReadLine for a line that is longer than its limit.
var ErrLongLine = fmt.Errorf("is longer than %d MiB", Line>>20)

// ReadLine returns the next line with its end, as bufio.Reader.ReadBytes does, if it is not longer than Line.
func ReadLine(in *bufio.Reader) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > Line {
			return nil, ErrLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
