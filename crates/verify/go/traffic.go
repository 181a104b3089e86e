package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"
)

// A traffic remembers what a client sent and what became of its watches.
type traffic struct {
	mu sync.Mutex
	// Number of requests by what they are; see count.
	sent map[string]int
	// The media types asked for and sent, with how often.
	accepts map[string]int
	bodies  map[string]int
	// Watches that told their reader that its history is gone.
	expired int
}

func watchTraffic(config *rest.Config) *traffic {
	t := &traffic{sent: map[string]int{}, accepts: map[string]int{}, bodies: map[string]int{}}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			t.count(request)
			response, err := next.RoundTrip(request)
			if err == nil && request.URL.Query().Get("watch") == "true" {
				response.Body = &listening{ReadCloser: response.Body, traffic: t}
			}
			return response, err
		})
	})
	return t
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (t *traffic) count(request *http.Request) {
	query := request.URL.Query()
	what := request.Method
	switch {
	case query.Get("sendInitialEvents") == "true":
		what = "watch-list"
	case query.Get("watch") == "true":
		what = "watch"
	case request.Method == http.MethodGet && (query.Has("limit") || query.Has("resourceVersion")):
		what = "list"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent[what]++
	t.accepts[request.Header.Get("Accept")]++
	if request.Body != nil {
		t.bodies[request.Header.Get("Content-Type")]++
	}
}

// Fresh counts the times that a client asked for everything, instead of going on where it was.
func (t *traffic) fresh() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent["watch-list"] + t.sent["list"]
}

func (t *traffic) timesExpired() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.expired
}

func (t *traffic) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("sent %v, accepts %v, bodies %v, expired %d", t.sent, t.accepts, t.bodies, t.expired)
}

// A listening body looks for the one event that client-go tells nobody about.
type listening struct {
	io.ReadCloser
	traffic *traffic
}

func (l *listening) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	// One event is one chunk, and such an event is short.
	if bytes.Contains(into[:n], []byte(`"reason":"Expired"`)) {
		l.traffic.mu.Lock()
		l.traffic.expired++
		l.traffic.mu.Unlock()
	}
	return n, err
}
