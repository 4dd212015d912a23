package metrics

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gorun/internal/output"
)

// textfileEvery is the interval at which the file is written during the run: the usual scrape interval of
// node_exporter.
const textfileEvery = 15 * time.Second

// Textfile keeps a file in the text exposition format for node_exporter's textfile collector, which reads those that
// end in ".prom".
type Textfile struct {
	run     *prometheus.Registry // with the label
	file    *output.File
	quit    chan struct{}
	stopped chan struct{}
	once    sync.Once
	err     error // of the last write, after Close
}

// KeepTextfile writes the file every 15 seconds until Close.
func (e *Exporter) KeepTextfile(file *output.File) *Textfile {
	t := &Textfile{run: prometheus.NewRegistry(), file: file, quit: make(chan struct{}), stopped: make(chan struct{})}
	labels := prometheus.Labels{}
	if run := e.collector.info.Run; run != "" {
		labels[runLabel] = run
	}
	prometheus.WrapRegistererWith(labels, t.run).MustRegister(e.collector)
	go func() {
		defer close(t.stopped)
		ticker := time.NewTicker(textfileEvery)
		defer ticker.Stop()
		for {
			select {
			case <-t.quit:
				return
			case <-ticker.C:
				_ = t.write() // only the last write matters, which Close reports
			}
		}
	}()
	return t
}

// Close writes the file for the last time, with the run's final figures, and returns the error of that write.
func (t *Textfile) Close() error {
	t.once.Do(func() {
		close(t.quit)
		<-t.stopped
		t.err = errors.Join(t.write(), t.file.Close())
	})
	return t.err
}

// write stores the present figures.
func (t *Textfile) write() error {
	return t.file.Write(func(w io.Writer) error { return writeText(w, t.run) })
}
