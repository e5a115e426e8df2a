package push

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/settings"
	"github.com/goproton/goproton/internal/version"
)

// Target is a server, and how to be let in; or a folder. Secrets come from the environment or from files, and no message has them.
type Target struct {
	protocol protocol
	url      string // to post to
	shown    string // what the user gave
	tenant   string
	user     string // of basic authentication, with the token as password; "" is a bearer token
	token    string
	file     string // of the token, read again for each request, because tokens are renewed
	headers  http.Header
	client   *http.Client
	secrets  secrets
	folder   *folder // instead of a server; nil for one
}

// String is the URL as the user gave it. It has no secrets.
func (t *Target) String() string { return t.shown }

// NewTarget reads the URL of a server. The protocol is name, else what stands before a plus sign in the scheme, else that of the
// path, else that of the port, else pyroscope.
func NewTarget(given, name string, env settings.Env) (*Target, error) {
	t := &Target{tenant: settings.PushTenant.Get(env), user: settings.PushUser.Get(env), token: settings.PushToken.Get(env), file: settings.PushTokenFile.Get(env)}
	if f, err := newFolder(given, name); f != nil || err != nil {
		return &Target{protocol: protocol{name: "file"}, url: given, shown: given, folder: f}, err
	}
	u, err := parseURL(given)
	if err != nil {
		return nil, err
	}
	t.shown = u.String()
	if t.protocol, err = chooseProtocol(u, name); err != nil {
		return nil, err
	}
	if !strings.HasSuffix(u.Path, t.protocol.path) {
		u.Path = strings.TrimSuffix(u.Path, "/") + t.protocol.path
	}
	t.url = u.String()
	if t.token != "" && t.file != "" {
		return nil, fmt.Errorf("%s and %s are both set: unset one", settings.PushToken.Name, settings.PushTokenFile.Name)
	}
	if t.headers, err = readHeaders(settings.PushHeadersFile.Get(env)); err != nil {
		return nil, err
	}
	if _, err := t.secret(); err != nil {
		return nil, err
	}
	if u.Scheme == "http" && (t.token != "" || t.file != "" || len(t.headers) > 0) && !foreign.ThisMachine(u.Hostname()) {
		return nil, fmt.Errorf("%s would get the token and headers unencrypted: give an https URL, or unset %s, %s and %s", t.shown,
			settings.PushToken.Name, settings.PushTokenFile.Name, settings.PushHeadersFile.Name)
	}
	t.client, err = newClient(settings.PushCA.Get(env))
	return t, err
}

func parseURL(given string) (*url.URL, error) {
	u, err := url.Parse(given)
	switch {
	case err != nil:
		return nil, errors.New("the URL to push to cannot be read: give one like https://pyroscope.example.com:4040") // without the URL, which may have a password
	case u.User != nil:
		return nil, fmt.Errorf("the URL to push to has a user or a password, which every user of this machine can see on the command line: "+
			"put the password or token into a file and its path into %s, and the user into %s", settings.PushTokenFile.Name, settings.PushUser.Name)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("the URL to push to has a part after ? or #: put keys into %s or %s instead", settings.PushTokenFile.Name, settings.PushHeadersFile.Name)
	case u.Host == "":
		return nil, fmt.Errorf("the URL to push to is %q: give one like https://pyroscope.example.com:4040", given)
	}
	return u, nil
}

// chooseProtocol also takes the protocol out of the scheme.
func chooseProtocol(u *url.URL, name string) (protocol, error) {
	before, scheme, found := strings.Cut(u.Scheme, "+")
	if found {
		if name != "" && !strings.EqualFold(name, before) {
			return protocol{}, fmt.Errorf("the URL to push to says protocol %s, and the option protocol says %s: leave one out", before, name)
		}
		u.Scheme, name = scheme, before
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return protocol{}, fmt.Errorf("the URL to push to begins with %s://: use http or https, with a protocol before it if need be, as in otlp+http://localhost:4318, or file:///FOLDER", u.Scheme)
	}
	if name != "" {
		return protocolNamed(name)
	}
	for _, p := range protocols {
		if strings.HasSuffix(u.Path, p.path) {
			return p, nil
		}
	}
	for _, p := range protocols {
		if u.Port() == p.port {
			return p, nil
		}
	}
	return protocols[0], nil
}

// readHeaders reads lines like "Name: value".
func readHeaders(path string) (http.Header, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the headers of %s: %w", settings.PushHeadersFile.Name, err)
	}
	defer f.Close()
	headers := http.Header{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("read %s: line %d is not a header: write Name: value", path, n) // the line may be a secret
		}
		headers.Add(name, strings.TrimSpace(value))
	}
	return headers, lines.Err()
}

// secret is the token as it is now.
func (t *Target) secret() (string, error) {
	if t.file == "" {
		return t.token, nil
	}
	text, err := os.ReadFile(t.file)
	if err != nil {
		return "", fmt.Errorf("read the token of %s: %w", settings.PushTokenFile.Name, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// request is a request with everything that lets us in.
func (t *Target) authorize(r *http.Request) error {
	for name, values := range t.headers {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", t.protocol.contentType)
	if t.protocol.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	r.Header.Set("User-Agent", "goproton/"+version.Number)
	if t.protocol.name == "pyroscope" {
		r.Header.Set("Connect-Protocol-Version", "1")
	}
	if t.tenant != "" {
		r.Header.Set("X-Scope-OrgID", t.tenant)
	}
	token, err := t.secret()
	if err != nil {
		return err
	}
	t.secrets.add(token, t.headers)
	switch {
	case t.user != "":
		r.SetBasicAuth(t.user, token)
	case token != "":
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// Times of one request. A server that takes a byte a second holds up a sender for requestPatience, not the program.
const (
	connectPatience = 5 * time.Second
	requestPatience = 10 * time.Second
)

// newClient returns a client that verifies certificates, with those of the machine or of a file, and follows no redirect: the
// token is meant for one server.
func newClient(authorities string) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if authorities != "" {
		pem, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("read the certificates of %s: %w", settings.PushCA.Name, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the certificates of %s: %s has none in PEM form", settings.PushCA.Name, authorities)
		}
	}
	return &http.Client{
		Timeout:       requestPatience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConns: 2, IdleConnTimeout: 90 * time.Second,
			DialContext: (&net.Dialer{Timeout: connectPatience}).DialContext, TLSHandshakeTimeout: connectPatience, MaxResponseHeaderBytes: 64 << 10,
		},
	}, nil
}

// Spool is the folder for this target: one per server and identity, because the sender that finds windows there sends them with
// its own token. The name has no more of a token than 32 bits of its hash, which do not give it away.
func (t *Target) Spool(env settings.Env) (string, error) {
	base := settings.PushSpool.Get(env)
	if base == "" {
		state := env("XDG_STATE_HOME")
		if !filepath.IsAbs(state) {
			home := env("HOME")
			if home == "" || home == "/" {
				home = os.TempDir()
			}
			state = filepath.Join(home, ".local", "state")
		}
		base = filepath.Join(state, "goproton", "spool")
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return "", fmt.Errorf("find the spool: %w; set %s to an absolute path", err, settings.PushSpool.Name)
	}
	hash := sha256.New()
	token := sha256.Sum256([]byte(t.token))
	for _, part := range []string{t.protocol.name, t.url, t.tenant, t.user, t.file, settings.PushHeadersFile.Get(env), hex.EncodeToString(token[:4])} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	u, _ := url.Parse(t.url) //nolint:errcheck // we made it
	host := strings.NewReplacer(":", "_", "/", "_", "%", "_").Replace(cmp.Or(u.Host, "host"))
	return filepath.Join(base, fmt.Sprintf("%s-%.60s-%s", t.protocol.name, host, hex.EncodeToString(hash.Sum(nil)[:6]))), nil
}
