// Package pprofui runs pprof's driver on our profiles: its reports, its shell and its web pages, for every file that
// package formats reads. `proton pprof` calls it.
//
// The driver is a library of google/pprof. This package supplies what the driver leaves to its caller: flags that
// explain their errors, a reader of files instead of URLs, a terminal, and a web server that prints its address, serves
// this machine only, writes nothing to the user's home and ends with an interrupt.
//
// The driver keeps its configuration in global variables, so a process can call Run once.
package pprofui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/google/pprof/driver"
)

// ErrUsage is wrapped by errors about the command line.
var ErrUsage = errors.New("see proton pprof --help")

// Run runs a command line of pprof. Reports go to os.Stdout, which is the driver's choice; messages go to stderr.
func Run(args []string, stdin io.Reader, stderr io.Writer) error {
	r := &run{stdin: stdin, stderr: stderr}
	r.flags = newFlags(args)
	r.flags.ready = r.load
	shell := newShell(stdin, stderr)
	objects := binaries(args)
	r.binaries = objects == nil
	err := driver.PProf(&driver.Options{
		Flagset: r.flags, Fetch: r, UI: shell, Obj: objects, HTTPServer: r.serve, HTTPTransport: offline{},
	})
	if r.stop != nil {
		r.stop()
	}
	if r.config != "" {
		if removed := os.RemoveAll(r.config); err == nil {
			err = removed
		}
	}
	if r.flags.err != nil {
		return r.flags.err
	}
	if err != nil && r.flags.given("weblist") != "" && strings.HasPrefix(err.Error(), "no matches found") {
		return fmt.Errorf("%w among the frames with a source file; -peek shows the others", err)
	}
	return explained(err)
}

// run is the state of one command line.
type run struct {
	stdin       io.Reader
	stderr      io.Writer
	flags       *flags
	binaries    bool // whether the driver looks into programs
	inputs      inputs
	environment []string // the process's, before it names a temporary folder as the user's configuration
	interrupted context.Context
	stop        func() // stops waiting for an interrupt
	config      string // that folder, instead of the user's configuration; "" without web pages
}

// explained adds the next step to the driver's errors.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "failed to execute dot"):
		return fmt.Errorf("%w; graphs are drawn by Graphviz: install it, or look at -top, -tree and -http=:0, which need nothing", err)
	case strings.Contains(err.Error(), "could not split http address"):
		return fmt.Errorf("%w; for example -http=:8080, or -http=:0 for any port", err)
	case strings.HasPrefix(err.Error(), "sample_index"):
		return fmt.Errorf("%w; -raw lists the sample types", err)
	}
	return err
}

// offline is the transport of a program that does not use the network.
type offline struct{}

func (offline) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("fetch %s: proton pprof reads files only", r.URL)
}
