package push

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
)

// schemaServer starts tools/pushserver, whose code Pyroscope's and OpenTelemetry's schemas are generated into. end ends it, and returns
// what it took: a line for each, which is written before its request is answered. A server that does not end fails the test.
func schemaServer(t *testing.T) (url string, end func() [][]byte) {
	t.Helper()
	program := filepath.Join(testkit.Root(t), "build/tools/pushserver")
	if _, err := os.Stat(program); err != nil {
		t.Skip("needs build/tools/pushserver, which make test builds (. tools/steps.sh; install_tools)")
	}
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience())
	t.Cleanup(cancel)
	server := exec.CommandContext(ctx, program)
	input, output := testkit.Piped(t, server) // it ends when this is closed
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 16<<20)
	if !lines.Scan() {
		t.Fatal("the server says no URL")
	}
	url = lines.Text()
	taken := make(chan [][]byte, 1)
	go func() { // from the start: a full pipe would stop the server
		var all [][]byte
		for lines.Scan() {
			all = append(all, bytes.Clone(lines.Bytes()))
		}
		taken <- all
	}()
	ended := sync.OnceValue(func() [][]byte {
		input.Close()
		all := <-taken
		if err := errors.Join(lines.Err(), server.Wait()); err != nil {
			t.Errorf("the server ends with %v", err)
		}
		return all
	})
	t.Cleanup(func() { ended() })
	return url, ended
}

// windowLine is what the server writes of a profile.
type windowLine struct {
	Protocol, ID    string
	Labels          map[string]string
	Begin, Duration int64
	Totals          map[string]int64
}

// takenTotals adds up the profiles of a protocol by GPU and call path.
func takenTotals(t *testing.T, protocol string, lines [][]byte) map[string]int64 {
	t.Helper()
	got, ids := map[string]int64{}, map[string]bool{}
	for _, line := range lines {
		var one windowLine
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		if one.Protocol != protocol {
			continue
		}
		service := one.Labels["service_name"]
		if protocol == "otlp" {
			service = one.Labels["service.name"]
		}
		if service != "train" || one.Labels["rank"] != "3" || one.Duration != int64(time.Minute) || one.Begin == 0 || ids[one.ID] {
			t.Errorf("%+v", one)
		}
		if protocol == "pyroscope" && one.Labels["__name__"] != Name {
			t.Errorf("labels %v", one.Labels)
		}
		ids[one.ID] = true
		for path, v := range one.Totals {
			got[one.Labels["gpu"]+path] += v
		}
	}
	return got
}

// What is written by hand is what the code that was generated from the projects' schemas reads: totals by label and call path.
func TestSchemas(t *testing.T) {
	for _, protocol := range []string{"pyroscope", "otlp"} {
		t.Run(protocol, func(t *testing.T) {
			url, end := schemaServer(t)
			folder := filepath.Join(t.TempDir(), "spool")
			want := put(t, folder, window(rand.New(rand.NewPCG(1, 2)), 9, time.Now().Add(-time.Minute)), window(rand.New(rand.NewPCG(3, 4)), 12, time.Now()))
			if status := finish(t, protocol+"+"+url, folder, testkit.Patience()); status.Sent != 2 {
				t.Fatalf("%+v", status)
			}
			sameTotals(t, takenTotals(t, protocol, end()), want)
		})
	}
}

// A server of Parca's takes a request whose JSON has the names of its published schema, profilestore.proto: those of messages'
// fields, in camel case.
func TestParcaNames(t *testing.T) {
	body, err := encodeParca(series(t, "x", window(rand.New(rand.NewPCG(1, 2)), 1, time.Now()))[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`{"series":[{"labels":{"labels":[{"name":"__name__","value":"goproton"}`, `"samples":[{"rawProfile":"H4sI`} {
		if !strings.Contains(string(body), name) {
			t.Errorf("%s is missing in %.300s", name, body)
		}
	}
}
