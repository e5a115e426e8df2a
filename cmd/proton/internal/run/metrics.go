package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/export/prometheus"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/internal/runinfo"
)

// Metrics is where the counters of a run are served; the zero value is nowhere.
type Metrics struct {
	Address string
	Wait    float64 // seconds that the end waits for someone to read the last counters
	Scopes  int     // that have counters of their own, at most
}

// CheckMetrics refuses what cannot be counted or served, before the target runs.
func (o Options) CheckMetrics() error {
	m := o.Metrics
	switch {
	case m.Scopes < 0: // counters may be pushed, and not served
		return fmt.Errorf("the option scopes=%d of --prometheus is negative: give a number of scopes, or 0 for none", m.Scopes)
	case m.Address == "":
		return nil
	case strings.EqualFold(o.Data, "trace"):
		return errors.New("--prometheus needs --data tree: the work of a timeline is not added up")
	case !(m.Wait >= 0 && m.Wait <= longestWait): // false for NaN
		return fmt.Errorf("the option wait=%g of --prometheus: give 0 to %d seconds", m.Wait, longestWait)
	}
	if err := prometheus.CheckAddress(m.Address); err != nil {
		return fmt.Errorf("--prometheus %w", err)
	}
	return nil
}

// serve begins to serve and to push, and says in the configuration where processes leave their counters. Where it cannot, the target runs all the same.
// nil: they are pushed only, or there are none.
func (m Metrics) serve(config *runinfo.Config, p *pushing, w io.Writer) *prometheus.Server {
	if m.Address == "" && !p.pushesCounters() {
		return nil
	}
	folder := filepath.Join(config.Status, "counters")
	if err := os.Mkdir(folder, 0o700); err != nil {
		fmt.Fprintf(w, "proton: warning: make a folder for counters: %v; set TMPDIR to a writable folder\n", err)
		if p != nil {
			p.counters = nil
		}
		return nil
	}
	collector := &prometheus.Collector{Folder: folder}
	if p != nil {
		collector.Pushed = func() prometheus.Pushed { return PushedOf(p.sender.Status()) }
	}
	var server *prometheus.Server
	if m.Address != "" {
		server = m.listen(collector, p.pushesCounters(), w)
	}
	if p.pushesCounters() {
		sets := []*push.CounterSet{{Labels: config.Push.Labels, Collector: collector}}
		p.counters.Sets = func() []*push.CounterSet { return sets }
		p.counters.Start()
	} else if server == nil {
		return nil
	}
	config.Metrics = &runinfo.Metrics{Folders: []string{folder}, Scopes: m.Scopes}
	return server
}

// listen serves counters and says where, or why not; nil: it does not.
func (m Metrics) listen(collector *prometheus.Collector, pushed bool, w io.Writer) *prometheus.Server {
	server, err := prometheus.Listen(m.Address, runinfo.LocalRank(os.Getenv), collector)
	if err != nil {
		without := "this run has no counters"
		if pushed {
			without = "the counters of this run are pushed, and not served"
		}
		fmt.Fprintf(w, "proton: warning: --prometheus: %v; %s\n", err, without)
		return nil
	}
	who := ""
	if server.Elsewhere {
		who = ", which everyone reads who reaches this machine"
	}
	fmt.Fprintf(w, "proton: counters at %s%s\n", server.URL, who)
	return server
}

// finish waits until someone has read the last counters, at most as long as the user allows or until Ctrl-C.
func (m Metrics) finish(server *prometheus.Server) {
	if server == nil {
		return
	}
	ctx, cancel := UntilInterrupt(Seconds(m.Wait))
	defer cancel()
	server.Finish(ctx)
}

// PushedOf is what a sender has done, for its counters.
func PushedOf(st push.Status) prometheus.Pushed {
	return prometheus.Pushed{Sent: st.Sent, Refused: st.Refused, Unreadable: st.Unreadable, Evicted: st.Evicted, Bytes: st.Bytes, Retries: st.Retries,
		Waiting: st.Waiting, WaitingBytes: st.WaitingBytes}
}
