package run

import (
	"io"
	"math"
	"net"
	"strings"
	"testing"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/internal/runinfo"
)

func TestCheckMetrics(t *testing.T) {
	for _, c := range []struct {
		metrics Metrics
		data    string
		want    string
	}{
		{Metrics{Address: "9464", Wait: 60, Scopes: 200}, "tree", ""},
		{Metrics{Wait: -1}, "tree", ""}, // nothing is served
		{Metrics{Address: "0", Wait: longestWait}, "tree", ""},
		{Metrics{Address: "9464"}, "trace", "--prometheus needs --data tree"},
		{Metrics{Address: "9464"}, "TRACE", "--prometheus needs --data tree"},
		{Metrics{Address: "9464", Wait: -1}, "tree", "the option wait=-1 of --prometheus: give 0 to 31536000 seconds"},
		{Metrics{Address: "9464", Wait: 1e300}, "tree", "the option wait=1e+300 of --prometheus: give 0 to"},
		{Metrics{Address: "9464", Wait: 1e10}, "tree", "the option wait=1e+10 of --prometheus: give"}, // more than a time.Duration holds
		{Metrics{Address: "9464", Wait: math.NaN()}, "tree", "the option wait=NaN of --prometheus: give 0 to"},
		{Metrics{Address: "9464", Scopes: -1}, "tree", "the option scopes=-1 of --prometheus is negative"},
		{Metrics{Scopes: -1}, "tree", "the option scopes=-1 of --prometheus is negative"},
		{Metrics{Address: "a:b:c"}, "tree", "--prometheus "},
		{Metrics{Address: "nowhere"}, "tree", "give HOST:PORT"},
	} {
		o := Options{Metrics: c.metrics}
		o.Data = c.data
		err := o.CheckMetrics()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.metrics, err, c.want)
		}
	}
}

// Where --prometheus cannot listen, the message says whether the counters are pushed.
func TestCountersThatAreNotServed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	server := exporttest.New(t)
	t.Setenv("PROTON_PUSH_SPOOL", t.TempDir())
	for _, push := range []Push{{}, {URL: "otlp+" + server.URL, Every: 60}, {URL: "otlp+" + server.URL, Every: 60, Metrics: true}} {
		says := "; this run has no counters\n"
		if push.Metrics {
			says = "; the counters of this run are pushed, and not served\n"
		}
		config := runinfo.Config{Status: t.TempDir()}
		p, err := push.start(&config, "x", io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		if s := (Metrics{Address: taken.Addr().String()}).serve(&config, p, &said); s != nil || !strings.HasSuffix(said.String(), says) {
			t.Errorf("%+v: %s", push, said.String())
		}
		if (config.Metrics != nil) != push.Metrics {
			t.Errorf("%+v: the configuration of processes has %+v", push, config.Metrics)
		}
		p.finish(config.Status, io.Discard)
	}
}
