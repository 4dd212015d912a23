package report

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gorun/internal/dev/tests"
	"gorun/internal/files/jsonl"
	"gorun/internal/record/result"
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

// clock is one that a test moves; while a page is made, it moves by itself.
type clock struct {
	sync.Mutex
	at    time.Time
	takes time.Duration // between two looks at it
}

func (c *clock) now() time.Time {
	c.Lock()
	defer c.Unlock()
	c.at = c.at.Add(c.takes)
	return c.at
}

func (c *clock) passes(d time.Duration) {
	c.Lock()
	defer c.Unlock()
	c.at = c.at.Add(d)
}

// serving returns a served report with a clock at the time at which another page may be made.
func serving(t *testing.T, paths ...string) (*Served, *clock) {
	t.Helper()
	served, err := NewServed(t.Context(), paths, Options{Views: experiments})
	require.NoError(t, err)
	of := &clock{at: served.next}
	served.now = of.now
	return served, of
}

// A page that is served follows its journal, and ends with its context.
func TestServe(t *testing.T) {
	path, whole := filepath.Join(t.TempDir(), "run.jsonl"), runOf(t, "matrix").journal()
	require.NoError(t, os.WriteFile(path, []byte(whole[:len(whole)/2]), 0o644))

	served, clock := serving(t, path)
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
	clock.passes(refresh)
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
	clock.passes(refresh)
	status, text := get(t, url)
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.NotContains(t, text, "<html")

	cancel()
	assert.NoError(t, tests.Receive(t, "end of the server", ended))
	_, err = NewServed(t.Context(), []string{path}, Options{Views: experiments})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// However a journal changes, its page is that of a report that begins with it.
func TestServeChanged(t *testing.T) {
	whole := runOf(t, "matrix").journal()
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	first := func(n int) string { return strings.Join(lines[:n], "") }
	n := len(lines) / 2
	write := func(text string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o644) }
	}
	replace := func(text string) func(path string) error {
		return func(path string) error {
			return errors.Join(write(text)(path+".new"), os.Rename(path+".new", path))
		}
	}
	end, err := jsonl.Marshal(result.Line{End: &result.End{Samples: 99}})
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		changes []func(path string) error
	}{
		{"appended", []func(string) error{write(first(n + 1)), write(first(n + 5))}},
		{"ended", []func(string) error{write(first(len(lines) - 1)), write(whole)}},
		{"torn, and resumed", []func(string) error{write(first(n+1) + lines[n+1][:20]), write(first(n + 1)), write(first(n + 3))}},
		{"torn, and completed", []func(string) error{write(first(n+1) + lines[n+1][:20]), write(first(n + 2))}},
		{"cut", []func(string) error{write(first(n - 3)), write(first(n))}},
		{"another inode", []func(string) error{replace(first(n + 2)), replace(first(3)), write(first(n))}},
		{"another run", []func(string) error{write(runOf(t, "primes").journal()), replace(whole)}},
		{"another end", []func(string) error{write(whole), write(whole + string(end))}},
	} {
		path := filepath.Join(t.TempDir(), "run.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(first(n)), 0o644))
		served, clock := serving(t, path)
		for i, change := range c.changes {
			require.NoError(t, change(path))
			clock.passes(refresh)
			got, version, err := served.current(t.Context())
			require.NoError(t, err, "%s, change %d", c.name, i)
			anew, _ := serving(t, path)
			require.Equal(t, anew.version, version)
			require.Equal(t, string(anew.page), string(got), "%s, change %d", c.name, i)
		}
	}
}

// One page is made for all clients: only of a journal that has changed, not more often than can be seen, and with a small part of the time.
func TestServeSeldom(t *testing.T) {
	path, whole := filepath.Join(t.TempDir(), "run.jsonl"), runOf(t, "matrix").journal()
	require.NoError(t, os.WriteFile(path, []byte(whole[:len(whole)/2]), 0o644))
	served, clock := serving(t, path)
	current := func() *byte {
		page, _, err := served.current(t.Context())
		require.NoError(t, err)
		return &page[0]
	}
	first := current()
	clock.passes(refresh)
	assert.Same(t, first, current(), "nothing has changed")
	require.NoError(t, os.WriteFile(path, []byte(whole[:len(whole)*3/4]), 0o644))
	assert.Same(t, first, current(), "too soon")
	clock.passes(refresh)
	clock.takes = refresh
	second := current()
	assert.NotSame(t, first, second)
	clock.takes = 0
	require.NoError(t, os.WriteFile(path, []byte(whole), 0o644))
	clock.passes(restShare*refresh - 1)
	assert.Same(t, second, current(), "it took long")
	clock.passes(refresh)
	assert.NotSame(t, second, current())
}

// A page that cannot be made is not tried again at once, and is made when it can be.
func TestServeBroken(t *testing.T) {
	path, whole := filepath.Join(t.TempDir(), "run.jsonl"), runOf(t, "matrix").journal()
	require.NoError(t, os.WriteFile(path, []byte(whole), 0o644))
	served, clock := serving(t, path)
	require.NoError(t, os.WriteFile(path, []byte(whole+whole), 0o644))
	_, _, err := served.current(t.Context())
	require.ErrorContains(t, err, "a second header")
	require.NoError(t, os.WriteFile(path, []byte(whole), 0o644))
	_, _, err = served.current(t.Context())
	require.Error(t, err)
	clock.passes(refresh)
	_, _, err = served.current(t.Context())
	require.NoError(t, err)
}
