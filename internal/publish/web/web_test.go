package web

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

// A name that is not this machine's means that a web page was made to ask.
func TestKnown(t *testing.T) {
	handler := Known(http.NotFoundHandler(), []string{"build.lan", ""}, "give --name")
	for host, known := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:9464": true, "[::1]": true, "[::1]:80": true, "192.0.2.7": true, "localhost": true, "LocalHost:9464": true,
		"build.lan": true, "BUILD.lan:1": true,
		"evil.example": false, "evil.example:9464": false, "": false, ":80": false, "127.0.0.1.evil.example": false, "build.lan.evil": false,
		"localhost.evil.example": false, "build": false, "build.lan@evil": false,
	} {
		asked, answer := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		asked.Host = host
		handler.ServeHTTP(answer, asked)
		if known {
			assert.Equal(t, http.StatusNotFound, answer.Code, host)
			continue
		}
		assert.Equal(t, http.StatusMisdirectedRequest, answer.Code, host)
		assert.Contains(t, answer.Body.String(), "give --name")
	}
}

func TestIsName(t *testing.T) {
	for text, want := range map[string]bool{
		"n1": true, "a.b-c_d": true, "": false, "a:80": false, "a b": false, "a/b": false, "ä": false, "a\n": false, "[a]": false, "u@a": false,
	} {
		assert.Equal(t, want, IsName(text), text)
	}
}

// A server whose connections are all taken by clients that wait, or never finish their requests, answers the next client. Those whose
// requests are being answered keep their places.
func TestWaitingConnectionsMakeRoom(t *testing.T) {
	const most = 4
	entered, leave := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			entered <- struct{}{}
			<-leave
		}
	})
	hour := time.Hour // a client of a test may be as slow as its machine
	server := NewServer(handler, Limits{ReadHeader: hour, Read: hour, Write: hour, Idle: hour, Connections: most})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ended := make(chan error)
	go func() { ended <- server.Serve(listener) }()
	send := func(text string) net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(tests.Hang)))
		_, err = io.WriteString(conn, text)
		require.NoError(t, err)
		return conn
	}
	answered := func(conn net.Conn) {
		t.Helper()
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusOK, response.StatusCode)
	}
	const ask = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
	slow := send("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
	<-entered
	asked := send(ask) // it keeps its connection
	answered(asked)
	first := send("")
	for range 3 * most {
		send("GET / HT")
	}
	answered(send(ask))
	_, err = first.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the first that waited made room")
	close(leave)
	answered(slow)
	require.NoError(t, server.Close())
	require.ErrorIs(t, <-ended, http.ErrServerClosed)
}

// A process that may open few files keeps most of them for the rest of gorun.
func TestFewDescriptorsAllowFewConnections(t *testing.T) {
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) }()
	for files, want := range map[uint64]int{64: 8, 16: 2, was.Cur: int(min(32, was.Cur/8))} {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: files, Max: was.Max}))
		assert.Equal(t, want, Limits{Connections: 32}.most(), "of %d files", files)
	}
}

// A client that sends or reads slowly, or too much, must not hold a connection for ever: net/http has limits for each.
func TestServerHasLimits(t *testing.T) {
	server := NewServer(http.NotFoundHandler(), Limits{ReadHeader: 1, Read: 2, Write: 3, Idle: 4, HeaderBytes: 5})
	assert.Equal(t, []time.Duration{1, 2, 3, 4},
		[]time.Duration{server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout})
	assert.Equal(t, 5, server.MaxHeaderBytes)
}
