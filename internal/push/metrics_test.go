package push

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/await"
	"github.com/goproton/goproton/internal/counters"
	"github.com/goproton/goproton/internal/counters/export"
	"github.com/goproton/goproton/internal/push/pushtest"
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
	return &Counters{Sender: &Sender{Target: to}, Collector: &export.Collector{Folder: folder}, Every: every,
		Labels: map[string]string{"service_name": "train", "team": "vision"}}
}

// finishCounters sends the last counters.
func finishCounters(c *Counters) Status {
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience())
	defer cancel()
	c.Finish(ctx)
	return c.Sender.Status()
}

// checkCounters sends counters to a target, and compares them with what the server behind it has read by the published schema.
func checkCounters(t *testing.T, to *Target, lines *bufio.Scanner) {
	t.Helper()
	folder := t.TempDir()
	leaveCounters(t, folder, 9)
	c := countersFor(to, folder, time.Hour)
	c.Collector.Pushed = func() export.Pushed { return export.Pushed{Sent: 1} } // of a run and not of a process: it is not sent
	before := time.Now()
	c.Start()
	if status := finishCounters(c); status.CountersSent != 1 || status.CountersFailed != 0 {
		t.Fatalf("%+v", status)
	}
	want := map[string]float64{
		"goproton.gpu.time s gpu=1 scope=forward work=kernel": 1.5e-6, "goproton.gpu.time s gpu=1 scope=(none) work=copy": 5e-7,
		"goproton.launches {launch} gpu=1 scope=forward work=kernel": 9, "goproton.launches {launch} gpu=1 scope=(none) work=copy": 1,
		"goproton.flops {operation} gpu=1 scope=forward work=kernel": 1e12, "goproton.bytes By gpu=1 scope=(none) work=copy": 4096,
		"goproton.records.dropped {record}": 5, "goproton.kernels.unattributed {kernel}": 0, "goproton.instruction_samples.lost {sample}": 0,
	}
	got := map[string]float64{}
	for len(got) < len(want) && lines.Scan() {
		var one struct {
			Protocol, Name, Unit string
			Counter              bool
			Resource, Attributes map[string]string
			Start, Time          int64
			Value                float64
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		key := one.Name + " " + one.Unit
		for _, name := range []string{"gpu", "scope", "work"} {
			if v := one.Attributes[name]; v != "" {
				key += " " + name + "=" + v
			}
		}
		got[key] = one.Value
		resource := map[string]string{"service.name": "train", "team": "vision", "host.name": "node7", "job": "j1"}
		if one.Protocol != "otlp metrics" || !one.Counter || one.Attributes["rank"] != "3" || !maps.Equal(one.Resource, resource) ||
			one.Start < before.UnixNano() || one.Time < one.Start || one.Time > time.Now().UnixNano() {
			t.Errorf("%+v", one)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v arrived, want %v", got, want)
	}
}

// What is written by hand is what the code that was generated from OpenTelemetry's schema reads.
func TestSchemaOfCounters(t *testing.T) {
	url, lines := schemaServer(t)
	checkCounters(t, target(t, "otlp+"+url), lines)
}

// Counters are sent at each window. A request that fails is counted, the next one makes up for it, and the last one is repeated.
func TestCountersThatFail(t *testing.T) {
	server := pushtest.New(t)
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
	launches := "goproton.launches gpu=1 host.name=node7 job=j1 rank=3 scope=forward service.name=train team=vision work=kernel"
	await.That(t, "counters arrive", func() bool { return server.Counters()[launches] == 1 })
	leaveCounters(t, folder, 2)
	await.That(t, "later counters arrive", func() bool { return server.Counters()[launches] == 2 })
	leaveCounters(t, folder, 3)
	status := finishCounters(c)
	if got := server.Counters()[launches]; got != 3 || status.CountersFailed == 0 || status.CountersSent < 3 || status.LastCountersError != "" {
		t.Errorf("%g launches, %+v", got, status)
	}
}

// A collector that has no pipeline for metrics answers 404: the reason stays in the status, and the end does not wait beyond its time.
func TestCountersThatAreNotTaken(t *testing.T) {
	server := pushtest.New(t)
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
