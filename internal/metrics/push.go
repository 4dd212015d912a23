package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus/push"

	"gorun/internal/hint"
)

// ErrURL is wrapped by NewPusher's error when the text is not an address to push to.
var ErrURL = errors.New("not an http or https URL")

// pushTimeout limits a push: the last one comes after the run and must not delay its result.
const pushTimeout = 10 * time.Second

// gateway is an HTTP client that sends the query of the Pushgateway's URL with each request: the client of Prometheus
// adds its path to the end of what it is given. Its errors do not repeat the query, which may hold a password.
type gateway struct {
	http.Client
	query string
}

func (g *gateway) Do(r *http.Request) (*http.Response, error) {
	r.URL.RawQuery = g.query
	response, err := g.Client.Do(r)
	if failed := new(url.Error); errors.As(err, &failed) {
		err = failed.Err
	}
	return response, err
}

// Pusher sends the run's figures to a Pushgateway.
type Pusher struct {
	pusher *push.Pusher
	shown  string // the URL without its password and its query
	stop   func() // stops Every
}

// NewPusher prepares a push to the Pushgateway at base ("http://push.example:9091"; a user and a password in it are
// sent as basic authentication, a query with each push) under the job "gorun" and, unless they are "", the instance and
// Info.Run; nothing is sent yet. A push replaces the one before it under the same names. Its error wraps ErrURL and has
// a Hint.
func (e *Exporter) NewPusher(base, instance string) (*Pusher, error) {
	target, err := url.Parse(base)
	if err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https") {
		// The text is not repeated: what url.Parse rejects may hold a password.
		return nil, hint.With(fmt.Errorf("cannot push metrics: %w", ErrURL),
			"write http://HOST:PORT, as in http://127.0.0.1:9091")
	}
	client := &gateway{http.Client{Timeout: pushTimeout}, target.RawQuery}
	target.RawQuery, target.ForceQuery, target.Fragment, target.RawFragment = "", false, "", ""
	shown, user := target.Redacted(), target.User
	// The client's own errors repeat the URL, password and all: it gets one without.
	target.User = nil
	pusher := push.New(target.String(), "gorun").Gatherer(e.run).Client(client)
	if user != nil {
		password, _ := user.Password()
		pusher.BasicAuth(user.Username(), password)
	}
	if instance != "" {
		pusher.Grouping("instance", instance)
	}
	if run := e.collector.info.Run; run != "" {
		pusher.Grouping(runLabel, run)
	}
	return &Pusher{pusher: pusher, shown: shown, stop: func() {}}, nil
}

// Every sends the figures at this interval until Push or Close.
func (p *Pusher) Every(interval time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_ = p.pusher.PushContext(ctx) // only the last push matters, which Push reports
			}
		}
	}()
	p.stop = func() {
		cancel()
		<-stopped
	}
}

// Close stops Every.
func (p *Pusher) Close() error {
	p.stop()
	return nil
}

// Push sends the present figures for the last time; they replace the earlier ones. A failure does not affect the run:
// the caller warns.
func (p *Pusher) Push(ctx context.Context) error {
	p.stop()
	if err := p.pusher.PushContext(ctx); err != nil {
		return fmt.Errorf("cannot push metrics to %s: %w", p.shown, err)
	}
	return nil
}
