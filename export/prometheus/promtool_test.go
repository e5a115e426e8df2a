package prometheus

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/internal/testkit"
)

// Prometheus's own parser takes a page of scopes with every kind of character, and its linter has nothing to say.
func TestPromtool(t *testing.T) {
	testkit.OnlyInCheck(t, "it needs Prometheus, which tools/prometheus.sh fetches")
	promtool := testkit.Fetched(t, "oracles/prometheus/usr/bin/promtool")
	folder := t.TempDir()
	p := leave(t, folder, 10, "0")
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "\\", `"`, "\n", "\r", "\x00", "\xff", "{", "}", "=", ",", " ", "#", "ä", "\u2028", "😀"}
	for i := range 3000 {
		name := fmt.Sprint(i)
		for range r.IntN(12) {
			name += alphabet[r.IntN(len(alphabet))]
		}
		p.Rows = append(p.Rows, counters.Row{GPU: "0", Scope: name, Work: "kernel", Launches: uint64(i), Nanos: r.Uint64N(1 << 50), Flops: 1e21})
	}
	p.launch(1)
	c := Collector{Folder: folder, Pushed: func() Pushed { return Pushed{Sent: 1} }}
	page := Text(c.Collect())
	if n := strings.Count(string(page), "goproton_launches_total{"); n != 3001 {
		t.Errorf("%d scopes", n)
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(page)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
