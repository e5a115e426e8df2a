package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/export/counters"
	"github.com/goproton/goproton/export/exporttest"
	"github.com/goproton/goproton/export/push"
	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile/formats"
)

// What arrives of a replay of a real GPU is what the local profile has, by GPU, call path and type: also instruction samples, copies, and
// the flops and bytes that programs say.
func TestPushedReplays(t *testing.T) {
	environment := testkit.Built(t)
	for _, c := range []struct {
		capture string
		flags   []string
		types   string // that must be there
	}{
		{"matmul.capture.gz", nil, "gpu_time launches bytes flops"},
		{"matmul_sampled.capture.gz", []string{"-m", "pcsampling"}, "instruction_samples"},
		{"overlap.capture.gz", []string{"--activities", "memcpy,memset"}, "gpu_time bytes"},
		{"cuda_graph.capture.gz", []string{"-c", "python"}, "gpu_time launches"},
	} {
		t.Run(c.capture, func(t *testing.T) {
			server := exporttest.New(t)
			folder := t.TempDir()
			flags := append([]string{"--push", "pyroscope+" + server.URL, "--push-wait", "60", "--push-service", "replayed"}, c.flags...)
			if said := succeeds(t, replaying(t, environment, folder, c.capture, flags...)); !strings.Contains(said, "proton: pushed 1 window to pyroscope+"+server.URL) {
				t.Fatal(said)
			}
			p, err := formats.ReadFile(folder + "/local.hatchet")
			if err != nil {
				t.Fatal(err)
			}
			var taken counters.Taken
			list, err := push.NewSeries("local", taken.Take(p))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]int64{}
			for _, s := range list {
				gpu := ""
				for _, l := range s.Labels {
					if l.Name == "gpu" {
						gpu = l.Value
					}
				}
				exporttest.Add(want, gpu, s.Profile)
			}
			got := server.Totals()
			for path, v := range want {
				if got[path] != v {
					t.Errorf("%s: %d arrived, the profile has %d", path, got[path], v)
				}
				delete(got, path)
			}
			if len(got) > 0 {
				t.Errorf("the profile lacks %v", got)
			}
			all := ""
			for path := range want {
				all += path[strings.LastIndexByte(path, ' '):] + " "
			}
			for _, kind := range strings.Fields(c.types) {
				if !strings.Contains(all, " "+kind+" ") {
					t.Errorf("nothing has %s", kind)
				}
			}
			for _, one := range server.Stored() {
				if one.Labels["service_name"] != "replayed" || one.Labels["replay"] != c.capture {
					t.Errorf("labels %v", one.Labels)
				}
			}
		})
	}
}

// replaying is a run of a capture in a folder, which gets the profile local and the spool.
func replaying(t *testing.T, environment []string, folder, capture string, flags ...string) *exec.Cmd {
	t.Helper()
	args := slices.Concat([]string{"run", "-n", folder + "/local"}, flags, []string{"-b", "replay", filepath.Join(testkit.Root(t), "testdata/captures", capture)})
	cmd := exec.Command(executable(environment), args...)
	cmd.Env, cmd.Dir = append(slices.Clip(environment), "PROTON_PUSH_SPOOL="+folder+"/spool"), folder
	return cmd
}

// succeeds runs a command and returns what it says.
func succeeds(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// executable is the proton of an environment.
func executable(environment []string) string {
	for _, entry := range environment {
		if path, is := strings.CutPrefix(entry, "PATH="); is {
			folder, _, _ := strings.Cut(path, ":")
			return filepath.Join(folder, "proton")
		}
	}
	return ""
}

// The options of windows reach a program in C, from flags and from the environment.
func TestPushOptionsReachAProgramInC(t *testing.T) {
	environment := testkit.Built(t)
	server := exporttest.New(t)
	cmd := replaying(t, environment, t.TempDir(), "matmul.capture.gz", "--push", "pyroscope+"+server.URL, "--push-label", "stage=test")
	cmd.Env = append(cmd.Env, "PROTON_PUSH_WAIT=60", "PROTON_PUSH_EVERY=3600", "PROTON_PUSH_SERVICE=trainer", "PROTON_PUSH_LABELS=stage=prod,team=vision")
	succeeds(t, cmd)
	all := server.Stored()
	if len(all) == 0 {
		t.Fatal("nothing arrived")
	}
	for _, one := range all {
		if l := one.Labels; l["service_name"] != "trainer" || l["stage"] != "test" || l["team"] != "vision" {
			t.Errorf("labels %v", l)
		}
	}
}

// The counters that proton run pushes of a replay of a real GPU are those of the local profile.
func TestPushedCountersOfReplays(t *testing.T) {
	environment := testkit.Built(t)
	server := exporttest.New(t)
	folder := t.TempDir()
	if said := succeeds(t, replaying(t, environment, folder, "matmul.capture.gz", "--push", "otlp+"+server.URL, "--push-metrics", "--push-wait", "60")); strings.Contains(said, "warning") {
		t.Fatal(said)
	}
	p, err := formats.ReadFile(folder + "/local.hatchet")
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]float64{}, map[string]float64{}
	for key, v := range countersOf(p, false) {
		name, _, _ := strings.Cut(key, " ")
		want[name] += v
	}
	for key, v := range server.Counters() {
		if name, _, _ := strings.Cut(key, " "); v != 0 {
			got[map[string]string{"goproton.gpu.time": "gpu_time_seconds", "goproton.launches": "launches", "goproton.bytes": "bytes", "goproton.flops": "flops"}[name]] += v
		}
	}
	if len(want) != 4 || len(got) != 4 {
		t.Errorf("%v arrived, want %v", got, want)
	}
	for name, v := range want {
		if math.Abs(got[name]-v) > 1e-9*v {
			t.Errorf("%s: %g arrived, the profile has %g", name, got[name], v)
		}
	}
}

// A server that repeats the token, in its answer and after it, gets it neither printed nor stored, and only lines of ours are printed.
func TestServerThatRepeatsTheToken(t *testing.T) {
	const token = "an0ther-s3cr3t"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				said := "you sent " + r.Header.Get("Authorization")
				fmt.Fprintf(conn, "HTTP/1.1 503 No\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%sand then %s", len(said), said, said)
			}
		}
	}()
	folder := t.TempDir()
	cmd := replaying(t, append(testkit.Built(t), "PROTON_PUSH_TOKEN="+token), folder, "vecadd.capture.gz", "--push", "http://"+listener.Addr().String(), "--push-wait", "2")
	said := succeeds(t, cmd)
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "proton: ") {
			t.Errorf("the line %q", line)
		}
	}
	if !strings.Contains(said, "it answered 503 Service Unavailable: (what it said is left out") || strings.Contains(said, token) {
		t.Error(said)
	}
	files, err := filepath.Glob(folder + "/spool/*/*")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), token) {
			t.Errorf("%s has the token (%v)", file, err)
		}
	}
}
