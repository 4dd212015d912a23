package metrics

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // in which time does not pass during a request, so that no push takes too long
		var method, path, query, body, user, password string
		gateway := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			method, path, query = r.Method, r.URL.Path, r.URL.RawQuery
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
		assert.Empty(t, query)
		assert.Equal(t, []string{"me", "secret"}, []string{user, password})
		assert.Contains(t, body, "gorun_numbers_tested_total")
		assert.NotContains(t, body, "go_goroutines")

		pusher, err = e.NewPusher(gateway.URL+"/below/?token=s%26cret&team=a#here", "lab")
		require.NoError(t, err)
		require.NoError(t, pusher.Push(t.Context()))
		assert.Equal(t, "/below/metrics/job/gorun/instance/lab", path)
		assert.Equal(t, "token=s%26cret&team=a", query, "the client adds its path to the URL's")

		info := fixedInfo
		info.Run = "nice"
		pusher, err = NewExporter(fixedLive, info).NewPusher(gateway.URL, "lab")
		require.NoError(t, err)
		require.NoError(t, pusher.Push(t.Context()))
		assert.Contains(t, []string{"/metrics/job/gorun/instance/lab/run/nice", "/metrics/job/gorun/run/nice/instance/lab"}, path)
	})
}

func TestPushEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pushed atomic.Uint64
		e := NewExporter(fixedLive, fixedInfo)
		pusher, err := e.NewPusher("http://gateway", "")
		require.NoError(t, err)
		pusher.pusher.Client(doer(func(*http.Request) (*http.Response, error) {
			pushed.Add(1)
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		}))
		pusher.Every(time.Second)
		time.Sleep(3500 * time.Millisecond)
		assert.EqualValues(t, 3, pushed.Load())
		require.NoError(t, pusher.Push(t.Context()))
		time.Sleep(time.Minute)
		assert.EqualValues(t, 4, pushed.Load(), "the last one stays the last")
		require.NoError(t, pusher.Close())
	})
}

// doer is an HTTP client that is a function.
type doer func(*http.Request) (*http.Response, error)

func (d doer) Do(r *http.Request) (*http.Response, error) { return d(r) }

func TestPushFailureHidesThePassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // like TestPush
		gateway := httptest.NewServer(http.NotFoundHandler())
		defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		base := strings.Replace(gateway.URL, "://", "://me:secret@", 1) + "/?token=secret"
		pusher, err := NewExporter(fixedLive, fixedInfo).NewPusher(base, "")
		require.NoError(t, err)
		err = pusher.Push(t.Context())
		require.ErrorContains(t, err, "404")
		assert.NotContains(t, err.Error(), "secret")

		gateway.Close()
		err = pusher.Push(t.Context())
		require.ErrorContains(t, err, "cannot push metrics to http://me:xxxxx@")
		assert.NotContains(t, err.Error(), "secret")
	})
}

func TestPushNeedsAURL(t *testing.T) {
	for _, base := range []string{"", "localhost:9091", "ftp://host", "http://", "http://u:secret@ho st", ":"} {
		_, err := NewExporter(fixedLive, fixedInfo).NewPusher(base, "")
		require.ErrorIs(t, err, ErrURL, base)
		assert.NotContains(t, err.Error(), "secret")
		assert.NotEmpty(t, hintOf(t, err))
	}
}
