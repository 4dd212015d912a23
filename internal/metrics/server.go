package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/net/netutil"

	"gorun/internal/hint"
)

// ErrAddress is wrapped by Serve's error if the address is invalid: wrong usage, not a failure of the system.
var ErrAddress = errors.New("not a listen address")

// limits bound the cost of clients for the run. A scraper sends a few hundred bytes and reads about ten kilobytes.
type limits struct {
	readHeader, read, write, idle time.Duration
	pace                          time.Duration // between the beginnings of any two scrapes
	patience                      time.Duration // how long a scrape waits for its turn
	gather                        time.Duration // how long gathering one scrape may take
	shutdown                      time.Duration // how long Close waits for scrapes in progress
	headerBytes                   int
	inFlight                      int // concurrent scrapes: enough for a Prometheus pair and a person with curl
	// connections is the maximum number of concurrent connections; more wait in the kernel, at no cost for this
	// process. There are fewer if the process may open few files: the run needs the others.
	connections int
}

// descriptorShare is the divisor of this process's limit of open files that gives the limit of connections.
const descriptorShare = 8

// The cost of clients in CPU time of this process, in user and system mode. Measured with Linux 6.18, amd64: a
// connection that is opened and closed takes 98 µs, and a request for a page that does not exist 110 µs; each arrives
// in two pieces.
const (
	arrivalSeconds = 50e-6
	scrapeSeconds  = 3e-3
)

var defaultLimits = limits{
	readHeader:  5 * time.Second,
	read:        10 * time.Second,
	write:       30 * time.Second,
	idle:        2 * time.Minute,        // longer than the usual scrape interval, so that connections are reused
	pace:        200 * time.Millisecond, // a scrape is some 3 ms of CPU time: 1.5% of one CPU at most
	patience:    5 * time.Second,        // Prometheus itself gives up after 10
	gather:      10 * time.Second,
	shutdown:    2 * time.Second,
	headerBytes: 16 << 10,
	inFlight:    4,
	connections: 32, // 20 KB each
}

// Server serves /metrics until it is closed.
type Server struct {
	listener net.Listener
	scheme   string
	http     *http.Server
	shutdown time.Duration
	stopped  chan struct{} // closed when the serving goroutine has ended
	arrivals atomic.Uint64 // connections, and pieces of what clients send
	scrapes  atomic.Uint64
}

// Serve binds the address immediately, so that a busy port is an error before any work starts, and serves in the
// background. An address is "HOST:PORT", ":PORT" or "PORT"; without a host it is 127.0.0.1, and other machines need an
// explicit address ("0.0.0.0:9464"). Port 0 takes a free one: see Addr. webConfig is a file with TLS and users; "":
// neither. Errors have a hint, and wrap ErrAddress for an invalid address, ErrWebConfig for a faulty file, or else the
// system's error.
func (e *Exporter) Serve(addr, webConfig string) (*Server, error) {
	return e.serve(addr, webConfig, defaultLimits)
}

func (e *Exporter) serve(addr, webConfig string, limits limits) (*Server, error) {
	bind, err := loopbackUnlessTold(addr)
	if err != nil {
		return nil, err
	}
	scheme, err := readWebConfig(webConfig)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen(network(bind), bind)
	if err != nil {
		return nil, hint.With(fmt.Errorf("cannot serve metrics on %s: %w", bind, err), bindHint(err))
	}
	s := &Server{listener: listener, scheme: scheme, shutdown: limits.shutdown, stopped: make(chan struct{})}
	handler := e.handler(limits, &s.scrapes)
	if listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		handler = local(handler)
	}
	s.http = &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: limits.readHeader,
		ReadTimeout:       limits.read,
		WriteTimeout:      limits.write,
		IdleTimeout:       limits.idle,
		MaxHeaderBytes:    limits.headerBytes,
		// A client's errors do not concern the user of gorun.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	limited := counted{netutil.LimitListener(listener, limits.most()), &s.arrivals}
	go func() {
		defer close(s.stopped)
		// It ends only by Close: a failed accept is retried inside, and the file has been checked.
		_ = web.Serve(limited, s.http, &web.FlagConfig{WebConfigFile: &webConfig}, slog.New(slog.DiscardHandler))
	}()
	return s, nil
}

// most returns the maximum number of concurrent connections of this process.
func (l limits) most() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return l.connections
	}
	return int(min(uint64(l.connections), max(1, uint64(files.Cur)/descriptorShare)))
}

// network returns the network of an address: with "tcp", Go listens for 0.0.0.0 on all IPv6 addresses too.
func network(bind string) string {
	if addr, err := netip.ParseAddrPort(bind); err == nil && addr.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// counted counts the connections of a listener and the reads on them.
type counted struct {
	net.Listener
	arrivals *atomic.Uint64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.arrivals.Add(1)
	return countedConn{conn, c.arrivals}, nil
}

type countedConn struct {
	net.Conn
	arrivals *atomic.Uint64
}

func (c countedConn) Read(p []byte) (n int, err error) {
	n, err = c.Conn.Read(p)
	c.arrivals.Add(1)
	return n, err
}

// CPUSeconds estimates the CPU time of this process spent on clients so far. Go does not count it by goroutine, so it
// is the number of arrivals and scrapes times their usual cost.
func (s *Server) CPUSeconds() float64 {
	return arrivalSeconds*float64(s.arrivals.Load()) + scrapeSeconds*float64(s.scrapes.Load())
}

// local refuses requests whose Host is neither an IP address nor localhost. On a loopback address they come from a web
// page whose name resolves to this machine (DNS rebinding), so that the browser lets the page read the answer.
func local(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && !strings.EqualFold(host, "localhost") {
			http.Error(w, "on this address the host must be an IP address or localhost", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// loopbackUnlessTold completes an address.
func loopbackUnlessTold(addr string) (string, error) {
	text := addr
	if !strings.Contains(text, ":") {
		text = ":" + text
	}
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", hint.With(fmt.Errorf("%w: %q", ErrAddress, addr), "write HOST:PORT, as in 127.0.0.1:9464, or :9464")
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

// handler answers requests; it counts the scrapes.
func (e *Exporter) handler(limits limits, scrapes *atomic.Uint64) http.Handler {
	mux := http.NewServeMux()
	both := prometheus.Gatherers{e.run, e.process}
	mux.Handle("GET /metrics", paced(limits, scrapes, promhttp.HandlerFor(both, promhttp.HandlerOpts{
		MaxRequestsInFlight: limits.inFlight,
		Timeout:             limits.gather,
		EnableOpenMetrics:   true,
		DisableCompression:  true, // it takes a third of a scrape's CPU time, on the CPUs that are measured
	})))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, index) // a client that left needs no answer
	})
	return mux
}

// paced lets scrapes begin one after another, at a limited rate, so that the cost for the run is bounded for any number
// of clients. A single scrape does not wait, and a client that disconnects gives up its place. A scrape that waited too
// long is refused; refusing it earlier would make clients retry immediately.
func paced(limits limits, scrapes *atomic.Uint64, scrape http.Handler) http.Handler {
	turn := make(chan time.Time, 1) // when the next scrape may begin; the one that receives it is next
	turn <- time.Time{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		patience, cancel := context.WithTimeout(r.Context(), limits.patience)
		defer cancel()
		select {
		case next := <-turn:
			select {
			case <-time.After(time.Until(next)):
				turn <- time.Now().Add(limits.pace)
				scrapes.Add(1)
				scrape.ServeHTTP(w, r)
				return
			case <-patience.Done():
				turn <- next
			}
		case <-patience.Done():
		}
		http.Error(w, "too many scrapes", http.StatusServiceUnavailable)
	})
}

// Addr returns the address that is served, with the actual port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL returns the URL of the metrics.
func (s *Server) URL() string { return s.scheme + "://" + s.Addr() + "/metrics" }

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
