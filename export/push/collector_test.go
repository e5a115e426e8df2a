package push

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
)

// freePort returns a port that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A real collector takes what is pushed and passes it on: totals by label and call path are those of the windows, and counters are
// those that a process has left.
func TestCollector(t *testing.T) {
	testkit.OnlyInCheck(t, "it starts a collector that takes minutes to build")
	program := filepath.Join(testkit.Root(t), "build/collector/otelcol")
	if _, err := os.Stat(program); err != nil {
		t.Skip("needs build/collector/otelcol: run tools/collector.sh")
	}
	backend, end := schemaServer(t)
	address := freePort(t)
	config := fmt.Sprintf(`receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {otlphttp: {endpoint: %q, compression: none, profiles_endpoint: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {profiles: {receivers: [otlp], exporters: [otlphttp]}, metrics: {receivers: [otlp], exporters: [otlphttp]}}
`, address, backend, backend+"/v1development/profiles")
	file := filepath.Join(t.TempDir(), "collector.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	collector := exec.Command(program, "--config", "file:"+file, "--feature-gates=service.profilesSupport")
	var said bytes.Buffer
	collector.Stdout, collector.Stderr = &said, &said
	if err := collector.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { collector.Wait(); close(ended) }() //nolint:errcheck // what it says is printed
	t.Cleanup(func() { collector.Process.Kill(); <-ended })
	testkit.Await(t, "the collector listens", func() bool {
		select {
		case <-ended:
			t.Fatalf("the collector has ended: %s", said.String())
		default:
		}
		r, err := http.Get("http://" + address)
		if err == nil {
			r.Body.Close()
		}
		return err == nil
	})
	folder := filepath.Join(t.TempDir(), "spool")
	want := put(t, folder, window(rand.New(rand.NewPCG(1, 2)), 9, time.Now().Add(-time.Minute)), window(rand.New(rand.NewPCG(3, 4)), 12, time.Now()))
	if status := finish(t, "otlp+http://"+address, folder, testkit.Patience()); status.Sent != 2 {
		t.Fatalf("%+v\n%s", status, said.String())
	}
	c := sendCounters(t, target(t, "otlp+http://"+address))
	if err := collector.Process.Signal(os.Interrupt); err != nil { // it passes on what it has, and ends
		t.Fatal(err)
	}
	testkit.Await(t, "the collector ends", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	lines := end()
	sameTotals(t, takenTotals(t, "otlp", lines), want)
	sameCounters(t, c, lines)
}
