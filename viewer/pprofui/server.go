package pprofui

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/driver"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/term"
)

// prepare gets ready for the web server before the driver looks where the user's configuration is. Named views
// that users save in the pages live as long as the server: in a temporary folder, which starts with those that pprof
// itself has saved.
func (r *run) prepare() error {
	if r.flags.given("http") == "" {
		return nil
	}
	r.interrupted, r.stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) // the folder is removed in any case
	r.environment = os.Environ()
	saved := pprofSettings()
	folder, err := os.MkdirTemp("", "proton-pprof-")
	if err != nil {
		return fmt.Errorf("make a folder for the web pages' settings: %w", err)
	}
	r.config = folder
	variable := "XDG_CONFIG_HOME"
	switch runtime.GOOS {
	case "darwin", "ios":
		variable = "HOME"
	case "windows":
		variable = "AppData"
	}
	if err := os.Setenv(variable, folder); err != nil {
		return err
	}
	if len(saved) > 0 {
		return writeSettings(saved)
	}
	return nil
}

// pprofSettings are the views that the user has saved with pprof.
func pprofSettings() []byte {
	folder, err := os.UserConfigDir()
	if err != nil {
		return nil
	}
	saved, err := os.ReadFile(filepath.Join(folder, "pprof", "settings.json"))
	if err != nil {
		return nil
	}
	return saved
}

func writeSettings(saved []byte) error {
	folder, err := os.UserConfigDir() // now the temporary one
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(folder, "pprof"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "pprof", "settings.json"), saved, 0o600)
}

// serve runs the driver's pages until an interrupt.
func (r *run) serve(args *driver.HTTPServerArgs) error {
	listener, err := net.Listen("tcp", args.Hostport)
	if err != nil {
		return fmt.Errorf("serve the web pages: %w; -http=:0 takes a free port", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	address := fmt.Sprintf("http://%s", net.JoinHostPort(args.Host, fmt.Sprint(port)))
	// The flame graph of 100,000 call paths is 44 MB of text, and may come through ssh.
	small, err := gzhttp.NewWrapper(gzhttp.ContentTypes([]string{"text/html"}), gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: small(pages(args, r.binaries)), ReadHeaderTimeout: 10 * time.Second}

	r.announce(address, args.Host, port)
	if !*r.flags.noOpen && r.flags.given("no_browser") != "true" {
		term.Browse(address, r.environment) // a failure is not reported, since the address has been printed
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the web pages: %w", err)
	case <-r.interrupted.Done():
	}
	// A page takes much less than a second, so this lets those that are being written finish.
	ending, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := server.Shutdown(ending); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("end the web pages: %w", err)
	}
	return nil
}

// announce prints the address of the pages in one write, so that a program that waits for it never reads a part.
func (r *run) announce(address, host string, port int) {
	text := fmt.Sprintf("Serving web UI on %s (Ctrl-C ends it)\n", address)
	if os.Getenv("SSH_CONNECTION") != "" && foreign.ThisMachine(host) {
		name, err := os.Hostname()
		if err != nil {
			name = "THIS-MACHINE"
		}
		text += fmt.Sprintf("From your own machine: ssh -L %d:localhost:%d %s, then the same address\n", port, port, name)
	}
	fmt.Fprint(r.stderr, text)
}

// pages serves the driver's handlers at the root, and below /ui, where pprof itself has them.
func pages(args *driver.HTTPServerArgs, binaries bool) http.Handler {
	args.Handlers["/source"] = sourcePage(args.Handlers["/source"])
	args.Handlers["/graph"] = graphPage(args.Handlers["/graph"])
	if !binaries {
		args.Handlers["/disasm"] = http.HandlerFunc(disasmPage)
	}
	local := foreign.ThisMachine(args.Host)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A page of another site may point its own name at this machine and read what is served here, source files
		// included; its requests carry that name.
		if local && !foreign.FromThisMachine(r.RemoteAddr, r.Host) {
			http.Error(w, "only for this machine; start proton pprof with -http=HOST:PORT to serve others", http.StatusForbidden)
			return
		}
		path := strings.TrimPrefix(r.URL.Path, "/ui")
		if fromElsewhere(r, changing[path], local) {
			http.Error(w, "a page of another site asked for this; open the address that proton pprof printed", http.StatusForbidden)
			return
		}
		if path == "" {
			path = "/"
		}
		page := args.Handlers[path]
		if page == nil {
			http.NotFound(w, r)
			return
		}
		page.ServeHTTP(w, r)
	})
}

// changing are the paths whose requests change the saved views. The driver takes GET for them.
var changing = map[string]bool{"/saveconfig": true, "/deleteconfig": true}

// fromElsewhere reports whether a page of another site had the browser make a request that it may not make. A link may lead to our
// pages, but nothing else may load or change them. In requests to addresses of this machine browsers name the origin
// (Sec-Fetch-Site); in requests to other addresses, one that changes something must have a Referer of ours. Programs that are not
// browsers send neither header.
func fromElsewhere(r *http.Request, changes, local bool) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
	default:
		return changes || r.Header.Get("Sec-Fetch-Mode") != "navigate"
	}
	if !changes {
		return false
	}
	for _, header := range []string{"Origin", "Referer"} {
		if from := r.Header.Get(header); from != "" {
			u, err := url.Parse(from)
			return err != nil || u.Host != r.Host
		}
	}
	return !local
}

// graphPage explains how to get Graphviz where the driver would only report that it could not execute dot.
func graphPage(graph http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := exec.LookPath("dot"); err == nil {
			graph.ServeHTTP(w, r)
			return
		}
		note(w, r, `<h1>The graph needs Graphviz</h1>
<p>The program <code>dot</code> draws it, and it is not on this machine's <code>PATH</code>. Install it, for example with
<code>apt install graphviz</code> or <code>brew install graphviz</code>, and load this page again.</p>`)
	})
}

// disasmPage replaces the driver's page if no program is given, since the driver's would print to the terminal.
func disasmPage(w http.ResponseWriter, r *http.Request) {
	note(w, r, `<h1>There is no machine code here</h1>
<p>Profiles of GPU programs do not hold any. For that of a compiled program give the program before its profile:
<code>proton pprof -http=:0 PROGRAM FILE</code></p>`)
}

// note answers with a page that links to the other pages, with the same filters.
func note(w http.ResponseWriter, r *http.Request, text string) {
	query := html.EscapeString("?" + r.URL.Query().Encode())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusNotImplemented)
	fmt.Fprintf(w, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>proton pprof</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 sans-serif;max-width:40em;margin:3em auto;padding:0 1em}code{background:#8882;padding:.1em .3em}</style></head>
<body>%s
<p>Without it: <a href="flamegraph%s">flame graph</a>, <a href="top%s">top</a>, <a href="peek%s">callers and callees</a>,
<a href="source%s">source</a>.</p></body></html>
`, text, query, query, query, query)
}
