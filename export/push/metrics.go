package push

import (
	"context"
	crand "crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/goproton/goproton/export/prometheus"
	"github.com/goproton/goproton/internal/runinfo"
)

// Counters sends the counters of a run to the target of a sender, at each window and at the end, from a goroutine of its own. They
// are sums since the start, so that the next request makes up for one that fails.
type Counters struct {
	Sender *Sender // whose status counts the requests
	Sets   func() []*CounterSet
	Every  time.Duration

	// Waiting is a file that exists while a program waits until the counters are sent. The reason why they are not sent is written
	// into it. If they never will be, the file is renamed: Refused is appended to its name.
	Waiting string

	begin time.Time
	hurry chan struct{} // of capacity 1
	stop  context.CancelFunc
	ended chan struct{}
}

// CounterSet is what is counted for one service.
type CounterSet struct {
	Labels    map[string]string // of the windows, with the service
	Collector *prometheus.Collector
	instances map[source]string // service.instance.id of each
}

// CounterSetsIn returns the sets of a program that makes a folder for each, with a file of its labels.
func CounterSetsIn(folder string) func() []*CounterSet {
	var list []*CounterSet
	known := map[string]bool{}
	return func() []*CounterSet {
		files, _ := filepath.Glob(filepath.Join(folder, "*", "labels")) //nolint:errcheck // the pattern is right
		for _, file := range files {
			set := &CounterSet{Collector: &prometheus.Collector{Folder: filepath.Dir(file)}}
			text, err := os.ReadFile(file)
			if err != nil || known[file] || json.Unmarshal(text, &set.Labels) != nil {
				continue
			}
			known[file] = true
			list = append(list, set)
		}
		return list
	}
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
	c.begin, c.hurry, c.stop, c.ended = time.Now(), make(chan struct{}, 1), stop, make(chan struct{})
	go c.run(ctx)
}

// Hurry has the counters sent now, for a program that waits for that.
func (c *Counters) Hurry() {
	select {
	case c.hurry <- struct{}{}:
	default:
	}
}

func (c *Counters) run(ctx context.Context) {
	defer close(c.ended)
	after := rand.N(SpreadOf(c.Every) + 1) // other machines send at other times
	for wait := time.Duration(0); ; {
		now := time.Now()
		next := now.Add(-after).Truncate(c.Every).Add(c.Every + after)
		select {
		case <-ctx.Done():
			return
		case <-c.hurry:
			wait = c.postForProgram(ctx)
		case <-time.After(max(next.Sub(now), wait)):
			wait = c.post(ctx).wait
		}
	}
}

// postForProgram sends the counters again and again until the target takes or refuses them, or the program waits no longer.
func (c *Counters) postForProgram(ctx context.Context) time.Duration {
	for {
		a := c.post(ctx)
		if a.outcome == taken {
			_ = os.Remove(c.Waiting)
			return a.wait
		}
		waits := note(c.Waiting, a.why)
		if a.final() {
			_ = os.Rename(c.Waiting, c.Waiting+Refused)
		}
		if !waits || a.final() || !pause(ctx, max(a.wait, usual.hurried)) {
			return a.wait
		}
	}
}

// Refused is appended to the name of the file Waiting when a program need not wait any longer.
const Refused = ".refused"

// note writes a text into a file, and reports false if there is none.
func note(file, text string) bool {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err == nil
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
		if a.final() || !pause(ctx, max(a.wait, usual.hurried)) {
			return
		}
	}
}

// final reports whether the same request would have the same answer.
func (a *answer) final() bool { return a.outcome != later || a.wrong }

// post sends the counters as they are now.
func (c *Counters) post(ctx context.Context) answer {
	t, sets := c.Sender.Target, c.Sets()
	if len(sets) == 0 {
		return answer{outcome: taken} // nothing is counted yet
	}
	a, bytes := t.postTo(ctx, strings.TrimSuffix(t.url, t.protocol.path)+"/v1/metrics", c.encode(sets, time.Now()))
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
func (c *Counters) encode(sets []*CounterSet, now time.Time) (out []byte) {
	for _, set := range sets {
		bySource := map[source][]byte{}
		for _, f := range set.Collector.Collect() {
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
		for of, metrics := range bySource {
			out = message(out, 1, ofResource(set.resource(of), metrics))
		}
	}
	return out
}

// metric is a family with its points: a gauge, or a sum that is cumulative (2) and monotonic.
func metric(f *prometheus.Family, points []byte) []byte {
	out := text(text(text(nil, 1, f.OTel), 2, f.Help), 3, f.Unit)
	if f.Gauge {
		return message(out, 5, points)
	}
	return message(out, 7, number(number(points, 2, 2), 3, 1))
}

// point is a NumberDataPoint, and the source that it belongs to. Points that do not belong to one process are left out: the
// proton run of each rank has them, and would send them with the same attributes.
func (c *Counters) point(s *prometheus.Series, now time.Time) (of source, out []byte, ok bool) {
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

// instance is a UUID that no other run has: without it the counters of two runs of one service on one host would be one series.
func (c *CounterSet) instance(of source) string {
	if c.instances == nil {
		c.instances = map[source]string{}
	}
	if c.instances[of] == "" {
		var b [16]byte
		_, _ = crand.Read(b[:]) // it never fails
		c.instances[of] = uuid(b, 4)
	}
	return c.instances[of]
}

// resource has the service, the user's labels, the host, the job unless the user names another, and which run it is.
func (c *CounterSet) resource(of source) (out []byte) {
	all := map[string]string{runinfo.LabelJob: of.job, "host.name": of.host}
	maps.Copy(all, c.Labels)
	all["service.instance.id"] = c.instance(of)
	if all["host.name"] == "" {
		all["host.name"], _ = os.Hostname() //nolint:errcheck // a host without a name has no attribute
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if value := all[name]; value != "" {
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
