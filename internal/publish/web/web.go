// Package web serves pages over HTTP, so that no client can starve another or gorun, and no page of another site, shown by a browser, can
// read them.
package web

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits bound what the clients of a server cost.
type Limits struct {
	ReadHeader, Read, Write, Idle time.Duration
	HeaderBytes                   int
	// Connections is the maximum number of concurrent connections. There are fewer if the process may open few files: the rest of
	// gorun needs the others.
	Connections int
}

// descriptorShare is the divisor of this process's limit of open files that gives the limit of connections.
const descriptorShare = 8

// most returns the maximum number of concurrent connections of this process.
func (l Limits) most() int {
	var files syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) // it fails for an unknown resource only (getrlimit(2))
	return int(min(uint64(l.Connections), max(1, uint64(files.Cur)/descriptorShare)))
}

// NewServer returns a server of a handler.
func NewServer(handler http.Handler, limits Limits) *http.Server {
	open := &connections{most: limits.most(), busy: map[net.Conn]bool{}}
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: limits.ReadHeader,
		ReadTimeout:       limits.Read,
		WriteTimeout:      limits.Write,
		IdleTimeout:       limits.Idle,
		MaxHeaderBytes:    limits.HeaderBytes,
		ConnState:         open.note,
		// A client's errors do not concern the user of gorun.
		ErrorLog: log.New(io.Discard, "", 0),
	}
}

// connections are the open connections of a server. One too many takes the place of the one that has waited longest for a request:
// clients that ask nothing, or never finish asking, keep nobody out.
type connections struct {
	most    int
	mu      sync.Mutex
	waiting []net.Conn // for a request, the first one longest
	busy    map[net.Conn]bool
}

// note is the ConnState of the server, which calls it before it accepts the next connection.
func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, conn)
	c.waiting = slices.DeleteFunc(c.waiting, func(other net.Conn) bool { return other == conn })
	switch state {
	case http.StateNew, http.StateIdle:
		c.waiting = append(c.waiting, conn)
	case http.StateActive:
		c.busy[conn] = true
	}
	if len(c.waiting)+len(c.busy) > c.most && len(c.waiting) > 0 {
		_ = c.waiting[0].Close() // the server notices that
		c.waiting = c.waiting[1:]
	}
}

// IsName reports whether a text can be the name of a machine in a URL (RFC 952, with the underscore that some use).
func IsName(text string) bool {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '_')
	}
	return text != "" && len(text) <= 253 && !strings.ContainsFunc(text, odd)
}

// Known answers only requests for a Host by which this machine is known: any IP address, localhost and these names, at any port. Any
// other name belongs to another site, which has led a browser to this machine under its own name (DNS rebinding), so that its page could
// read the answer. why is the text of the refusal.
func Known(handler http.Handler, names []string, why string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		_, err := netip.ParseAddr(strings.Trim(host, "[]"))
		known := func(name string) bool { return strings.EqualFold(host, name) }
		if err != nil && !known("localhost") && !(IsName(host) && slices.ContainsFunc(names, known)) {
			http.Error(w, why, http.StatusMisdirectedRequest)
			return
		}
		handler.ServeHTTP(w, r)
	})
}
