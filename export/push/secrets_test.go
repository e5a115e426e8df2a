package push

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
)

// aToken makes a token as they are given out.
func aToken(r *rand.Rand) string {
	letters := []string{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "0123456789abcdef", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./+="}[r.IntN(3)]
	token := make([]byte, 16+r.IntN(48))
	for i := range token {
		token[i] = letters[r.IntN(len(letters))]
	}
	return string(token)
}

// echoes are ways in which a server repeats a token.
var echoes = map[string]func(token string) string{
	"as it is":                 func(t string) string { return t },
	"in a header":              func(t string) string { return "Authorization: Bearer " + t },
	"in small letters":         strings.ToLower,
	"its first half":           func(t string) string { return t[:len(t)/2] },
	"quoted":                   func(t string) string { return fmt.Sprintf("%q", t) },
	"for a URL":                func(t string) string { return "?key=" + url.QueryEscape(t) },
	"every byte for a URL":     func(t string) string { return "%" + strings.ToUpper(strings.Join(pairs(t), "%")) },
	"base64":                   func(t string) string { return base64.StdEncoding.EncodeToString([]byte(t)) },
	"base64 after other bytes": func(t string) string { return base64.URLEncoding.EncodeToString([]byte("{ user: me, " + t + "}")) },
	"basic authentication":     func(t string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+t)) },
	"base64 of base64": func(t string) string {
		return base64.StdEncoding.EncodeToString([]byte(base64.StdEncoding.EncodeToString([]byte(t))))
	},
	"hexadecimal":             func(t string) string { return "0x" + hex.EncodeToString([]byte(t)) },
	"hexadecimal with blanks": func(t string) string { return strings.Join(pairs(t), " ") },
	"base64 in lines":         func(t string) string { return blanks(base64.StdEncoding.EncodeToString([]byte(t)), 4, "\r\n") },
	"with blanks":             func(t string) string { return blanks(t, 1, " ") },
	"in pieces":               func(t string) string { return blanks(t, 5, `", "`) },
	"in pieces with numbers":  func(t string) string { return blanks(t, 5, " part ") },
	"with zero bytes":         func(t string) string { return blanks(t, 1, "\x00") },
	"escapes of JSON":         func(t string) string { return `\u00` + strings.Join(pairs(t), `\u00`) },
	"escapes of C":            func(t string) string { return `\x` + strings.Join(pairs(t), `\x`) },
	"entities of HTML":        func(t string) string { return html.EscapeString(t) + "&#x" + strings.Join(pairs(t), ";&#x") + ";" },
	"backwards":               reversed,
}

func pairs(token string) (all []string) {
	for _, b := range []byte(token) {
		all = append(all, fmt.Sprintf("%02x", b))
	}
	return all
}

func blanks(text string, every int, between string) string {
	var parts []string
	for ; len(text) > every; text = text[every:] {
		parts = append(parts, text[:every])
	}
	return strings.Join(append(parts, text), between)
}

// However and wherever a server repeats the token, a header of ours or the password of a proxy, no message has it.
func TestServersThatRepeatSecrets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		token, header, proxy := aToken(r), aToken(r), aToken(r)
		t.Setenv("https_proxy", "http://me:"+url.PathEscape(proxy)+"@proxy:3128")
		to := &Target{token: token, headers: http.Header{"X-Key": {header}}, protocol: protocols[2]}
		if err := to.authorize(&http.Request{Header: http.Header{}}); err != nil {
			t.Fatal(err)
		}
		for name, echo := range echoes {
			for _, secret := range []string{token, header, proxy} {
				said := echo(secret)
				inJSON, _ := json.Marshal(map[string]string{"message": "you sent " + said}) //nolint:errcheck // texts
				plain := strings.NewReplacer("\r", " ", "\n", " ").Replace(said)
				for where, a := range map[string]answer{
					"text":     to.judge(&http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {"text/plain"}}}, []byte("bad request | "+plain), time.Unix(0, 0)),
					"JSON":     to.judge(&http.Response{StatusCode: 401, Header: http.Header{}}, inJSON, time.Unix(0, 0)),
					"kind":     to.judge(&http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {said}}}, nil, time.Unix(0, 0)),
					"redirect": to.judge(&http.Response{StatusCode: 302, Header: http.Header{"Location": {"http://there/" + url.PathEscape(said)}}}, nil, time.Unix(0, 0)),
					"error":    {why: to.unreachable(fmt.Errorf("malformed HTTP response %q", said))},
				} {
					if strings.Contains(a.why, secret[:8]) || strings.Contains(a.why, said) || !strings.Contains(a.why, "is left out") && !strings.Contains(a.why, "nowhere") {
						t.Errorf("%s, %s, of %s: %q", name, where, secret, a.why)
					}
				}
			}
		}
	}
}

// What servers say of other things is repeated.
func TestServersThatSayWhy(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		to := &Target{token: aToken(r), headers: http.Header{"X-Team": {"vision"}, "X-Flag": {"1"}, "Authorization": {"Bearer " + aToken(r)}}}
		if err := to.authorize(&http.Request{Header: http.Header{}}); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			`invalid labels: "service name" is not a label, in 17 series of team vision`, "missing bearer token", "rate limit of 4194304 bytes per second exceeded (tenant 1001), retry after 1s",
			"authentication error: invalid API key", "push.v1.PusherService/Push: profile 018f3a9c-7d2e-4b1f-9c55-1a2b3c4d5e6f is older than 2026-11-28T09:50:00.123456Z",
			"x509: certificate signed by unknown authority", "open /var/lib/pyroscope/v2/segments/anonymous/blocks/01HF0Z6Y3M8Q1B2C3D4E5F6G7H: no space left on device",
		} {
			if got := to.secrets.said(text); got != text {
				t.Errorf("with the token %s: %q is printed as %q", to.token, text, got)
			}
		}
	}
}

// A token that was renewed is a secret all the same, in the status too.
func TestNoTokenInTheStatus(t *testing.T) {
	server := exporttest.New(t)
	server.Before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(500)
		fmt.Fprintf(w, "you are %s, who was %s", r.Header.Get("Authorization"), secret)
		return true
	}
	folder := filepath.Join(t.TempDir(), "spool")
	put(t, folder, window(rand.New(rand.NewPCG(5, 6)), 3, time.Now()))
	to, err := NewTarget("pyroscope+"+server.URL, "", environment("PROTON_PUSH_TOKEN", secret))
	if err != nil {
		t.Fatal(err)
	}
	s := &Sender{Target: to, Folder: folder, pace: quick}
	s.Start()
	status := untilItFails(t, s)
	if !strings.HasPrefix(status.LastError, "it answered 500 Internal Server Error: (what it said is left out") {
		t.Errorf("%+v", status)
	}
	s.Target.token = "of another day"
	if got := s.Target.secrets.said("you were " + secret); strings.Contains(got, secret) {
		t.Errorf("the earlier token: %s", got)
	}
}
