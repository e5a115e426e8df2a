package push

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/prometheus"
	"github.com/goproton/goproton/internal/testkit"
)

// leaveCounters writes the counters of a process with launches in two scopes.
func leaveCounters(t *testing.T, folder string, launches uint64) {
	t.Helper()
	s := counters.State{PID: 7, Host: "node7", Job: "j1", Rank: "3", Dropped: 5, Rows: []counters.Row{
		{GPU: "1", Scope: "forward", Work: "kernel", Nanos: 1500, Launches: launches, Flops: 1e12},
		{GPU: "1", Scope: "(none)", Work: "copy", Nanos: 500, Launches: 1, Bytes: 4096},
	}}
	if err := s.Write(folder + "/7.json"); err != nil {
		t.Fatal(err)
	}
}

// countersFor are the counters of a folder that are sent to a target every so often.
func countersFor(to *Target, folder string, every time.Duration) *Counters {
	set := &CounterSet{Collector: &prometheus.Collector{Folder: folder}, Labels: map[string]string{"service_name": "train", "team": "vision"}}
	return &Counters{Sender: &Sender{Target: to}, Every: every, Waiting: filepath.Join(folder, "waiting"), Sets: func() []*CounterSet { return []*CounterSet{set} }}
}

// finishCounters sends the last counters.
func finishCounters(c *Counters) Status {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience())
	defer cancel()
	c.Finish(ctx)
	return c.Sender.Status()
}

// sendCounters sends counters to a target.
func sendCounters(t *testing.T, to *Target) *Counters {
	t.Helper()
	folder := t.TempDir()
	leaveCounters(t, folder, 9)
	c := countersFor(to, folder, time.Hour)
	c.Sets()[0].Collector.Pushed = func() prometheus.Pushed { return prometheus.Pushed{Sent: 1} } // of a run and not of a process: it is not sent
	c.Start()
	if status := finishCounters(c); status.CountersSent != 1 || status.CountersFailed != 0 {
		t.Fatalf("%+v", status)
	}
	return c
}

// sameCounters compares what sendCounters has sent with what a server has read by the published schema.
func sameCounters(t *testing.T, c *Counters, lines [][]byte) {
	t.Helper()
	want := map[string]float64{
		"goproton.gpu.time s gpu=1 scope=forward work=kernel": 1.5e-6, "goproton.gpu.time s gpu=1 scope=(none) work=copy": 5e-7,
		"goproton.launches {launch} gpu=1 scope=forward work=kernel": 9, "goproton.launches {launch} gpu=1 scope=(none) work=copy": 1,
		"goproton.flops {operation} gpu=1 scope=forward work=kernel": 1e12, "goproton.bytes By gpu=1 scope=(none) work=copy": 4096,
		"goproton.records.dropped {record}": 5, "goproton.kernels.unattributed {kernel}": 0, "goproton.instruction_samples.lost {sample}": 0,
	}
	resource := map[string]string{"service.name": "train", "team": "vision", "host.name": "node7", "job": "j1", "service.instance.id": c.Sets()[0].instances[source{"j1", "node7"}]}
	got := map[string]float64{}
	for _, line := range lines {
		var one struct {
			Protocol, Name, Unit string
			Counter              bool
			Resource, Attributes map[string]string
			Start, Time          int64
			Value                float64
		}
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		if one.Protocol != "otlp metrics" {
			continue
		}
		key := one.Name + " " + one.Unit
		for _, name := range []string{"gpu", "scope", "work"} {
			if v := one.Attributes[name]; v != "" {
				key += " " + name + "=" + v
			}
		}
		got[key] += one.Value
		if !one.Counter || one.Attributes["rank"] != "3" || !maps.Equal(one.Resource, resource) ||
			one.Start != c.begin.UnixNano() || one.Time < one.Start || one.Time > time.Now().UnixNano() {
			t.Errorf("%+v", one)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v arrived, want %v", got, want)
	}
}

// What is written by hand is what the code that was generated from OpenTelemetry's schema reads.
func TestSchemaOfCounters(t *testing.T) {
	url, end := schemaServer(t)
	c := sendCounters(t, target(t, "otlp+"+url))
	sameCounters(t, c, end())
}

// Counters are sent at each window. A request that fails is counted, the next one makes up for it, and the last one is repeated.
func TestCountersThatFail(t *testing.T) {
	server := exporttest.New(t)
	server.Before = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("Authorization") != "Bearer s3cr3t" {
			t.Errorf("%s %v", r.URL.Path, r.Header)
		}
		if n%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return n%2 == 1
	}
	to, err := NewTarget("otlp+"+server.URL, "", func(name string) string { return map[string]string{"PROTON_PUSH_TOKEN": "s3cr3t"}[name] })
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	leaveCounters(t, folder, 1)
	c := countersFor(to, folder, 10*time.Millisecond)
	c.Start()
	testkit.Await(t, "counters arrive", func() bool { return forwardLaunches(t, server, 1) == 1 })
	leaveCounters(t, folder, 2)
	testkit.Await(t, "later counters arrive", func() bool { return forwardLaunches(t, server, 1) == 2 })
	leaveCounters(t, folder, 3)
	status := finishCounters(c)
	// The second answer may have come after the end had begun: then it is not known that they were sent.
	if got := forwardLaunches(t, server, 1); got != 3 || status.CountersFailed == 0 || status.CountersSent < 2 || status.LastCountersError != "" {
		t.Errorf("%g launches, %+v", got, status)
	}
}

// forwardLaunches adds up the launches in one scope, which a server has of so many runs.
func forwardLaunches(t *testing.T, server *exporttest.Server, runs int) (sum float64) {
	t.Helper()
	series := regexp.MustCompile(`^goproton\.launches gpu=1 host\.name=node7 job=j1 rank=3 scope=forward ` +
		`service\.instance\.id=[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12} service\.name=train team=vision work=kernel$`)
	found := 0
	for key, v := range server.Counters() {
		if series.MatchString(key) {
			found++
			sum += v
		}
	}
	if found > runs {
		t.Errorf("%d series of %d runs", found, runs)
	}
	return sum
}

// Two runs of one service on one host have series of their own, and each keeps its own.
func TestCountersOfTwoRuns(t *testing.T) {
	server := exporttest.New(t)
	for n := range uint64(2) {
		folder := t.TempDir()
		c := countersFor(target(t, "otlp+"+server.URL), folder, time.Hour)
		leaveCounters(t, folder, 1)
		c.Start()
		c.Hurry()
		testkit.Await(t, "counters arrive", func() bool { return forwardLaunches(t, server, 2) == float64(1+5*n) })
		leaveCounters(t, folder, 5)
		finishCounters(c)
	}
	if got := forwardLaunches(t, server, 2); got != 10 {
		t.Errorf("%g launches, want 10", got)
	}
}

// A program that waits for its counters has them sent at once, and reads why they are not.
func TestCountersThatAProgramWaitsFor(t *testing.T) {
	server := exporttest.New(t)
	var away atomic.Bool
	away.Store(true)
	server.Before = func(w http.ResponseWriter, r *http.Request, n int) bool {
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	folder := t.TempDir()
	leaveCounters(t, folder, 1)
	c := countersFor(target(t, "otlp+"+server.URL), folder, time.Hour)
	c.Start()
	c.Hurry() // of a program that waits no longer: one request
	testkit.Await(t, "a request is made", func() bool { return server.Requests() == 1 })
	file := c.Waiting
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Hurry()
	testkit.Await(t, "the program reads why", func() bool {
		why, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(why), "503")
	})
	away.Store(false)
	testkit.Await(t, "the program waits no longer", func() bool {
		_, err := os.Stat(file)
		return err != nil
	})
	if len(server.Counters()) == 0 {
		t.Error("nothing was sent")
	}
	c.stop()
	<-c.ended
}

// A collector that has no pipeline for metrics answers 404: the reason stays in the status, and the end does not wait beyond its time.
func TestCountersThatAreNotTaken(t *testing.T) {
	server := exporttest.New(t)
	server.Before = func(w http.ResponseWriter, r *http.Request, n int) bool { http.NotFound(w, r); return true }
	c := countersFor(target(t, "otlp+"+server.URL), t.TempDir(), time.Hour)
	c.Start()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	c.Finish(ctx)
	if status := c.Sender.Status(); status.CountersSent != 0 || status.CountersFailed == 0 || status.LastCountersError == "" {
		t.Errorf("%+v", status)
	}
	if err := target(t, "parca+"+server.URL).CheckCounters(); err == nil || !strings.Contains(fmt.Sprint(err), "the protocol of ") {
		t.Errorf("a target without OTLP: %v", err)
	}
}
