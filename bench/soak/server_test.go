package soak

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
)

// server is a server like Pyroscope's that adds up what arrives by service, and fails now and then.
type server struct {
	address string
	pushes  *exporttest.Server
	began   time.Time
	period  time.Duration // between two failures; one lasts for a sixth of it
	ended   chan struct{}

	mu      sync.Mutex
	now     string // what a test makes it do
	good    bool   // it does not fail any more
	sums    map[string]map[string]int64
	windows int
	seen    map[string]bool // ids: a window that was stored may come again
	again   int
	failed  map[string]int // requests; for "down", times
	refused []string
}

// What the server does at one time after another: "down" refuses connections, "slow" answers later than the sender waits, "stored and cut"
// stores the window and does not answer.
var failures = []string{"down", "slow", "429", "500", "garbage", "stored and cut", "503 with a page"}

func newServer(t *testing.T, period time.Duration) *server {
	s := &server{began: time.Now(), period: period, sums: map[string]map[string]int64{}, seen: map[string]bool{}, failed: map[string]int{}, ended: make(chan struct{})}
	s.pushes = &exporttest.Server{Oldest: time.Hour, Take: s.take}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	var serving sync.WaitGroup
	serving.Go(func() { s.serve(l) })
	t.Cleanup(func() { close(s.ended); serving.Wait() })
	return s
}

// serve closes the listener while the server is down.
func (s *server) serve(l net.Listener) {
	var h *http.Server
	for {
		switch down := s.failure() == "down"; {
		case down && h != nil:
			h.Close()
			h = nil
			s.count("down")
		case !down && h == nil:
			if l == nil {
				l, _ = net.Listen("tcp", s.address) //nolint:errcheck // it is tried again
			}
			if l != nil {
				h = &http.Server{Handler: s}
				go h.Serve(l) //nolint:errcheck // it ends with Close
				l = nil
			}
		}
		select {
		case <-s.ended:
			if h != nil {
				h.Close()
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// failure is what the server does now, "" if it works: it fails from the middle of each period.
func (s *server) failure() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.good || s.now != "" {
		return s.now
	}
	n, since := int(time.Since(s.began)/s.period), time.Since(s.began)%s.period
	if since < s.period/2 || since > s.period*2/3 {
		return ""
	}
	return failures[n%len(failures)]
}

// behave ends all failures.
func (s *server) behave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.good, s.now = true, ""
}

func (s *server) count(failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[failure]++
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind := s.failure()
	if kind != "" {
		s.count(kind)
	}
	switch kind {
	case "slow":
		select {
		case <-time.After(12 * time.Second):
		case <-r.Context().Done():
		case <-s.ended:
		}
		w.WriteHeader(http.StatusGatewayTimeout)
	case "429":
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusTooManyRequests)
	case "500":
		w.WriteHeader(http.StatusInternalServerError)
	case "503 with a page":
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, "<html><body>maintenance</body></html>")
	case "garbage":
		answer(w, "\x16\x03\x01 not HTTP\r\n\r\n")
	case "stored and cut":
		s.pushes.ServeHTTP(httptest.NewRecorder(), r)
		answer(w, "")
	default:
		said := &recorder{ResponseWriter: w, code: http.StatusOK}
		s.pushes.ServeHTTP(said, r)
		if said.code != http.StatusOK {
			s.refuses(fmt.Sprintf("the server answers %d: %s", said.code, said.text.String()))
		}
	}
}

// recorder remembers an answer.
type recorder struct {
	http.ResponseWriter
	code int
	text bytes.Buffer
}

func (r *recorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.text.Write(b)
	return r.ResponseWriter.Write(b)
}

// answer sends bytes that need not be HTTP, and closes the connection.
func answer(w http.ResponseWriter, text string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		fmt.Fprint(c, text)
		c.Close()
	}
}

func (s *server) take(all []exporttest.Stored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range all {
		if s.seen[one.ID] {
			s.again++
			continue
		}
		s.seen[one.ID] = true
		s.windows++
		service := one.Labels["service_name"]
		if s.sums[service] == nil {
			s.sums[service] = map[string]int64{}
		}
		if service == "steady" { // its call paths are compared
			exporttest.Add(s.sums[service], "", one.Profile)
		}
		for i, kind := range one.Profile.SampleType {
			for _, sample := range one.Profile.Sample {
				if kind.Type == "launches" {
					s.sums[service]["launches"] += sample.Value[i]
				}
			}
		}
	}
}

func (s *server) refuses(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.refused) < 10 {
		s.refused = append(s.refused, why)
	}
}

func (s *server) refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// launched is the number of launches that arrived from a service, and totals is described with exporttest.Add.
func (s *server) launched(service string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sums[service]["launches"]
}

func (s *server) totals(service string) map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := maps.Clone(s.sums[service])
	delete(out, "launches")
	return out
}

func (s *server) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("the server: %d windows, %d of them twice; it failed: %v", s.windows, s.again, s.failed)
}
