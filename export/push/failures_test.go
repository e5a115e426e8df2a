package push

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile/msgpack"
)

// quick is a pace for tests.
var quick = pace{first: 2 * time.Millisecond, most: 20 * time.Millisecond, hurried: 5 * time.Millisecond, look: 5 * time.Millisecond, asker: 50 * time.Millisecond}

// pushed puts windows into a spool and starts a sender for a server.
func pushed(t *testing.T, server *exporttest.Server, windows int) (s *Sender, want map[string]int64) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "spool")
	r := rand.New(rand.NewPCG(3, 4))
	for i := range windows {
		more := put(t, folder, window(r, 1+r.IntN(12), time.Now().Add(time.Duration(i-windows)*time.Second)))
		if want == nil {
			want = map[string]int64{}
		}
		for path, v := range more {
			want[path] += v
		}
	}
	s = &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
	s.Start()
	return s, want
}

// within is the status of a sender after it has had so long to finish.
func within(s *Sender, wait time.Duration) Status {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return s.Finish(ctx)
}

// untilItFails is the status of a sender that is ended after a request has failed.
func untilItFails(t *testing.T, s *Sender) Status {
	t.Helper()
	testkit.Await(t, "a request fails", func() bool { return s.Status().Retries > 0 })
	return within(s, time.Millisecond)
}

// Whatever a server does at first: when it takes windows, it has each exactly once.
func TestServersThatFailAtFirst(t *testing.T) {
	for name, fail := range map[string]http.HandlerFunc{
		"500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"502 with a page": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(502)
			fmt.Fprint(w, "<html>")
		},
		"429": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) },
		"401": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"404": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusTemporaryRedirect)
		},
		"200 of another":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") },
		"connection reset": func(w http.ResponseWriter, _ *http.Request) { hijacked(w, "") },
		"garbage":          func(w http.ResponseWriter, _ *http.Request) { hijacked(w, "\x00\xff\x00garbage\r\n\r\n") },
		"half an answer": func(w http.ResponseWriter, _ *http.Request) {
			hijacked(w, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
		},
		"headers without end": func(w http.ResponseWriter, _ *http.Request) {
			hijacked(w, "HTTP/1.1 200 OK\r\n"+strings.Repeat("X-A: b\r\n", 20_000))
		},
		"503 with Retry-After": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "0"); w.WriteHeader(503) },
	} {
		t.Run(name, func(t *testing.T) {
			server := exporttest.New(t)
			server.Before = func(w http.ResponseWriter, r *http.Request, n int) bool {
				if n > 7 {
					return false
				}
				fail(w, r)
				return true
			}
			s, want := pushed(t, server, 5)
			status := within(s, testkit.Patience())
			if status.Sent != 5 || status.Waiting != 0 || status.Retries != 7 || status.Refused != 0 {
				t.Errorf("status %+v", status)
			}
			sameTotals(t, server.Totals(), want)
		})
	}
}

// hijacked answers without HTTP, and closes the connection.
func hijacked(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	fmt.Fprint(conn, text)
	conn.Close()
}

// What a server refuses for good is dropped, counted and said; what comes after it is sent.
func TestRefusedWindows(t *testing.T) {
	for _, code := range []int{400, 413, 422} {
		server := exporttest.New(t)
		server.Before = func(w http.ResponseWriter, _ *http.Request, n int) bool {
			if n > 2 {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprint(w, `{"code":"invalid_argument","message":"profile is bad\u0007 because"}`)
			return true
		}
		s, _ := pushed(t, server, 4)
		status := within(s, testkit.Patience())
		if status.Refused+status.Sent < 4 || status.Refused == 0 || status.Waiting != 0 || !strings.Contains(status.WhyRefused, "profile is bad  because") {
			t.Errorf("%d: status %+v", code, status)
		}
	}
}

// Of a window with several GPUs the server refuses one for good, and takes the others, one at the second attempt: both are counted.
func TestARefusalBeforeARetry(t *testing.T) {
	server := exporttest.New(t)
	server.Before = func(w http.ResponseWriter, _ *http.Request, n int) bool {
		if n <= 2 {
			w.WriteHeader([]int{400, 503}[n-1])
		}
		return n <= 2
	}
	folder := filepath.Join(t.TempDir(), "spool")
	p := window(rand.New(rand.NewPCG(1, 1)), 6, time.Now())
	put(t, folder, p)
	s := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
	s.Start()
	stored := len(series(t, "x", p)) - 1
	if status := within(s, testkit.Patience()); status.Refused != 1 || status.Sent != 1 || status.Retries != 1 || len(server.Stored()) != stored {
		t.Errorf("status %+v, %d series stored, want %d", status, len(server.Stored()), stored)
	}
}

// A call of Hurry that comes while the sender finds the spool empty is not lost: it is for a window that was put there since.
func TestHurriesAreMet(t *testing.T) {
	s := &Sender{Spread: true, pace: usual, wake: make(chan struct{}, 1), delays: delays{}}
	folder := filepath.Join(t.TempDir(), "spool")
	putLong(t, folder, 1)
	list, err := spool.List(folder)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	recent := &list[0]
	if s.due(recent) {
		t.Error("the window is not spread")
	}
	s.Hurry()
	asked, _ := s.requests()
	s.Hurry()
	if pause := s.meet(asked, true); !s.due(recent) || pause >= usual.look {
		t.Errorf("the second call is lost; the next pause is %v", pause)
	}
	asked, _ = s.requests()
	if pause := s.meet(asked, false); !s.due(recent) || pause >= usual.look {
		t.Errorf("the hurry ends while windows wait; the next pause is %v", pause)
	}
	if pause := s.meet(asked, true); s.due(recent) || pause != usual.look {
		t.Errorf("the hurry does not end; the next pause is %v", pause)
	}
}

// A window that was recorded while the server was away for too long.
func TestWindowsThatAreTooOld(t *testing.T) {
	server := exporttest.New(t)
	folder := filepath.Join(t.TempDir(), "spool")
	r := rand.New(rand.NewPCG(5, 6))
	put(t, folder, window(r, 3, time.Now().Add(-2*time.Hour)), window(r, 3, time.Now()))
	status := finish(t, "pyroscope+"+server.URL, folder, testkit.Patience())
	if status.Sent != 1 || status.Refused != 1 || !strings.Contains(status.WhyRefused, "too old") {
		t.Errorf("status %+v", status)
	}
}

// Of a window with several GPUs the server takes one and is busy for the other, for this sender and the next: each arrives once.
func TestHalfAWindow(t *testing.T) {
	server := exporttest.New(t)
	server.Before = func(w http.ResponseWriter, _ *http.Request, n int) bool {
		if n%2 == 1 {
			return false
		}
		w.WriteHeader(429)
		return true
	}
	folder := filepath.Join(t.TempDir(), "spool")
	want := put(t, folder, window(rand.New(rand.NewPCG(1, 1)), 6, time.Now()))
	first := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: pace{first: time.Hour, most: time.Hour, hurried: time.Hour, look: time.Millisecond}}
	first.Start()
	testkit.Await(t, "the first request is to be repeated", func() bool { return first.Status().Retries > 0 })
	first.stop() // it is killed
	<-first.ended
	if n := len(server.Stored()); n != 1 {
		t.Fatalf("%d series of the window are stored, want the first", n)
	}
	s := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
	s.Start()
	if status := within(s, testkit.Patience()); status.Sent != 1 {
		t.Errorf("status %+v", status)
	}
	sameTotals(t, server.Totals(), want)
}

// The end of a run waits as long as it is allowed to, and leaves the windows to the next.
func TestAServerThatIsAway(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + closed.Addr().String()
	closed.Close()
	server := exporttest.New(t)
	folder := filepath.Join(t.TempDir(), "spool")
	want := put(t, folder, window(rand.New(rand.NewPCG(1, 1)), 5, time.Now()))
	away := &Sender{Target: target(t, "pyroscope+"+url), Folder: folder}
	away.Start()
	status := untilItFails(t, away)
	if status.Sent != 0 || status.Waiting != 1 || !strings.Contains(status.LastError, "connection refused") {
		t.Errorf("status %+v", status)
	}
	if next := finish(t, "pyroscope+"+server.URL, folder, testkit.Patience()); next.Sent != 1 {
		t.Errorf("status %+v", next)
	}
	sameTotals(t, server.Totals(), want)
}

// A server that sends a byte now and then holds up neither the end nor, for longer than one request, the sender. What it has not
// answered is sent again.
func TestASlowServer(t *testing.T) {
	server := exporttest.New(t)
	server.Before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return true
		}
		defer conn.Close()
		fmt.Fprint(conn, "HTTP/1.1 200 OK\r\n")
		for err == nil {
			_, err = fmt.Fprint(conn, "X-A: b\r\n")
			time.Sleep(10 * time.Millisecond)
		}
		return true
	}
	folder := filepath.Join(t.TempDir(), "spool")
	want := put(t, folder, window(rand.New(rand.NewPCG(1, 1)), 5, time.Now()))
	s := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
	s.Target.client.Timeout = 50 * time.Millisecond
	s.Start()
	testkit.Await(t, "two requests are given up", func() bool { return s.Status().Retries >= 2 })
	if status := within(s, time.Millisecond); status.Sent != 0 || status.Waiting != 1 {
		t.Errorf("status %+v", status)
	}
	awake := exporttest.New(t) // another one: the first may still read a request that was given up
	if status := finish(t, "pyroscope+"+awake.URL, folder, testkit.Patience()); status.Sent != 1 {
		t.Errorf("status %+v", status)
	}
	sameTotals(t, awake.Totals(), want)
}

func TestANameThatCannotBeResolved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "spool")
	put(t, folder, window(rand.New(rand.NewPCG(1, 1)), 5, time.Now()))
	to := target(t, "https://pyroscope.invalid:4040")
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "pyroscope.invalid", IsNotFound: true}
	}}
	to.client.Transport.(*http.Transport).DialContext = (&net.Dialer{Resolver: resolver}).DialContext
	s := &Sender{Target: to, Folder: folder, pace: quick}
	s.Start()
	if status := untilItFails(t, s); status.Waiting != 1 || !strings.Contains(status.LastError, "pyroscope.invalid cannot be resolved") {
		t.Errorf("status %+v", status)
	}
}

// Retry-After is obeyed: no request comes before.
func TestRetryAfterIsObeyed(t *testing.T) {
	server := exporttest.New(t)
	var first, second time.Time
	server.Before = func(w http.ResponseWriter, _ *http.Request, n int) bool {
		switch n {
		case 1:
			first = time.Now()
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(429)
			return true
		case 2:
			second = time.Now()
		}
		return false
	}
	s, _ := pushed(t, server, 1)
	if status := within(s, testkit.Patience()); status.Sent != 1 {
		t.Errorf("status %+v", status)
	}
	if pause := second.Sub(first); pause < time.Second {
		t.Errorf("the second request came after %v, and the server asked for 1 s", pause)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-3": 0, "soon": 0, "99999999999": mostWait, "100000": mostWait,
		"Mon, 23 Nov 2026 04:00:20 GMT": 20 * time.Second, "Mon, 23 Nov 2026 03:00:20 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// Pauses grow from one failure to the next, up to the longest, and differ.
func TestBackoff(t *testing.T) {
	s := &Sender{pace: usual}
	var longest []time.Duration
	for range 12 {
		most := time.Duration(0)
		for range 200 {
			failures := s.failures
			s.pause(answer{outcome: later})
			most = max(most, time.Until(s.notUntil))
			s.failures = failures
		}
		s.failures++
		longest = append(longest, most)
	}
	for i, most := range longest {
		limit := min(time.Second<<i, time.Minute)
		if most > limit || most < limit*8/10 {
			t.Errorf("after %d failures, the longest of 200 pauses is %v, want nearly %v", i+1, most, limit)
		}
	}
}

// A file that a power cut has damaged is dropped and counted; the others are sent.
func TestDamagedWindows(t *testing.T) {
	server := exporttest.New(t)
	folder := filepath.Join(t.TempDir(), "spool")
	want := put(t, folder, window(rand.New(rand.NewPCG(1, 1)), 5, time.Now()))
	whole, err := spool.List(folder)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole[0].Path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := [][]byte{nil, []byte("garbage"), text[:len(text)/2], make([]byte, len(text))}
	for i, b := range damaged {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%019d-1-1.window", i)), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	status := finish(t, "pyroscope+"+server.URL, folder, testkit.Patience())
	if status.Sent != 1 || status.Unreadable != int64(len(damaged)) || status.Waiting != 0 {
		t.Errorf("status %+v", status)
	}
	sameTotals(t, server.Totals(), want)
}

// Two senders share a spool: each window is sent once, and when one ends the other takes over.
func TestTwoSenders(t *testing.T) {
	server := exporttest.New(t)
	folder := filepath.Join(t.TempDir(), "spool")
	want := map[string]int64{}
	add := func(seed uint64) {
		for path, v := range put(t, folder, window(rand.New(rand.NewPCG(seed, 1)), 5, time.Now())) {
			want[path] += v
		}
	}
	add(1)
	a := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
	b := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
	a.Start()
	b.Start()
	for seed := range uint64(20) {
		add(seed + 2)
	}
	testkit.Await(t, "all windows are sent", func() bool { return a.Status().Sent+b.Status().Sent == 21 })
	within(a, testkit.Patience())
	add(100)
	if status := within(b, testkit.Patience()); status.Waiting != 0 {
		t.Errorf("status %+v", status)
	}
	sameTotals(t, server.Totals(), want)
}

// 10,000 windows, 300 in make test: memory does not grow with them, and the spool is empty in the end.
func TestTenThousandWindows(t *testing.T) {
	windows := 300
	if testkit.All() {
		windows = 10_000
	}
	server := exporttest.New(t)
	requests := 0
	server.Before = func(w http.ResponseWriter, _ *http.Request, n int) bool { // keeps nothing
		requests = n
		w.Header().Set("Content-Type", "application/proto")
		return true
	}
	folder := filepath.Join(t.TempDir(), "spool")
	r := rand.New(rand.NewPCG(1, 1))
	s := &Sender{Target: target(t, "pyroscope+"+server.URL), Folder: folder, pace: quick}
	if err := spool.Make(folder); err != nil {
		t.Fatal(err)
	}
	s.Start()
	p := window(r, 5, time.Now()) // one GPU
	w := spool.NewWriter(folder, spool.ProcessLimit)
	send := func(n int) (heap int64) { // both times the sender has sent everything, and what it keeps for reuse has been freed
		sent := s.Status().Sent
		for range n {
			if err := w.Put(time.Now(), func(out io.Writer) error { return msgpack.Write(out, p) }); err != nil {
				t.Fatal(err)
			}
		}
		s.Hurry()
		testkit.Await(t, "all windows are sent", func() bool { return s.Status().Sent == sent+int64(n) })
		return testkit.Heap()
	}
	early := send(windows / 10)
	late := send(windows - windows/10)
	t.Logf("the heap: %d bytes, then %d", early, late)
	if grown := late - early; grown > 512<<10 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	status := within(s, testkit.Patience())
	if status.Sent != int64(windows) || requests != windows {
		t.Errorf("status %+v, %d requests", status, requests)
	}
	if list, err := spool.List(folder); err != nil || len(list) != 0 {
		t.Errorf("%d windows are left, %v", len(list), err)
	}
}
