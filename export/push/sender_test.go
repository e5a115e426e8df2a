package push

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/msgpack"
)

func none(string) string { return "" }

// window makes a window with work at n call paths, of two GPUs if n is even.
func window(r *rand.Rand, n int, end time.Time) *profile.Profile {
	root := &profile.Node{Name: "ROOT"}
	for i := range n {
		scope := root.Child(fmt.Sprint("scope", i%5))
		if scope == nil {
			scope = &profile.Node{Name: fmt.Sprint("scope", i%5)}
			root.Children = append(root.Children, scope)
		}
		kernel := &profile.Node{Name: fmt.Sprint("kernel", i)}
		kernel.Set(profile.TimeMetric, profile.IntValue(r.Int64N(1e6)+1))
		kernel.Set(profile.CountMetric, profile.IntValue(r.Int64N(10)+1))
		kernel.Set(profile.DeviceIDMetric, profile.StringValue(strconv.Itoa(i%2*(n+1)%2)))
		scope.Children = append(scope.Children, kernel)
		if i%3 == 0 {
			scope.Set("flops", profile.IntValue(1000))
		}
	}
	return &profile.Profile{Root: root, Info: profile.Info{
		profile.InfoHost: "node7", profile.InfoRank: "3", profile.InfoPID: "4711",
		profile.InfoStart:                        strconv.FormatInt(end.Add(-time.Minute).UnixNano(), 10),
		profile.InfoWindowEnd:                    strconv.FormatInt(end.UnixNano(), 10),
		runinfo.InfoLabel + runinfo.LabelService: "train", runinfo.InfoLabel + "team": "vision",
	}}
}

// series makes the series of a window.
func series(t testing.TB, name string, p *profile.Profile) []Series {
	t.Helper()
	list, err := NewSeries(name, p)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// put puts windows into a spool and returns their totals by GPU and call path.
func put(t *testing.T, folder string, windows ...*profile.Profile) map[string]int64 {
	t.Helper()
	if err := spool.Make(folder); err != nil {
		t.Fatal(err)
	}
	w := spool.NewWriter(folder, spool.ProcessLimit)
	totals := map[string]int64{}
	for _, p := range windows {
		end, _ := strconv.ParseInt(p.Info[profile.InfoWindowEnd], 10, 64)
		if err := w.Put(time.Unix(0, end), func(out io.Writer) error { return msgpack.Write(out, p) }); err != nil {
			t.Fatal(err)
		}
		for _, s := range series(t, "x", p) {
			gpu := ""
			for _, l := range s.Labels {
				if l.Name == "gpu" {
					gpu = l.Value
				}
			}
			exporttest.Add(totals, gpu, s.Profile)
		}
	}
	return totals
}

// target is a server as a user without any variables gives it.
func target(t *testing.T, url string) *Target {
	t.Helper()
	to, err := NewTarget(url, "", none)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// finish sends what is in a spool, for at most so long.
func finish(t *testing.T, url, folder string, wait time.Duration) Status {
	t.Helper()
	s := &Sender{Target: target(t, url), Folder: folder}
	s.Start()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	return s.Finish(ctx)
}

func sameTotals(t *testing.T, got, want map[string]int64) {
	t.Helper()
	for path, v := range want {
		if got[path] != v {
			t.Errorf("%s: %d arrived, want %d", path, got[path], v)
		}
		delete(got, path)
	}
	for path, v := range got {
		t.Errorf("%s: %d arrived, and was not in any window", path, v)
	}
}

func TestWindowsArrive(t *testing.T) {
	for _, scheme := range []string{"pyroscope+", "parca+", "otlp+"} {
		t.Run(scheme, func(t *testing.T) {
			server := exporttest.New(t)
			folder := filepath.Join(t.TempDir(), "spool")
			r := rand.New(rand.NewPCG(1, 2))
			now := time.Now()
			want := put(t, folder, window(r, 11, now.Add(-2*time.Minute)), window(r, 4, now.Add(-time.Minute)), window(r, 7, now))
			status := finish(t, scheme+server.URL, folder, testkit.Patience())
			if status.Sent != 3 || status.Waiting != 0 || status.Refused != 0 {
				t.Errorf("status %+v", status)
			}
			sameTotals(t, server.Totals(), want)
			for _, one := range server.Stored() {
				if one.Labels["service_name"] != "train" || one.Labels["rank"] != "3" || one.Labels["host"] != "node7" || one.Labels["team"] != "vision" || one.Labels["pid"] != "" {
					t.Errorf("labels %v", one.Labels)
				}
			}
		})
	}
}
