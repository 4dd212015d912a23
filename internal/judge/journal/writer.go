package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/files/jsonl"
	"gorun/internal/record/result"
)

// Writer writes a journal, with a line for each: a killed run loses at most the sample in progress, and a machine
// that crashes in addition those of the last syncEvery. While it is open, no other gorun can open it for writing.
type Writer struct {
	file    *os.File
	regular bool  // a regular file, unlike a pipe or a terminal, can be synced
	torn    bool  // the file ends with an incomplete line
	whole   int64 // bytes of the complete lines

	mu     sync.Mutex
	failed error       // error of the write after which nothing more is written
	synced time.Time   // when the last sync ended
	later  *time.Timer // syncs what was written since; nil: all is on the disk
}

// syncEvery is how long a line may not be on the disk yet: an fsync takes longer than a short sample.
const syncEvery = 100 * time.Millisecond

// ErrExists means that the journal's file is not empty.
var ErrExists = errors.New("holds an earlier run")

// Create makes a journal of a file that was opened for appending. The writer closes the file, also after an
// error. For a regular file that is not empty, the error wraps ErrExists, unless another process writes to it.
func Create(file *os.File) (*Writer, error) {
	size, regular, err := lock(file)
	if err == nil && size > 0 {
		err = fmt.Errorf("%s %w", file.Name(), ErrExists)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &Writer{file: file, regular: regular}, nil
}

// Open reads the journal of a run to be resumed, a regular file that was opened for reading and appending. The writer closes it, also
// after an error. Only the first Write changes the file: it cuts off an incomplete line. So a journal of an unexpected run can be closed
// unchanged. If another process writes to it, it returns an error.
func Open(file *os.File, columns Columns) (*Writer, *Recording, error) {
	_, _, err := lock(file)
	var rec *Recording
	if err == nil {
		if rec, err = read(file, columns); err != nil {
			err = fmt.Errorf("%s: %w", file.Name(), err)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return &Writer{file: file, regular: true, torn: rec.Torn, whole: rec.whole}, rec, nil
}

// lock locks a regular file for this process until it is closed (flock(2)), and returns its size. On a file system
// without locks it does not lock.
func lock(file *os.File) (size int64, regular bool, err error) {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another gorun is writing to %s", file.Name())
		return 0, true, hint.With(err, "wait until it has ended, or give another file")
	}
	info, err = file.Stat() // again: another process may have written to it and ended before it was locked
	if err != nil {
		return 0, true, err
	}
	return info.Size(), true, nil
}

// Write appends a line. It waits until the line is on the disk, unless it is a sample's and the last wait ended less than
// syncEvery before. After a failure, which may have left a part of the line, it writes nothing more and returns the same
// error. A nil Writer discards lines.
func (w *Writer) Write(line result.Line) error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed != nil {
		return w.failed
	}
	text, err := jsonl.Marshal(line)
	if err != nil {
		return err
	}
	if w.failed = w.store(text); w.failed != nil || !w.regular {
		return w.failed
	}
	if wait := syncEvery - time.Since(w.synced); line.Sample == nil || wait <= 0 {
		w.failed = w.sync()
	} else if w.later == nil {
		w.later = time.AfterFunc(wait, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.later != nil {
				w.failed = cmp.Or(w.failed, w.sync())
			}
		})
	}
	return w.failed
}

func (w *Writer) sync() error {
	if w.later != nil {
		w.later.Stop()
		w.later = nil
	}
	err := w.file.Sync()
	w.synced = time.Now()
	return err
}

// store writes the text of a line, in place of an incomplete one.
func (w *Writer) store(text []byte) error {
	if w.torn {
		if err := w.file.Truncate(w.whole); err != nil {
			return err
		}
		w.torn = false
	}
	_, err := w.file.Write(text)
	return err
}

// Lost returns an error if another program has removed or replaced the journal's file.
func (w *Writer) Lost() error {
	if w == nil || !w.regular {
		return nil
	}
	written, err := w.file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(w.file.Name()); err == nil && os.SameFile(named, written) {
		return nil
	}
	return hint.With(fmt.Errorf("%s was removed or replaced during the run, and its samples with it", w.file.Name()),
		"leave the journal alone until the run has ended")
}

// Regular reports whether the journal can be read again, by --resume.
func (w *Writer) Regular() bool { return w != nil && w.regular }

// Close closes the file.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	if w.later != nil && w.failed == nil {
		err = w.sync()
	}
	return errors.Join(err, w.file.Close())
}
