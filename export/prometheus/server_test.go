package prometheus

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

func listen(t *testing.T, folder string) *Server {
	t.Helper()
	s, err := Listen("0", 0, &Collector{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Finish(ctx)
	})
	return s
}

func get(t *testing.T, url string) (body string, r *http.Response) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), r
}

func TestServer(t *testing.T) {
	folder := t.TempDir()
	leave(t, folder, 10, "0").launch(3)
	s := listen(t, folder)
	if s.Elsewhere || !strings.HasPrefix(s.URL, "http://127.0.0.1:") {
		t.Errorf("%s %v", s.URL, s.Elsewhere)
	}
	page, r := get(t, s.URL)
	if r.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" || !strings.Contains(page, `rank="0",gpu="0",scope="train",work="kernel"} 3`) {
		t.Errorf("%v %s", r.Header, page)
	}
	for _, of := range []struct {
		method, path, host string
		code               int
	}{
		{"HEAD", "/metrics", "localhost", 200}, {"POST", "/metrics", "localhost", 405}, {"GET", "/", "localhost", 404}, {"GET", "/metrics/..", "localhost", 404},
		{"GET", "/metrics", "evil.example.com", 403}, {"GET", "/metrics", "127.0.0.1.example.com", 403},
		{"GET", "/metrics", "localhost:9464", 200}, {"GET", "/metrics", "[::1]:9464", 200},
	} {
		request, err := http.NewRequest(of.method, strings.TrimSuffix(s.URL, "/metrics")+of.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = of.host
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != of.code {
			t.Errorf("%+v: %d", of, r.StatusCode)
		}
	}
}

// The end waits until someone has read the last counters. What was read before does not count, and neither does HEAD.
func TestTheLastCountersAreRead(t *testing.T) {
	folder := t.TempDir()
	p := leave(t, folder, 10, "0")
	s := listen(t, folder)
	get(t, s.URL)
	p.launch(5)
	finished := make(chan struct{})
	go func() { s.Finish(context.Background()); close(finished) }()
	testkit.Await(t, "the end has begun", s.last.Load)
	if r, err := http.Head(s.URL); err != nil || r.Body.Close() != nil {
		t.Fatal(err)
	}
	select {
	case <-finished:
		t.Fatal("it did not wait")
	default:
	}
	if page, _ := get(t, s.URL); !strings.Contains(page, "} 5\n") {
		t.Errorf("the last page: %s", page)
	}
	<-finished
	if _, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/metrics")); err == nil {
		t.Error("it still listens")
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{"9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:1": "0.0.0.0:1", "[::1]:0": "::1:0", "node7:80": "node7:80"} {
		host, port, err := split(address)
		if got := fmt.Sprintf("%s:%d", host, port); err != nil || got != want {
			t.Errorf("%s: %s, %v", address, got, err)
		}
	}
	for _, address := range []string{"localhost", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "-1", "::1", "http://localhost:80", "1:2:3"} {
		if err := CheckAddress(address); err == nil || !strings.Contains(err.Error(), "give HOST:PORT") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for address, want := range map[string]string{
		taken.Addr().String(): fmt.Sprintf("another program listens at %s: give another port", taken.Addr()),
		"192.0.2.1:9464":      "192.0.2.1:9464 is not an address of this machine: give one that is, or a port alone",
	} {
		if _, err := Listen(address, 0, &Collector{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if text := whyNot("127.0.0.1:80", os.NewSyscallError("bind", syscall.EACCES)).Error(); text != "this user may not listen at 127.0.0.1:80: give a port above 1023" {
		t.Error(text)
	}
	if _, err := Listen(fmt.Sprint(port-1), 1, &Collector{}); err == nil || !strings.Contains(err.Error(), fmt.Sprint(port)) {
		t.Errorf("the second rank of a machine listens at the next port: %v", err)
	}
}

// Other machines reach a server only where it was asked for.
func TestServersForOtherMachines(t *testing.T) {
	s, err := Listen("0.0.0.0:0", 0, &Collector{Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	defer s.Finish(ctx)
	if !s.Elsewhere {
		t.Error("it does not say that others can read")
	}
}

// A client that sends nothing, or half a request, does not keep others waiting.
func TestClientsThatStall(t *testing.T) {
	s := listen(t, t.TempDir())
	address := strings.TrimSuffix(strings.TrimPrefix(s.URL, "http://"), "/metrics")
	for range 20 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost:") //nolint:errcheck // the rest does not come
	}
	get(t, s.URL)
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("x", 1<<20)) //nolint:errcheck // it may be refused half-way
	if line, _ := bufio.NewReader(c).ReadString('\n'); strings.Contains(line, "200") {
		t.Errorf("a header of a megabyte is answered with %q", line)
	}
}
