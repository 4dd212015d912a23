package metrics

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"gorun/internal/files/output"
)

// textfileEvery is the interval at which the file is written during the run: the usual scrape interval of
// node_exporter.
const textfileEvery = 15 * time.Second

// KeepTextfile keeps a file in the text exposition format for node_exporter's textfile collector, which reads files whose names end in
// ".prom". It writes the file at once, so that a run is seen when it begins, and every 15 seconds until it is closed. Closing writes it for
// the last time, with the run's final figures, and returns the error of that write.
func (e *Exporter) KeepTextfile(file *output.File) (closing func() error) {
	labels := prometheus.Labels{}
	if run := e.info.Run; run != "" {
		labels[runLabel] = plain(run)
	}
	run := prometheus.NewRegistry()
	prometheus.WrapRegistererWith(labels, run).MustRegister(e)
	write := func() error { return file.Write(func(w io.Writer) error { return writeText(w, run) }) }
	if file.Keeps() {
		_ = write() // only the last write matters, which closing reports
	}
	quit, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(textfileEvery)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
				_ = write()
			}
		}
	}()
	return sync.OnceValue(func() error {
		close(quit)
		<-stopped
		return errors.Join(write(), file.Close())
	})
}
