package push

import (
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/internal/testkit"
)

// environment is a set of variables.
func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestProtocolOfAURL(t *testing.T) {
	for _, c := range []struct{ given, name, protocol, url string }{
		{"http://host", "", "pyroscope", "http://host/push.v1.PusherService/Push"},
		{"https://host:4040/", "", "pyroscope", "https://host:4040/push.v1.PusherService/Push"},
		{"http://host:7070", "", "parca", "http://host:7070/api/profiles/writeraw"},
		{"http://host:4318", "", "otlp", "http://host:4318/v1development/profiles"},
		{"https://host/prefix", "parca", "parca", "https://host/prefix/api/profiles/writeraw"},
		{"otlp+https://host:4040", "", "otlp", "https://host:4040/v1development/profiles"},
		{"PARCA+http://host:4318", "parca", "parca", "http://host:4318/api/profiles/writeraw"},
		{"http://host:9/a/v1development/profiles", "", "otlp", "http://host:9/a/v1development/profiles"},
		{"http://[::1]:7070", "", "parca", "http://[::1]:7070/api/profiles/writeraw"},
	} {
		to, err := NewTarget(c.given, c.name, none)
		if err != nil || to.protocol.name != c.protocol || to.url != c.url {
			t.Errorf("%s: %+v, %v", c.given, to, err)
		}
	}
}

const secret = "s3cr3t-t0ken"

// What is refused is refused in words that say what to do, and that have no secret.
func TestTargetsThatAreRefused(t *testing.T) {
	folder := t.TempDir()
	headers := filepath.Join(folder, "headers")
	if err := os.WriteFile(headers, []byte("X-Good: 1\n"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		given, name string
		env         []string
		says        string
	}{
		{"https://" + secret + "@host", "", nil, "PROTON_PUSH_TOKEN_FILE"},
		{"https://user:" + secret + "@host", "", nil, "PROTON_PUSH_USER"},
		{"https://host/?key=" + secret, "", nil, "PROTON_PUSH_HEADERS_FILE"},
		{"https://host/#" + secret, "", nil, "after ? or #"},
		{"https://user:" + secret + "@ho st%", "", nil, "cannot be read"},
		{"host:4040", "", nil, "give one like https://"},
		{"", "", nil, "give one like https://"},
		{"ftp://host", "", nil, "use http or https"},
		{"grpc+https://host", "", nil, "use pyroscope, parca, otlp"},
		{"https://host", "jaeger", nil, "use pyroscope, parca, otlp"},
		{"otlp+https://host", "parca", nil, "leave one out"},
		{"http://host", "", []string{"PROTON_PUSH_TOKEN", secret}, "unencrypted"},
		{"https://host", "", []string{"PROTON_PUSH_TOKEN", secret, "PROTON_PUSH_TOKEN_FILE", "/x"}, "unset one"},
		{"https://host", "", []string{"PROTON_PUSH_TOKEN_FILE", folder + "/gone"}, "no such file"},
		{"https://host", "", []string{"PROTON_PUSH_HEADERS_FILE", headers}, "line 2"},
		{"https://host", "", []string{"PROTON_PUSH_CA", headers}, "PEM"},
		{"https://host", "", []string{"PROTON_PUSH_CA", folder + "/gone"}, "PROTON_PUSH_CA"},
	} {
		_, err := NewTarget(c.given, c.name, environment(c.env...))
		switch {
		case err == nil:
			t.Errorf("%s %v was accepted", c.given, c.env)
		case !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret):
			t.Errorf("%s %v: %v", c.given, c.env, err)
		}
	}
}

// A server is let know who we are only over a connection whose certificate is verified.
func TestCertificatesAreVerified(t *testing.T) {
	server := exporttest.NewTLS(t)
	folder := filepath.Join(t.TempDir(), "spool")
	want := put(t, folder, window(rand.New(rand.NewPCG(1, 1)), 5, time.Now()))
	sender := func(env ...string) *Sender {
		to, err := NewTarget("pyroscope+"+server.URL, "", environment(append(env, "PROTON_PUSH_TOKEN", secret, "PROTON_PUSH_TENANT", "team-a")...))
		if err != nil {
			t.Fatal(err)
		}
		s := &Sender{Target: to, Folder: folder, pace: quick}
		s.Start()
		return s
	}
	if status := untilItFails(t, sender()); status.Sent != 0 || !strings.Contains(status.LastError, "certificate") {
		t.Errorf("a certificate of an unknown authority: %+v", status)
	}
	if server.Requests() != 0 {
		t.Error("a request reached a server with another certificate")
	}
	authorities := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authorities, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if status := within(sender("PROTON_PUSH_CA", authorities), testkit.Patience()); status.Sent != 1 {
		t.Errorf("%+v", status)
	}
	sameTotals(t, server.Totals(), want)
	if h := server.Headers()[0]; h.Get("Authorization") != "Bearer "+secret || h.Get("X-Scope-OrgID") != "team-a" {
		t.Errorf("headers %v", h)
	}
}

// FuzzAnswer: whatever a server answers, it is taken, refused or repeated; a reason is one line that every terminal takes, and a wait is bounded.
func FuzzAnswer(f *testing.F) {
	f.Add(200, "application/proto", "", []byte(""))
	f.Add(200, "application/x-protobuf; charset=\xff", "-1", []byte("\x0a\x06\x08\x02\x12\x02no"))
	f.Add(429, "application/json", "Mon, 23 Nov 2026 04:00:20 GMT", []byte(`{"message":"\u001b[2Jno","error":"why"}`))
	f.Add(302, "text/plain", "9999999999999999999", []byte("\x80\n"))
	f.Fuzz(func(t *testing.T, code int, kind, wait string, body []byte) {
		for _, name := range Protocols() {
			to, err := NewTarget(name+"+http://localhost", "", none)
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{"Content-Type": {kind}, "Retry-After": {wait}, "Location": {kind}}
			a := to.judge(&http.Response{StatusCode: code, Header: header}, body, time.Unix(1_700_000_000, 0))
			if a.wait < 0 || a.wait > mostWait || (a.outcome == taken) != (a.why == "") || a.outcome == taken && (code < 200 || code > 299) {
				t.Errorf("%s: %+v", name, a)
			}
			if !utf8.ValidString(a.why) || strings.ContainsFunc(a.why, unicode.IsControl) || len(a.why) > 4096 {
				t.Errorf("%s: the reason %q", name, a.why)
			}
		}
	})
}

// A redirect is not followed: the token is for one server.
func TestNoTokenForAnotherServer(t *testing.T) {
	other, server := exporttest.New(t), exporttest.New(t)
	server.Before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		http.Redirect(w, r, strings.Replace(other.URL, "http://", "http://user:"+secret+"@", 1)+"/?key="+secret, http.StatusPermanentRedirect)
		return true
	}
	s, _ := pushed(t, server, 1)
	status := untilItFails(t, s)
	if other.Requests() != 0 || !strings.Contains(status.LastError, "redirects (308) to "+other.URL) || strings.Contains(status.LastError, secret) {
		t.Errorf("%d requests, %+v", other.Requests(), status)
	}
}

// A token is read again for each request, and the headers of a file are sent.
func TestTokensAreRenewed(t *testing.T) {
	server := exporttest.New(t)
	folder := t.TempDir()
	file, headers := filepath.Join(folder, "token"), filepath.Join(folder, "headers")
	if err := os.WriteFile(headers, []byte("# ours\n\nX-Team: vision\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("first\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	to, err := NewTarget("pyroscope+"+server.URL, "", environment("PROTON_PUSH_TOKEN_FILE", file, "PROTON_PUSH_HEADERS_FILE", headers, "PROTON_PUSH_USER", "17"))
	if err != nil {
		t.Fatal(err)
	}
	for i, token := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		to.post(t.Context(), Series{})
		r := &http.Request{Header: server.Headers()[i]}
		if user, password, ok := r.BasicAuth(); !ok || user != "17" || password != token || r.Header.Get("X-Team") != "vision" {
			t.Errorf("headers %v", r.Header)
		}
	}
}

// Spools differ where servers or identities do: the sender of a spool sends all of it with its own token.
func TestSpoolsByIdentity(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct {
		url string
		env []string
	}{
		{"https://a", nil}, {"https://b", nil}, {"https://a/x", nil}, {"parca+https://a", nil},
		{"https://a", []string{"PROTON_PUSH_TENANT", "t"}}, {"https://a", []string{"PROTON_PUSH_TOKEN", secret}},
		{"https://a", []string{"PROTON_PUSH_TOKEN", secret + "2"}}, {"https://a", []string{"PROTON_PUSH_TOKEN", secret, "PROTON_PUSH_USER", "u"}},
	} {
		env := environment(append(c.env, "HOME", "/home/me")...)
		to, err := NewTarget(c.url, "", env)
		if err != nil {
			t.Fatal(err)
		}
		folder, err := to.Spool(env)
		if err != nil || !strings.HasPrefix(folder, "/home/me/.local/state/goproton/spool/") || strings.Contains(folder, secret) {
			t.Errorf("%s, %v", folder, err)
		}
		if other, known := seen[folder]; known {
			t.Errorf("%s %v and %s share %s", c.url, c.env, other, folder)
		}
		seen[folder] = fmt.Sprint(c.url, c.env)
	}
}
