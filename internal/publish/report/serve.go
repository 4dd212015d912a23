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
	"gorun/internal/publish/page"
	"gorun/internal/publish/web"
)

// Served is the report of some growing files.
type Served struct {
	files   *files
	options Options
	now     func() time.Time

	mu      sync.Mutex // one page is made at a time, for all clients
	version string     // of the files that the page shows
	page    []byte
	err     error     // why there is no page of these files
	next    time.Time // before this, the page stays as it is
}

// refresh is the least time between two pages: a page asks as often whether there is another.
const refresh = page.Refresh * time.Second

// restShare bounds what pages cost: after one was made, none is made for this many times as long.
const restShare = 50

// NewServed makes the first page, so that a file that cannot be shown is an error before anything is served. A pipe is refused: it
// cannot be read again.
func NewServed(ctx context.Context, paths []string, options Options) (*Served, error) {
	s := &Served{files: newFiles(input.Opener{}, paths, options.Views), options: options, now: time.Now}
	s.renew(ctx)
	s.next = s.now().Add(refresh) // the first page reads all
	return s, s.err
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

// current returns the page and its version. It is made again if the files have changed, but not more often than a person can see it, and
// only a small part of the time is spent on it.
func (s *Served) current(ctx context.Context) (text []byte, version string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if began := s.now(); !began.Before(s.next) {
		s.renew(context.WithoutCancel(ctx)) // it is also for clients that do not leave
		ended := s.now()
		s.next = ended.Add(max(refresh, restShare*ended.Sub(began)))
	}
	return s.page, s.version, s.err
}

// renew makes the page of the present files, if they have changed.
func (s *Served) renew(ctx context.Context) {
	version, err := versionOf(s.files.paths) // first: data written while the page is made is in the next page
	if err == nil && s.err == nil && version == s.version {
		return
	}
	var inputs []Input
	if err == nil {
		inputs, err = s.files.read(ctx)
	}
	var text bytes.Buffer
	if err == nil {
		options := s.options
		options.Version = version
		err = Write(&text, inputs, options)
	}
	s.page, s.version, s.err = hint.Escape(text.Bytes()), version, err
}

// handler answers requests for the page, and at /version for its version, at the names of this machine.
func (s *Served) handler(names []string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		text, _, err := s.current(r.Context())
		answer(w, "text/html", text, err)
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, r *http.Request) {
		_, version, err := s.current(r.Context())
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
