package report

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
)

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

// A page that is served follows its journal, and ends with its context.
func TestServe(t *testing.T) {
	path, whole := filepath.Join(t.TempDir(), "run.jsonl"), runOf(t, "matrix").journal()
	require.NoError(t, os.WriteFile(path, []byte(whole[:len(whole)/2]), 0o644))

	served, err := NewServed(t.Context(), []string{path}, Options{Views: experiments})
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- served.Serve(ctx, listener, []string{"build.lan"}) }()
	url := "http://" + listener.Addr().String() + "/"

	status, page := get(t, url)
	assert.Equal(t, http.StatusOK, status)
	_, version := get(t, url+"version")
	assert.Contains(t, page, `data-version="`+version+`"`)
	assert.Contains(t, page, "connect-src &#39;self&#39;")
	assert.Contains(t, page, "<noscript>")
	assert.Contains(t, page, "This run has not ended")

	require.NoError(t, os.WriteFile(path, []byte(whole), 0o644))
	_, later := get(t, url+"version")
	assert.NotEqual(t, version, later)
	_, page = get(t, url)
	assert.Contains(t, page, `data-version="`+later+`"`)
	assert.NotContains(t, page, "This run has not ended")

	status, _ = get(t, url+"else")
	assert.Equal(t, http.StatusNotFound, status)
	for _, c := range []struct {
		method, host string
		want         int
	}{
		{http.MethodHead, "", http.StatusOK},
		{http.MethodPost, "", http.StatusMethodNotAllowed},
		{http.MethodDelete, "", http.StatusMethodNotAllowed},
		{http.MethodGet, "build.lan:80", http.StatusOK},
		{http.MethodGet, "evil.example", http.StatusMisdirectedRequest},
	} {
		request, err := http.NewRequest(c.method, url, nil)
		require.NoError(t, err)
		request.Host = c.host
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, c.want, answer.StatusCode, c)
	}
	require.NoError(t, os.Remove(path))
	status, text := get(t, url)
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.NotContains(t, text, "<html")

	cancel()
	assert.NoError(t, tests.Receive(t, "end of the server", ended))
	_, err = NewServed(t.Context(), []string{path}, Options{Views: experiments})
	assert.ErrorIs(t, err, os.ErrNotExist)
}
