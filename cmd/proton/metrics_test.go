package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// What Prometheus reads of a replay of a real GPU is what the local profile has, by GPU, outermost scope and kind of work.
func TestCountersOfReplays(t *testing.T) {
	environment := testkit.Built(t)
	for _, c := range []struct {
		capture string
		flags   []string
		have    string // counters that must be there
	}{
		{"matmul.capture.gz", nil, "gpu_time_seconds launches bytes flops"},
		{"matmul_sampled.capture.gz", []string{"-m", "pcsampling"}, "instruction_samples"},
		{"overlap.capture.gz", []string{"--activities", "memcpy,memset"}, "bytes"},
		{"cuda_graph.capture.gz", []string{"-c", "python", "--metrics-scopes", "1"}, "gpu_time_seconds launches"},
	} {
		t.Run(c.capture, func(t *testing.T) {
			folder := t.TempDir()
			cmd := replaying(t, environment, folder, c.capture, append([]string{"--metrics", "0", "--metrics-wait", "300"}, c.flags...)...)
			cmd.Env = append(cmd.Env, "RANK=3", "WORLD_SIZE=8", "PROTON_PUSH_TOKEN=s3cr3t")
			page := lastPage(t, cmd)
			p, err := formats.ReadFile(folder + "/local.rank3.hatchet")
			if err != nil {
				t.Fatal(err)
			}
			want := countersOf(p, strings.Contains(strings.Join(c.flags, " "), "scopes 1"))
			got := map[string]float64{}
			for line := range strings.Lines(page) {
				if !strings.Contains(line, `scope="`) {
					continue
				}
				m := regexp.MustCompile(`^goproton_(\w+)_total{host="[^"]+",rank="3",replay="` + c.capture + `"(?:,gpu="(\d+)")?,scope="([^"]*)",work="(\w+)"} (\S+)\n$`).FindStringSubmatch(line)
				if m == nil {
					t.Fatalf("a line is %q", line)
				}
				v, err := strconv.ParseFloat(m[5], 64)
				if err != nil {
					t.Fatal(err)
				}
				got[strings.Join(m[1:5], " ")] += v
			}
			for key, v := range want {
				if math.Abs(got[key]-v) > 1e-9*v {
					t.Errorf("%s: %g are served, the profile has %g", key, got[key], v)
				}
				delete(got, key)
			}
			if len(got) > 0 {
				t.Errorf("the profile lacks %v", got)
			}
			for _, kind := range strings.Fields(c.have) {
				if !strings.Contains(fmt.Sprint(want), kind+" ") {
					t.Errorf("nothing has %s", kind)
				}
			}
			if strings.Contains(page, "s3cr3t") {
				t.Error("the page has the token")
			}
		})
	}
}

// lastPage runs a command that serves counters, and returns what it served last.
func lastPage(t *testing.T, cmd *exec.Cmd) (page string) {
	t.Helper()
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewReader(output), ""
	url := ""
	for url == "" {
		line, err := lines.ReadString('\n')
		said += line
		if err != nil {
			t.Fatalf("it does not say where it serves: %s", said)
		}
		_, url, _ = strings.Cut(strings.TrimSpace(line), "counters at ")
	}
	for { // until it has ended, which it does when it has answered with everything
		r, err := http.Get(url)
		if err != nil {
			break
		}
		var body bytes.Buffer
		_, err = io.Copy(&body, r.Body)
		r.Body.Close()
		if err == nil {
			page = body.String()
		}
	}
	rest, _ := io.ReadAll(lines) //nolint:errcheck // Wait says it
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s%s", err, said, rest)
	}
	return page
}

// countersOf derives from a profile what its counters are. With one scope, all but the first in the profile are added up.
func countersOf(p *profile.Profile, oneScope bool) map[string]float64 {
	sums, first := map[string]float64{}, ""
	add := func(counter, gpu, scope, work string, v profile.Value, scale float64) {
		if f, _ := v.Float(); f != 0 {
			sums[strings.Join([]string{counter, gpu, scope, work}, " ")] += f / scale
		}
	}
	for _, top := range p.Root.Children {
		scope := top.Name
		if _, ran := top.Metric(profile.CountMetric); ran {
			scope = "(none)"
		} else if first == "" {
			first = scope
		}
		if oneScope && scope != "(none)" && scope != first {
			scope = "(other)"
		}
		top.Walk(func(n *profile.Node, _ int) bool {
			work := "kernel"
			switch {
			case strings.HasPrefix(n.Name, "<memcpy"):
				work = "copy"
			case strings.HasPrefix(n.Name, "<memset"):
				work = "fill"
			}
			_, total := n.Metric("flops")
			for _, m := range n.Metrics {
				switch {
				case m.Name == profile.TimeMetric:
					add("gpu_time_seconds", "0", scope, work, m.Value, 1e9)
				case m.Name == profile.CountMetric:
					add("launches", "0", scope, work, m.Value, 1)
				case m.Name == profile.BytesMetric:
					add("bytes", "0", scope, work, m.Value, 1)
				case m.Name == "flops", strings.HasPrefix(m.Name, "flops") && !total: // what flops16 says is in flops as well
					add("flops", "0", scope, work, m.Value, 1)
				case m.Name == profile.SamplesMetric:
					add("instruction_samples", "0", scope, work, m.Value, 1)
				}
			}
			return true
		})
	}
	return sums
}
