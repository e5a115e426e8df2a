package push

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/internal/counters/export"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/version"
)

// Counters sends the counters of a run to the target of a sender, at each window and at the end, from a goroutine of its own. They
// are sums since the start, so that the next request makes up for one that fails.
type Counters struct {
	Sender    *Sender // whose status counts the requests
	Collector *export.Collector
	Labels    map[string]string // of the windows, with the service
	Every     time.Duration

	begin time.Time
	stop  context.CancelFunc
	ended chan struct{}
}

// CheckCounters refuses a target that takes no counters.
func (t *Target) CheckCounters() error {
	if t.protocol.name == "otlp" {
		return nil
	}
	return fmt.Errorf("counters are pushed over otlp only, and the protocol of %s is %s: give a collector, as in otlp+http://localhost:4318, or leave the counters out", t.shown, t.protocol.name)
}

// Start begins to send.
func (c *Counters) Start() {
	ctx, stop := context.WithCancel(context.Background())
	c.begin, c.stop, c.ended = time.Now(), stop, make(chan struct{})
	go c.run(ctx)
}

func (c *Counters) run(ctx context.Context) {
	defer close(c.ended)
	after := rand.N(SpreadOf(c.Every) + 1) // other machines send at other times
	for wait := time.Duration(0); ; {
		now := time.Now()
		next := now.Add(-after).Truncate(c.Every).Add(c.Every + after)
		if !pause(ctx, max(next.Sub(now), wait)) {
			return
		}
		wait = c.post(ctx).wait
	}
}

// pause reports whether so much time has passed before ctx ends.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Finish sends the last counters, again and again until the target takes or refuses them or ctx ends.
func (c *Counters) Finish(ctx context.Context) {
	c.stop()
	<-c.ended
	for {
		a := c.post(ctx)
		if a.outcome != later || !pause(ctx, max(a.wait, usual.hurried)) {
			return
		}
	}
}

// post sends the counters as they are now.
func (c *Counters) post(ctx context.Context) answer {
	t := c.Sender.Target
	a, bytes := t.postTo(ctx, strings.TrimSuffix(t.url, t.protocol.path)+"/v1/metrics", c.encode(time.Now()))
	c.Sender.change(func(s *Status) {
		switch {
		case a.outcome == taken:
			s.CountersSent++
			s.Bytes += int64(bytes)
			s.LastCountersError = ""
		case ctx.Err() == nil || s.LastCountersError == "": // else the former reason says more than that time was up
			s.CountersFailed++
			s.LastCountersError = a.why
		}
	})
	return a
}

// source is what a resource of OpenTelemetry is made for.
type source struct{ job, host string }

// encode makes an opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest.
func (c *Counters) encode(now time.Time) []byte {
	bySource := map[source][]byte{}
	for _, f := range c.Collector.Collect() {
		points := map[source][]byte{}
		for _, s := range f.Series {
			if of, point, ok := c.point(&s, now); ok {
				points[of] = message(points[of], 1, point)
			}
		}
		for of, list := range points {
			bySource[of] = message(bySource[of], 2, metric(&f, list))
		}
	}
	scope := message(nil, 1, text(text(nil, 1, Name), 2, version.Number))
	var out []byte
	for of, metrics := range bySource {
		resource := message(nil, 1, c.resource(of))
		out = message(out, 1, message(resource, 2, append(slices.Clone(scope), metrics...)))
	}
	return out
}

// metric is a family with its points: a gauge, or a sum that is cumulative (2) and monotonic.
func metric(f *export.Family, points []byte) []byte {
	out := text(text(text(nil, 1, f.OTel), 2, f.Help), 3, f.Unit)
	if f.Gauge {
		return message(out, 5, points)
	}
	return message(out, 7, number(number(points, 2, 2), 3, 1))
}

// point is a NumberDataPoint, and whose it is. What is not of a process is left out: the proton run of each rank has it, and with the
// same attributes.
func (c *Counters) point(s *export.Series, now time.Time) (of source, out []byte, ok bool) {
	out = fixed(fixed(fixed(nil, 2, uint64(c.begin.UnixNano())), 3, uint64(now.UnixNano())), 4, math.Float64bits(s.Value))
	for _, l := range s.Labels {
		switch l.Name {
		case "job":
			of.job = l.Value
			continue
		case "host":
			of.host = l.Value
			continue
		case "rank", "process":
			ok = true
		}
		out = message(out, 7, attribute(l.Name, l.Value))
	}
	return of, out, ok
}

// resource has the service, the user's labels, the host and the job.
func (c *Counters) resource(of source) (out []byte) {
	set := maps.Clone(c.Labels)
	set["host.name"], set["job"] = of.host, of.job
	if of.host == "" {
		set["host.name"], _ = os.Hostname() //nolint:errcheck // a host without a name has no attribute
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if value := set[name]; value != "" {
			out = message(out, 1, attribute(name, value))
		}
	}
	return out
}

// attribute is a KeyValue with a text.
func attribute(name, value string) []byte {
	if name == runinfo.LabelService {
		name = "service.name" // the name in OpenTelemetry's conventions; collectors look for it
	}
	return message(text(nil, 1, name), 2, text(nil, 1, value))
}

func fixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}
