package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"gorun/internal/base/hint"
	"gorun/internal/publish/web"
)

// limits bound the cost of clients for the run. A scraper sends a few hundred bytes and reads about ten kilobytes.
type limits struct {
	web.Limits
	gather   time.Duration // how long gathering one scrape may take
	shutdown time.Duration // how long Close waits for scrapes in progress
	inFlight int           // concurrent scrapes: enough for a Prometheus pair and a person with curl
}

var defaultLimits = limits{
	Limits: web.Limits{
		ReadHeader:  5 * time.Second,
		Read:        10 * time.Second,
		Write:       30 * time.Second,
		Idle:        2 * time.Minute, // longer than the usual scrape interval, so that connections are reused
		HeaderBytes: 16 << 10,
		Connections: 32, // 20 KB each
	},
	gather:   10 * time.Second,
	shutdown: 2 * time.Second,
	inFlight: 4,
}

// Server serves /metrics until it is closed.
type Server struct {
	listener net.Listener
	http     *http.Server
	shutdown time.Duration
	stopped  chan struct{} // closed when the serving goroutine has ended
}

// Serve binds the address immediately, so that a busy port is an error before any work starts, and serves in the
// background. An address is "HOST:PORT", ":PORT" or "PORT"; without a host it is 127.0.0.1, and other machines need an
// explicit address ("0.0.0.0:9464"). Port 0 takes a free one: see Addr. Errors have a hint.
func (e *Exporter) Serve(addr string) (*Server, error) { return e.serve(addr, defaultLimits) }

func (e *Exporter) serve(addr string, limits limits) (*Server, error) {
	bind, err := Address(addr)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen(network(bind), bind)
	if err != nil {
		return nil, hint.With(fmt.Errorf("cannot serve metrics on %s: %w", bind, err), bindHint(err))
	}
	s := &Server{listener: listener, shutdown: limits.shutdown, stopped: make(chan struct{})}
	handler := e.handler(limits)
	if s.Local() { // others may know this machine by any name
		handler = web.Known(handler, nil, "on this address the host must be an IP address or localhost")
	}
	s.http = web.NewServer(handler, limits.Limits)
	go func() {
		defer close(s.stopped)
		_ = s.http.Serve(listener) // it ends only by Close: a failed accept is retried inside
	}()
	return s, nil
}

// network returns the network of an address: with "tcp", Go listens for 0.0.0.0 on all IPv6 addresses too.
func network(bind string) string {
	if addr, err := netip.ParseAddrPort(bind); err == nil && addr.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// Address completes an address, or returns an error if it is none.
func Address(addr string) (string, error) {
	text := addr
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", hint.With(errors.New("not a listen address"), "write HOST:PORT, as in 127.0.0.1:9464, or :9464")
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// bindHint returns a hint for an address that cannot be bound.
func bindHint(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens there: choose another port, or port 0 for any that is free"
	case errors.Is(err, fs.ErrPermission):
		return "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one"
	}
	return "the host must be an address of this machine, such as 127.0.0.1 or 0.0.0.0"
}

// index is the page for a person who opens the address in a browser.
const index = `<!doctype html>
<title>gorun</title>
<p>A gorun run. Its figures for Prometheus: <a href="/metrics">/metrics</a></p>
`

// handler answers requests.
func (e *Exporter) handler(limits limits) http.Handler {
	mux := http.NewServeMux()
	both := prometheus.Gatherers{e.run, e.process}
	mux.Handle("GET /metrics", promhttp.HandlerFor(both, promhttp.HandlerOpts{
		MaxRequestsInFlight: limits.inFlight,
		Timeout:             limits.gather,
		EnableOpenMetrics:   true,
		DisableCompression:  true, // it takes a third of a scrape's CPU time, on the CPUs that are measured
	}))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, index) // a client that left needs no answer
	})
	return mux
}

// Addr returns the address that is served, with the actual port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Local reports whether only programs of this machine can read the metrics.
func (s *Server) Local() bool { return s.listener.Addr().(*net.TCPAddr).IP.IsLoopback() }

// URL returns the URL of the metrics.
func (s *Server) URL() string { return "http://" + s.Addr() + "/metrics" }

// Linger keeps serving for d after the run, or until ctx is done, so that a scraper sees the end of the run.
func (s *Server) Linger(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-s.stopped:
	}
}

// Close waits up to two seconds for scrapes in progress, then cuts them, and returns when nothing is served.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.shutdown)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	<-s.stopped
	if err != nil {
		return fmt.Errorf("cannot close the metrics server: %w", err)
	}
	return nil
}
