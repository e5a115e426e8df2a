package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/export/spool"
	"github.com/goproton/goproton/internal/testkit"
)

// tableRow matches a row of numbers behind a name in docs/at-scale.md.
func tableRow(t *testing.T, name string) (numbers []float64) {
	t.Helper()
	page := testkit.Read(t, filepath.Join(testkit.Root(t), "docs/at-scale.md"))
	m := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(name) + ` \|(.*)\|$`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("docs/at-scale.md has no row %q", name)
	}
	for _, cell := range strings.Split(m[1], "|") {
		v, err := strconv.ParseFloat(strings.ReplaceAll(strings.Fields(cell)[0], ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, v)
	}
	return numbers
}

// windowSizes replays a capture, and returns how large its window is in the spool, and what is sent of it to each target.
func windowSizes(t *testing.T, environment []string, capture string) (sizes []float64) {
	t.Helper()
	folder := t.TempDir()
	succeeds(t, replaying(t, environment, folder, capture, "--push", "file://"+folder+"/none", "--push-wait", "0"))
	found, err := filepath.Glob(folder + "/spool/*/*.window")
	if err != nil || len(found) != 1 {
		t.Fatalf("%d windows, %v", len(found), err)
	}
	window, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	sizes = append(sizes, float64(len(window)))
	server := exporttest.New(t)
	for _, url := range []string{"file://" + folder, "pyroscope+" + server.URL, "parca+" + server.URL, "otlp+" + server.URL} {
		to, err := push.NewTarget(url, "", os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		one := filepath.Join(folder, "one")
		if err := spool.Make(one); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(one, filepath.Base(found[0])), window, 0o600); err != nil {
			t.Fatal(err)
		}
		s := &push.Sender{Target: to, Folder: one}
		s.Start()
		ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience())
		status := s.Finish(ctx)
		cancel()
		if status.Sent != 1 {
			t.Fatalf("%s: %+v", url, status)
		}
		sizes = append(sizes, float64(status.Bytes))
	}
	return sizes
}

// atScaleCaptures are the replays of docs/at-scale.md.
var atScaleCaptures = []string{"matmul", "dynamic_net", "attention"}

// The sizes in docs/at-scale.md are those of windows of replays. Times and process ids make them differ by some bytes.
func TestSizesOfWindows(t *testing.T) {
	environment := testkit.Built(t)
	for _, capture := range atScaleCaptures {
		got, want := windowSizes(t, environment, capture+".capture.gz"), tableRow(t, "`"+capture+"`")
		for i, v := range got {
			if math.Abs(v-want[i+1]) > 0.03*v+16 {
				t.Errorf("%s: column %d is %g bytes, docs/at-scale.md says %g; all are %v", capture, i, v, want[i+1], got)
			}
		}
	}
}

// The volumes in docs/at-scale.md follow from the sizes there: 10,000 GPUs with 1,440 windows of a minute each.
func TestVolumesFollowFromSizes(t *testing.T) {
	const windows, seconds = 10_000 * 1440.0, 86_400
	for _, capture := range atScaleCaptures {
		sizes, volumes := tableRow(t, "`"+capture+"`")[2:], tableRow(t, "a day of `"+capture+"`")
		for i, size := range sizes {
			if want := fmt.Sprintf("%.1f", size*windows/1e9); want != fmt.Sprintf("%.1f", volumes[i]) {
				t.Errorf("%s: column %d is %g GB a day, want %s", capture, i, volumes[i], want)
			}
		}
		if want := fmt.Sprintf("%.2f", sizes[1]*windows/seconds/1e6); want != fmt.Sprintf("%.2f", volumes[4]) {
			t.Errorf("%s: %g MB/s, want %s", capture, volumes[4], want)
		}
	}
}
