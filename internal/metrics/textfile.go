package metrics

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/common/expfmt"

	"gorun/internal/hint"
)

// textfileEvery is how often the file is written while the run goes on: the usual scrape interval of node_exporter.
const textfileEvery = 15 * time.Second

// Textfile keeps a file in the text exposition format for node_exporter's textfile collector, which reads those that
// end in ".prom".
type Textfile struct {
	exporter *Exporter
	path     string
	quit     chan struct{}
	stopped  chan struct{}
	once     sync.Once
	err      error // of the last write, once it is closed
}

// OpenTextfile finds out whether the file could be written, leaves nothing behind if not, and then writes it every 15
// seconds until Close. Errors have a Hint.
func (e *Exporter) OpenTextfile(path string) (*Textfile, error) {
	if err := checkTextfile(path); err != nil {
		return nil, hint.With(fmt.Errorf("cannot write metrics to %s: %w", path, err),
			"name a file in a directory that exists and that you may write")
	}
	t := &Textfile{exporter: e, path: path, quit: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(t.stopped)
		ticker := time.NewTicker(textfileEvery)
		defer ticker.Stop()
		for {
			select {
			case <-t.quit:
				return
			case <-ticker.C:
				_ = t.write() // what matters is the last one, which Close reports
			}
		}
	}()
	return t, nil
}

// Close writes the file a last time, with the run's final figures, and tells whether that worked.
func (t *Textfile) Close() error {
	t.once.Do(func() {
		close(t.quit)
		<-t.stopped
		if err := t.write(); err != nil {
			t.err = fmt.Errorf("cannot write metrics to %s: %w", t.path, err)
		}
	})
	return t.err
}

// checkTextfile makes and removes the kind of file that write will rename: only trying tells about permissions,
// read-only file systems and quotas alike.
func checkTextfile(path string) error {
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return errors.New("it exists and is not a regular file")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	file, err := createTemp(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// createTemp makes a file beside path: a rename is atomic only within a file system. Its name does not end in ".prom",
// so that it is never read.
func createTemp(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
}

// write replaces the file in one step: a reader sees the old or the new one, also after a crash, since the new one is
// on the disk before it gets the name.
func (t *Textfile) write() (err error) {
	families, err := t.exporter.run.Gather()
	if err != nil {
		return err
	}
	file, err := createTemp(t.path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	out := bufio.NewWriter(file)
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(out, family); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	// CreateTemp gives mode 0600, and node_exporter runs as another user.
	if err := errors.Join(out.Flush(), file.Chmod(0o644), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), t.path)
}
