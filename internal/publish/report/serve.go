package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"gorun/internal/base/hint"
	"gorun/internal/files/input"
	"gorun/internal/publish/web"
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
	inputs, err := ReadAll(ctx, input.Opener{}, s.files, s.options.Views)
	if err != nil {
		return nil, err
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

// handler answers requests for the page, and at /version for its version, at the names of this machine.
func (s *Served) handler(names []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		page, err := s.current(r.Context())
		answer(w, "text/html", page, err)
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		version, err := versionOf(s.files)
		answer(w, "text/plain", []byte(version), err)
	})
	return web.Known(mux, names, "this report is not served at that name: give gorun report --serve-name NAME, or ask for an IP address or localhost")
}

func answer(w http.ResponseWriter, kind string, body []byte, err error) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err != nil {
		http.Error(w, hint.Printable(err.Error()), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(body) // a client that left needs no answer
}

// served bounds the cost of clients, each of whom reads a page of some megabytes at most.
var served = web.Limits{
	ReadHeader: 5 * time.Second, Read: 10 * time.Second, Write: 30 * time.Second, Idle: time.Minute,
	HeaderBytes: 16 << 10, Connections: 64,
}

// Serve answers on a listener until the context is done. Browsers may ask for the page at an IP address, at localhost and at these names.
func (s *Served) Serve(ctx context.Context, listener net.Listener, names []string) error {
	server := web.NewServer(s.handler(names), served)
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("cannot serve the report: %w", err)
	}
	return nil
}
