package pprofui

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	pprof "github.com/google/pprof/profile"
)

// dropWithoutFile takes the lines without a source file from locations that have no address either. -weblist adds such lines
// up as the driver's Source page does, and its text goes straight to a browser.
func dropWithoutFile(p *pprof.Profile) {
	for _, l := range p.Location {
		if l.Address == 0 {
			l.Line = slices.DeleteFunc(l.Line, func(line pprof.Line) bool { return line.Function != nil && line.Function.Filename == "" })
		}
	}
}

// withoutFile matches what the driver's Source page has of the frames that have no source file. The driver takes them for one file
// with one line, gives that line the name of the first of them, and adds all up: a scope, the scopes within it and their kernels are
// then shown as one kernel with several times the program's time.
var withoutFile = regexp.MustCompile(`(?s)<h2>[^<]*</h2><p class="filename">\.?</p>\n.*?</pre>\n`)

// anyListing matches the listing of a frame that has one. The driver cleans paths, so that none is a point.
var anyListing = regexp.MustCompile(`<p class="filename">(?:[^.<]|\.[^<])`)

// sourcePage is the driver's Source page without the frames that have no source file.
func sourcePage(source http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := &heldPage{header: w.Header(), status: http.StatusOK}
		source.ServeHTTP(page, r)
		text := page.body.Bytes()
		if withoutFile.Match(text) {
			text = withoutFile.ReplaceAllLiteral(text, nil)
			if !anyListing.Match(text) {
				note(w, r, `<h1>There is no source to show</h1>
<p>None of these frames has a source file: kernels and scopes have names only. Profile with Python's call paths
(<code>proton run --context python</code>) or with samples of instructions (<code>proton run --mode pcsampling</code>).</p>`)
				return
			}
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.WriteHeader(page.status)
		_, _ = w.Write(text) // an error means that the browser has gone
	})
}

// heldPage keeps an answer until it is complete.
type heldPage struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (p *heldPage) Header() http.Header                { return p.header }
func (p *heldPage) WriteHeader(status int)             { p.status = status }
func (p *heldPage) Write(text []byte) (n int, _ error) { return p.body.Write(text) }
