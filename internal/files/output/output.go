// Package output opens the files that gorun writes. Each is checked before anything is measured, and no two may be the
// same file. A regular file of the user with one link is replaced atomically; any other file is written in place, as by
// cp(1).
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
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"gorun/internal/base/hint"
)

// Named is a file that a flag names or, if Flag is "", an argument. The path "-" is stdout.
type Named struct{ Flag, Path string }

func (n Named) String() string {
	if n.Flag == "" {
		return hint.Word(n.Path)
	}
	return "--" + n.Flag + " " + hint.Word(n.Path)
}

// Opener opens the outputs of one command.
type Opener struct {
	Stdout io.Writer // a *Stdout, outside tests
	Stderr io.Writer // for messages about waiting

	patience time.Duration // 0: the constant
}

const (
	// pollEvery is the interval of attempts to open a FIFO without a reader.
	pollEvery = 50 * time.Millisecond
	// patience is the time to wait for a FIFO's reader after the run was asked to end.
	patience = 10 * time.Second
)

// place identifies a file independently of its names.
type place struct {
	info fs.FileInfo // of the file, or of its directory if the file does not exist
	name string      // in that directory; "" for a file that exists
	path string
}

// placeOf follows symbolic links, also to a file that does not exist yet.
func placeOf(path string) (place, error) {
	info, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return place{info: info, path: path}, err
	}
	dir, name := filepath.Split(path)
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = dir + to // not cleaned: what follows a link to a directory is relative to that directory
		}
		return placeOf(to)
	}
	info, err = os.Stat(cmp.Or(dir, "."))
	return place{info: info, name: name, path: path}, err
}

func (p place) missing() bool { return p.name != "" }

// replaceable reports whether the file can be replaced: a regular file of this user without other links.
func (p place) replaceable() bool {
	link, err := os.Lstat(p.path)
	if err != nil || !link.Mode().IsRegular() {
		return false
	}
	stat := link.Sys().(*syscall.Stat_t)
	return stat.Nlink == 1 && int(stat.Uid) == os.Geteuid()
}

// Same reports whether two names are of the same file. Character devices, such as /dev/null, never count as the same:
// several writers do not disturb each other.
func (o Opener) Same(a, b Named) bool {
	if a.Path == "-" && b.Path == "-" {
		return true
	}
	at, errA := o.placeOf(a)
	other, errB := o.placeOf(b)
	return errA == nil && errB == nil && at.name == other.name && os.SameFile(at.info, other.info) &&
		at.info.Mode()&fs.ModeCharDevice == 0
}

// placeOf returns the place of a file or of stdout.
func (o Opener) placeOf(n Named) (p place, err error) {
	if n.Path != "-" {
		return placeOf(n.Path)
	}
	out, ok := o.Stdout.(*Stdout)
	if !ok {
		return p, errors.ErrUnsupported
	}
	p.info, err = out.file.Stat()
	return p, err
}

// Distinct returns an error if two outputs are the same file.
func (o Opener) Distinct(outputs ...Named) error {
	for i, a := range outputs {
		for _, b := range outputs[:i] {
			if o.Same(a, b) {
				return hint.Usage(hint.With(fmt.Errorf("%s and %s are the same file", b, a), "give each output its own file"))
			}
		}
	}
	return nil
}

// IsStdout reports whether an output is standard output, by any name.
func (o Opener) IsStdout(n Named) bool { return n.Path == "-" || o.Same(n, Named{Path: "-"}) }

// File is an output that is written as a whole, once or several times.
type File struct {
	Named
	target string    // the path to be replaced; "" for a file that is written in place
	opened *os.File  // written in place; nil for stdout
	to     io.Writer // written in place
}

// Open returns a file that can be written, and changes nothing yet. It waits for the reader of a FIFO until ctx ends,
// and then returns ctx's error. Other errors are usage errors with a hint.
func (o Opener) Open(ctx context.Context, n Named) (f *File, err error) {
	defer func() { err = n.refused(ctx, err) }()
	if o.IsStdout(n) {
		return &File{Named: n, to: o.Stdout}, Check(o.Stdout)
	}
	at, err := n.place()
	if err != nil {
		return nil, err
	}
	replaced := &File{Named: n, target: at.path}
	if at.missing() {
		return replaced, tryReplace(at)
	}
	file, err := o.openPlace(ctx, n, at.info.Mode(), os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	if at.replaceable() && tryReplace(at) == nil {
		return replaced, file.Close()
	}
	return &File{Named: n, opened: file, to: file}, nil
}

// tryReplace returns an error if the file at the place cannot be replaced: the new file would have another group, or is on another
// file system, because the old one is a mount point.
func tryReplace(at place) error {
	pending, err := pendingFile(at.path)
	if err != nil {
		return err
	}
	info, err := pending.Stat()
	if err == nil && !at.missing() {
		is, was := info.Sys().(*syscall.Stat_t), at.info.Sys().(*syscall.Stat_t)
		if is.Gid != was.Gid || is.Dev != was.Dev {
			err = errors.ErrUnsupported
		}
	}
	return errors.Join(err, pending.Cleanup())
}

// pendingFile makes a file that can replace path, with the mode of the existing file or of a new one.
func pendingFile(path string) (*renameio.PendingFile, error) {
	return renameio.NewPendingFile(path, renameio.WithTempDir(filepath.Dir(path)), renameio.WithPermissions(0o666),
		renameio.WithExistingPermissions())
}

// Append opens a file for appending, and creates it if necessary. It waits like Open, and has the same errors.
func (o Opener) Append(ctx context.Context, n Named) (file *os.File, err error) {
	defer func() { err = n.refused(ctx, err) }()
	const flags = os.O_WRONLY | os.O_APPEND
	if o.IsStdout(n) {
		out, ok := o.Stdout.(*Stdout)
		if !ok {
			return nil, errors.ErrUnsupported
		}
		return out.dup()
	}
	return o.openInPlace(ctx, n, flags)
}

// Handed opens a file that a command gets as its output, and creates it if necessary. It waits like Open.
func (o Opener) Handed(ctx context.Context, n Named) (*os.File, error) {
	file, err := o.openInPlace(ctx, n, os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hint.Word(n.Path), bare(err))
	}
	return file, syscall.SetNonblock(int(file.Fd()), false) // as the command expects it
}

func (o Opener) openInPlace(ctx context.Context, n Named, flags int) (*os.File, error) {
	at, err := n.place()
	if err != nil {
		return nil, err
	}
	if at.missing() {
		return os.OpenFile(at.path, flags|os.O_CREATE|notWaiting, 0o666)
	}
	return o.openPlace(ctx, n, at.info.Mode(), flags)
}

// Extend opens a regular file that exists, for reading and for appending.
func (n Named) Extend() (*os.File, error) {
	if err := planted(n.Path); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(n.Path, os.O_RDWR|os.O_APPEND|notWaiting, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// place returns the place of a file that may be written in place.
func (n Named) place() (place, error) {
	at, err := placeOf(n.Path)
	if err == nil {
		err = planted(n.Path)
	}
	return at, err
}

// planted returns an error for another user's file in a directory where everyone may make files, like /tmp: that user may have made it
// to read what is written, or to have it written into a file of this user's. The kernel has this rule for O_CREATE
// (fs.protected_regular, proc_sys_fs(5)).
func planted(path string) error {
	names := []string{path}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		names = append(names, target)
	}
	for _, name := range names {
		dir, _ := filepath.Split(name) // not cleaned: see placeOf
		file, err := os.Lstat(name)
		in, dirErr := os.Stat(cmp.Or(dir, "."))
		if err != nil || dirErr != nil { // opening it has the error
			continue
		}
		const shared = fs.ModeSticky | 0o002
		owner := file.Sys().(*syscall.Stat_t).Uid
		if in.Mode()&shared == shared && int(owner) != os.Geteuid() && owner != in.Sys().(*syscall.Stat_t).Uid {
			return hint.With(errors.New("belongs to another user, in a directory where everyone may make files"),
				"name a file in a directory of your own")
		}
	}
	return nil
}

// notWaiting are the flags of open(2) by which it does not wait: for a FIFO's reader, for a carrier, or for the holder of a lease.
const notWaiting = syscall.O_NONBLOCK | syscall.O_NOCTTY

// openPlace opens a file that exists, without O_CREATE: the kernel's rule would refuse what planted lets pass.
func (o Opener) openPlace(ctx context.Context, n Named, mode fs.FileMode, flags int) (*os.File, error) {
	for waits := false; ; waits = true {
		file, err := os.OpenFile(n.Path, flags|notWaiting, 0)
		if err == nil && mode&fs.ModeNamedPipe != 0 {
			context.AfterFunc(ctx, func() { _ = file.SetWriteDeadline(time.Now().Add(cmp.Or(o.patience, patience))) })
		}
		if !errors.Is(err, syscall.ENXIO) || mode&fs.ModeNamedPipe == 0 { // ENXIO: no process has it open for reading (fifo(7))
			return file, err
		}
		if !waits && o.Stderr != nil {
			fmt.Fprintf(o.Stderr, "gorun: %s is a FIFO: waiting for its reader\n", n)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pollEvery):
		}
	}
}

// refused names the flag of an output that cannot be opened.
func (n Named) refused(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return hint.Usagef("%s: %w", n, hint.With(bare(err), cmp.Or(hint.Of(err), "name a file that you may write, in a directory that exists")))
}

// bare returns an error without its path, which Named has.
func bare(err error) error {
	if of := new(fs.PathError); errors.As(err, &of) {
		return of.Err
	}
	if of := new(os.LinkError); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Write replaces the content of the file by what write writes. If write fails, the file is not changed.
func (f *File) Write(write func(io.Writer) error) error {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return err
	}
	return f.Failed(f.store(hint.Escape(content.Bytes())))
}

// Failed returns the error of writing an output with its flag; nil stays nil.
func (n Named) Failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot write %s: %w", n, bare(err))
}

func (f *File) store(content []byte) error {
	switch {
	case f.target != "":
		return replace(f.target, content)
	case f.Keeps():
		_, err := f.opened.WriteAt(content, 0)
		return errors.Join(err, f.opened.Truncate(int64(len(content))), f.opened.Sync())
	}
	_, err := f.to.Write(content)
	return err
}

// Keeps reports whether the file keeps what was written last. What is written into a pipe or to stdout follows what was written before.
func (f *File) Keeps() bool {
	if f.opened == nil {
		return f.target != ""
	}
	info, err := f.opened.Stat()
	return err == nil && info.Mode().IsRegular()
}

// replace replaces a file after the new one is on the disk: a reader sees the old or the new file, even after a crash.
func replace(path string, content []byte) error {
	pending, err := pendingFile(path)
	if err != nil {
		return err
	}
	if _, err = pending.Write(content); err == nil {
		err = pending.CloseAtomicallyReplace()
	}
	return errors.Join(err, pending.Cleanup()) // which does nothing after it was replaced
}

// Close closes the file. A nil File, of an output that was not requested, does nothing.
func (f *File) Close() error {
	if f == nil || f.opened == nil {
		return nil
	}
	return f.opened.Close()
}
