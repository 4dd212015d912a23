package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"gorun/internal/hint"
	"gorun/internal/input"
)

// Served is the report of some growing files.
type Served struct {
	files   []string
	options Options

	mu      sync.Mutex // one page is made at a time
	version string     // of the page
	page    []byte
}

// NewServed makes the first page, so that a file that cannot be shown is an error before anything is served. A pipe is refused: it
// cannot be read again.
func NewServed(ctx context.Context, files []string, options Options) (*Served, error) {
	s := &Served{files: files, options: options}
	_, err := s.current(ctx)
	return s, err
}

// versionOf returns a text that changes when the files change: their sizes and times.
func versionOf(files []string) (string, error) {
	var parts []string
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return "", err
		}
		parts = append(parts, fmt.Sprintf("%d.%d", info.Size(), info.ModTime().UnixNano()))
	}
	return strings.Join(parts, "-"), nil
}

// current returns the page of the present files. It is made again if they have changed.
func (s *Served) current(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	version, err := versionOf(s.files) // first: data written while the page is made is in the next page
	if err != nil || version == s.version {
		return s.page, err
	}
	inputs := make([]Input, len(s.files))
	for i, file := range s.files {
		if inputs[i], err = Read(ctx, input.Opener{}, file, s.options.Views); err != nil {
			return nil, err
		}
	}
	var page bytes.Buffer
	options := s.options
	options.Version = version
	if err := Write(&page, inputs, options); err != nil {
		return nil, err
	}
	s.page, s.version = hint.Escape(page.Bytes()), version
	return s.page, nil
}

// ServeHTTP answers with the page, and at /version with its version.
func (s *Served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	var body []byte
	var err error
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		body, err = s.current(r.Context())
	case "/version":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		var version string
		version, err = versionOf(s.files)
		body = []byte(version)
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, hint.Printable(err.Error()), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(body) // a client that left needs no answer
}

// Serve answers on a listener until the context is done.
func (s *Served) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0), // a client's errors do not concern the user
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve the report: %w", err)
	}
	return nil
}
