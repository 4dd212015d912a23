package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPush(t *testing.T) {
	var method, path, body, user, password string
	gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		method, path = r.Method, r.URL.Path
		user, password, _ = r.BasicAuth()
		text, _ := io.ReadAll(r.Body)
		body = string(text)
	}))
	defer gateway.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()

	e := NewExporter(fixedLive, fixedInfo)
	pusher, err := e.NewPusher(strings.Replace(gateway.URL, "://", "://me:secret@", 1), "lab")
	require.NoError(t, err)
	require.NoError(t, pusher.Push(t.Context()))
	assert.Equal(t, http.MethodPut, method)
	assert.Equal(t, "/metrics/job/gorun/instance/lab", path)
	assert.Equal(t, []string{"me", "secret"}, []string{user, password})
	assert.Contains(t, body, "gorun_numbers_tested_total")
	assert.NotContains(t, body, "go_goroutines")
}

func TestPushFailureHidesThePassword(t *testing.T) {
	gateway := httptest.NewServer(http.NotFoundHandler())
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	base := strings.Replace(gateway.URL, "://", "://me:secret@", 1)
	pusher, err := NewExporter(fixedLive, fixedInfo).NewPusher(base, "")
	require.NoError(t, err)
	err = pusher.Push(t.Context())
	require.ErrorContains(t, err, "404")
	assert.NotContains(t, err.Error(), "secret")

	gateway.Close()
	err = pusher.Push(t.Context())
	require.ErrorContains(t, err, "cannot push metrics to http://me:xxxxx@")
	assert.NotContains(t, err.Error(), "secret")
}

func TestPushNeedsAURL(t *testing.T) {
	for _, base := range []string{"", "localhost:9091", "ftp://host", "http://", "http://u:secret@ho st", ":"} {
		_, err := NewExporter(fixedLive, fixedInfo).NewPusher(base, "")
		require.ErrorIs(t, err, ErrURL, base)
		assert.NotContains(t, err.Error(), "secret")
		assert.NotEmpty(t, hintOf(t, err))
	}
}
