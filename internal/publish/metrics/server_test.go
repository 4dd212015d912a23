package metrics

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/base/hint"
	"gorun/internal/dev/tests"
	"gorun/internal/record/result"
)

// endless are the default limits without those on time, so that a client of a test may be as slow as its machine.
var endless = func() limits {
	l := defaultLimits
	l.ReadHeader, l.Read, l.Write, l.Idle, l.gather = time.Hour, time.Hour, time.Hour, time.Hour, time.Hour
	return l
}()

// serve serves a run on a free port until the test ends.
func serve(t *testing.T, state func() result.State, host string, limits limits) *Server {
	t.Helper()
	s, err := NewExporter(state, fixedInfo).serve(host+":0", limits)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// send connects to a server and sends it a text. A server that never answers or hangs up fails the test.
func send(t *testing.T, s *Server, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(tests.Hang)))
	_, err = io.WriteString(conn, text)
	require.NoError(t, err)
	return conn
}

// get fetches a page on a connection of its own, which leaves no goroutine behind.
func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	client := http.Client{Transport: transport, Timeout: tests.Hang}
	response, err := client.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestScrape(t *testing.T) {
	s := serve(t, fixedState, "127.0.0.1", endless)
	response, body := get(t, "http://"+s.Addr()+"/metrics")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, response.Header.Get("Content-Type"), "text/plain; version=0.0.4")
	for _, line := range []string{
		"gorun_numbers_tested_total 150000\n",
		`gorun_cpu_busy_seconds_total{cpu="11"} 2.5` + "\n",
		`gorun_worker_duration_seconds_bucket{le="0.0009765625"} 2` + "\n",
		"gorun_worker_duration_seconds_count 6\n",
		"go_goroutines ", "go_sched_gomaxprocs_threads ", "go_build_info{",
	} {
		assert.Contains(t, body, line)
	}

	response, body = get(t, "http://"+s.Addr()+"/")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, body, `href="/metrics"`)
	response, _ = get(t, "http://"+s.Addr()+"/etc")
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
	response, err := http.Post("http://"+s.Addr()+"/metrics", "text/plain", strings.NewReader("x"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}

func TestScrapesInFlightAreLimited(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	state := func() result.State {
		entered <- struct{}{}
		<-leave
		return result.State{}
	}
	limits := endless
	limits.inFlight = 1
	s := serve(t, state, "127.0.0.1", limits)
	var first sync.WaitGroup
	first.Go(func() {
		response, _ := get(t, "http://"+s.Addr()+"/metrics")
		assert.Equal(t, http.StatusOK, response.StatusCode)
	})
	<-entered
	response, _ := get(t, "http://"+s.Addr()+"/metrics")
	assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode)
	close(leave)
	first.Wait()
	require.NoError(t, s.Close())
	_, err := net.Dial("tcp", s.Addr())
	require.Error(t, err, "closed")
}

func TestAddress(t *testing.T) {
	for addr, want := range map[string]string{
		":9464":           "127.0.0.1:9464",
		"9464":            "127.0.0.1:9464",
		"0.0.0.0:9464":    "0.0.0.0:9464",
		"localhost:0":     "localhost:0",
		"[::]:1":          "[::]:1",
		"[::1]:65535":     "[::1]:65535",
		"metrics.lan:100": "metrics.lan:100",
	} {
		got, err := Address(addr)
		require.NoError(t, err, addr)
		assert.Equal(t, want, got)
	}
	for _, addr := range []string{
		"", ":", "localhost", "::1", "1:2:3", "127.0.0.1:65536", ":-1", ":http", "[::1", ":9464 ",
	} {
		_, err := Address(addr)
		require.ErrorContains(t, err, "not a listen address", addr)
		assert.NotEmpty(t, hint.Of(err))
	}
}

// An address that cannot be bound is an error at once: one that is taken, and one that nobody has (TEST-NET-1, RFC 5737).
func TestAddressIsNotBound(t *testing.T) {
	for addr, want := range map[string]string{serve(t, fixedState, "127.0.0.1", endless).Addr(): "another port", "192.0.2.1:0": "address of this machine"} {
		_, err := NewExporter(fixedState, fixedInfo).Serve(addr)
		require.ErrorContains(t, err, "cannot serve metrics on "+addr)
		assert.Contains(t, hint.Of(err), want)
	}
}

// A scrape that hangs must not keep the program from ending.
func TestCloseCutsAScrapeThatHangs(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	state := func() result.State {
		close(entered)
		<-leave
		return result.State{}
	}
	limits := endless
	limits.shutdown = time.Millisecond
	s := serve(t, state, "127.0.0.1", limits)
	send(t, s, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-entered
	require.NoError(t, s.Close())
	close(leave)
}

func TestLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{stopped: make(chan struct{})}
		began := time.Now()
		s.Linger(t.Context(), 0)
		assert.Zero(t, time.Since(began), "not asked for")
		s.Linger(t.Context(), time.Minute)
		assert.Equal(t, time.Minute, time.Since(began))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Linger(ctx, time.Hour)
		assert.Equal(t, time.Minute+time.Second, time.Since(began), "interrupted")

		close(s.stopped)
		s.Linger(t.Context(), time.Hour)
		assert.Equal(t, time.Minute+time.Second, time.Since(began), "nothing is served any more")
	})
}

// On a loopback address, a Host that is a name means that a web page was made to ask.
func TestHostOnALoopbackAddress(t *testing.T) {
	ask := func(s *Server, host string) int {
		conn := send(t, s, "GET /metrics HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	s := serve(t, fixedState, "127.0.0.1", endless)
	assert.Equal(t, http.StatusOK, ask(s, "localhost"))
	assert.Equal(t, http.StatusMisdirectedRequest, ask(s, "evil.example"))
	everywhere := serve(t, fixedState, "0.0.0.0", endless)
	assert.Equal(t, http.StatusOK, ask(everywhere, "metrics.lan"), "others may know this machine by a name")
	_, port, err := net.SplitHostPort(everywhere.Addr())
	require.NoError(t, err)
	_, err = net.Dial("tcp6", net.JoinHostPort("::1", port))
	require.Error(t, err, "it is every address of IPv4, and none of IPv6")
}
