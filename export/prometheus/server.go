package prometheus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/goproton/goproton/internal/foreign"
)

// Server answers to Prometheus at /metrics, and to nothing else.
type Server struct {
	URL       string
	Elsewhere bool // other machines reach it

	collector *Collector
	http      http.Server
	ended     chan struct{}

	last  atomic.Bool   // what is collected from now on is the last that there is
	taken chan struct{} // closed when someone has read that
	take  sync.Once
}

// CheckAddress refuses what is not an address to listen at.
func CheckAddress(address string) error {
	_, _, err := split(address)
	return err
}

// split reads HOST:PORT, :PORT or PORT. Without a host it is this machine's own address, which no other machine reaches.
func split(address string) (host string, port int, err error) {
	if _, err := strconv.Atoi(address); err == nil {
		address = ":" + address
	}
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("%q is not an address to listen at: give HOST:PORT, as in 127.0.0.1:9464", address)
	}
	return cmp.Or(host, "127.0.0.1"), port, nil
}

// Listen begins to serve what a collector has. Of the ranks of one machine that listen, each has a port of its own: local is the
// number that is added to the port, unless the machine chooses the port (0).
func Listen(address string, local int, c *Collector) (*Server, error) {
	host, port, err := split(address)
	if err != nil {
		return nil, err
	}
	if port != 0 {
		port += local
	}
	at := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return nil, whyNot(at, err)
	}
	where := listener.Addr().(*net.TCPAddr)
	s := &Server{collector: c, Elsewhere: !where.IP.IsLoopback(), ended: make(chan struct{}), taken: make(chan struct{})}
	s.URL = "http://" + net.JoinHostPort(host, strconv.Itoa(where.Port)) + "/metrics"
	s.http = http.Server{Handler: s,
		ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: 3 * patience, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(listener)
	}()
	return s, nil
}

// patience is how long a request may take. Prometheus gives up after 10 s by default.
const patience = 5 * time.Second

// whyNot says why this process cannot listen at an address, and what to do.
func whyNot(at string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("another program listens at %s: give another port", at)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine: give one that is, or a port alone", at)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("this user may not listen at %s: give a port above 1023", at)
	}
	return fmt.Errorf("listen at %s: %w", at, err)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.Elsewhere && !foreign.FromThisMachine(r.RemoteAddr, r.Host):
		http.Error(w, "ask for localhost or 127.0.0.1: this is for programs of this machine", http.StatusForbidden)
	case r.URL.Path != "/metrics":
		http.Error(w, "the counters are at /metrics", http.StatusNotFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
	default:
		s.answer(w, r.Method)
	}
}

func (s *Server) answer(w http.ResponseWriter, method string) {
	last := s.last.Load()
	page := Text(s.collector.Collect())
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(page)))
	if _, err := w.Write(page); err == nil && last && method != http.MethodHead {
		s.take.Do(func() { close(s.taken) })
	}
}

// Finish waits until someone has read the last counters, or until ctx ends, and closes the server.
func (s *Server) Finish(ctx context.Context) {
	s.last.Store(true)
	select {
	case <-ctx.Done():
	case <-s.taken:
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // for answers that are on their way
	defer cancel()
	_ = s.http.Shutdown(ctx)
	_ = s.http.Close()
	<-s.ended
}
