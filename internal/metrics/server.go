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

// ErrAddress is wrapped by Serve's error when the address itself is not one: wrong usage, not a failure of the system.
var ErrAddress = errors.New("not a listen address")

// limits bound what a client can cost the run. A scraper sends a few hundred bytes and reads some ten kilobytes.
type limits struct {
	readHeader, read, write, idle time.Duration
	pace                          time.Duration // between the beginnings of two scrapes, whoever asks
	patience                      time.Duration // how long a scrape waits for its turn
	gather                        time.Duration // how long one scrape may take to be gathered
	shutdown                      time.Duration // how long Close waits for scrapes that are under way
	headerBytes                   int
	inFlight                      int // scrapes at a time; a Prometheus pair and a person with curl fit
	// connections is how many there may be at once; more wait in the kernel, where they cost this process nothing. There
	// are fewer where the process may open few files: the run needs the others.
	connections int
}

// descriptorShare divides the descriptors that this process may open: connections may take one part, an eighth.
const descriptorShare = 8

// What clients cost in CPU time, of this process in user and system mode. Measured with Linux 6.18, amd64: a connection
// that is opened and closed takes 98 µs, and a request for a page that is not there 110 µs; each arrives in two pieces.
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
	stopped  chan struct{} // closed when the serving goroutine is gone
	arrivals atomic.Uint64 // connections, and pieces of what clients send
	scrapes  atomic.Uint64
}

// Serve binds the address at once, so that a busy port is known before any work starts, and serves in the background.
// An address is "HOST:PORT", ":PORT" or "PORT"; without a host it is 127.0.0.1, and other machines are only let in by
// an address that says so ("0.0.0.0:9464"). Port 0 takes a free one: see Addr. webConfig is a file with TLS and
// users; "" is neither. Errors wrap ErrAddress where the text is no address, ErrWebConfig where the file is at fault,
// else the system's error, and have a Hint.
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
		// A client's faults are no news for the person who runs gorun.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	limited := counted{netutil.LimitListener(listener, limits.most()), &s.arrivals}
	go func() {
		defer close(s.stopped)
		// It ends by Close only: a failed accept is retried inside, and the file was found to be right.
		_ = web.Serve(limited, s.http, &web.FlagConfig{WebConfigFile: &webConfig}, slog.New(slog.DiscardHandler))
	}()
	return s, nil
}

// most is how many connections this process affords at once.
func (l limits) most() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return l.connections
	}
	return int(min(uint64(l.connections), max(1, uint64(files.Cur)/descriptorShare)))
}

// network is that of an address: Go takes 0.0.0.0 for every address of IPv6 too, unless it is told.
func network(bind string) string {
	if addr, err := netip.ParseAddrPort(bind); err == nil && addr.Addr().Is4() {
		return "tcp4"
	}
	return "tcp"
}

// counted counts the connections of a listener, and what arrives on them.
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

// CPUSeconds estimates the CPU time of this process that clients have cost so far. Go does not count it by goroutine,
// so it is what arrivals and scrapes cost as a rule, times their number.
func (s *Server) CPUSeconds() float64 {
	return arrivalSeconds*float64(s.arrivals.Load()) + scrapeSeconds*float64(s.scrapes.Load())
}

// local refuses requests for a host that is neither an IP address nor localhost. On a loopback address they come from a
// web page whose name was made to resolve to this machine (DNS rebinding), so that the browser lets it read the answer.
func local(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		if err != nil && !strings.EqualFold(host, "localhost") {
			http.Error(w, "on this address the host is an IP address or localhost", http.StatusForbidden)
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

// bindHint says what to do about an address that cannot be bound.
func bindHint(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program listens there: choose another port, or port 0 for any that is free"
	case errors.Is(err, fs.ErrPermission):
		return "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one"
	}
	return "the host must be an address of this machine, such as 127.0.0.1 or 0.0.0.0"
}

// index is what a person sees who opens the address in a browser.
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
		DisableCompression:  true, // it takes a third of a scrape's CPU time, and that is what is measured here
	})))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, index) // a client that left needs no answer
	})
	return mux
}

// paced lets scrapes begin one after another, at most so many a second, so that the run pays for these and no more
// however many clients ask as fast as they can. One that comes alone does not wait, one that leaves gives its place up,
// and one that would wait too long is refused, and only then, lest it ask again at once.
func paced(limits limits, scrapes *atomic.Uint64, scrape http.Handler) http.Handler {
	turn := make(chan time.Time, 1) // when the next scrape may begin; who takes it is next
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

// Addr is the address that is served, with the port that was taken.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is where the metrics are.
func (s *Server) URL() string { return s.scheme + "://" + s.Addr() + "/metrics" }

// Linger keeps serving for a while after the run, so that a scraper sees its end: until d is over or ctx is done.
func (s *Server) Linger(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-s.stopped:
	}
}

// Close lets scrapes that are under way finish for two seconds, then cuts them, and returns when nothing is served.
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
