package goproton

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/formats"
)

// TestReadmeWaysWork goes the ways from a .hatchet file that README.md shows, command by command as they stand there,
// with the profile that it tells readers without a GPU to make.
func TestReadmeWaysWork(t *testing.T) {
	section := regexp.MustCompile("(?s)\n## Five ways to look at it\n\n```sh\n(.*?)```\n(.*?)\n## ").FindStringSubmatch(readme(t))
	if section == nil {
		t.Fatal("README.md has no section of ways to look at a profile")
	}
	replay := regexp.MustCompile("`proton run (--backend replay --name train \\S+)`").FindStringSubmatch(section[2])
	if replay == nil {
		t.Fatal("README.md does not say how to go on without a GPU")
	}
	w := newWays(t)
	w.run(t, "proton run "+replay[1])
	w.repeat(t)
	way := 0
	for line := range strings.Lines(section[1]) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "# "):
			way++
			if !strings.HasPrefix(line, fmt.Sprintf("# %d. ", way)) {
				t.Errorf("way %d is %q", way, line)
			}
		case strings.HasPrefix(line, "proton pprof -http"):
			w.browse(t, line)
		case line != "":
			w.run(t, strings.Replace(line, "train.py", replay[1], 1))
		}
	}
	if way != 5 {
		t.Errorf("README.md shows %d ways, want 5", way)
	}
	w.look(t)
}

// ways is a folder in which a reader of README.md tries its commands.
type ways struct {
	folder string
	env    []string
	said   map[string]string // standard output by the first two words of a command
}

func newWays(t *testing.T) *ways {
	t.Helper()
	w := &ways{folder: t.TempDir(), env: testkit.Built(t), said: map[string]string{}}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(here, "testdata"), filepath.Join(w.folder, "testdata")); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\n"), 0o755); err != nil { // --open, without a browser
		t.Fatal(err)
	}
	path := w.env[len(w.env)-1]
	w.env = append(w.env, path+":"+bin, "DISPLAY=", "WAYLAND_DISPLAY=", "BROWSER=")
	return w
}

func (w *ways) command(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env = w.folder, w.env
	return cmd
}

// run runs a command, which succeeds unless it is the gate.
func (w *ways) run(t *testing.T, line string) {
	t.Helper()
	out, err := w.command(line).Output()
	w.said[strings.Join(strings.Fields(line)[:2], " ")] = string(out)
	code, want := 0, 0
	if strings.HasPrefix(line, "proton gate ") {
		want = 1
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != want {
		var stderr []byte
		if exit != nil {
			stderr = exit.Stderr
		}
		t.Errorf("%s: exit code %d, want %d\n%s%s", line, code, want, out, stderr)
	}
}

// repeat makes five runs before a change and five after it, in which one kernel became slower by a third.
func (w *ways) repeat(t *testing.T) {
	t.Helper()
	for i := 1; i <= 5; i++ {
		for side, slower := range map[string]float64{"before": 1, "after": 4. / 3} {
			p, err := formats.ReadFile(filepath.Join(w.folder, "train.hatchet"))
			if err != nil {
				t.Fatal(err)
			}
			p.Info[profile.InfoPID] = fmt.Sprint(side, i) // runs of their own
			p.Root.Walk(func(n *profile.Node, _ int) bool {
				if v, _ := n.Metric("time (ns)"); len(n.Children) == 0 {
					nanos, _ := v.Float()
					time := nanos * (1 + float64(i)/1000)
					if strings.HasPrefix(n.Name, "matmul_<grid:8192x1x1>") {
						time *= slower
					}
					n.Set("time (ns)", profile.IntValue(int64(time)))
				}
				return true
			})
			path := filepath.Join(w.folder, fmt.Sprintf("%s%d.hatchet", side, i))
			target, err := formats.TargetOf(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := target.WriteFile(path, p); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// browse opens the address that a command prints.
func (w *ways) browse(t *testing.T, line string) {
	t.Helper()
	cmd := w.command(line)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: an interrupt ends it with %v", line, err)
		}
	}()
	var address string
	said := bufio.NewScanner(stderr)
	for address == "" && said.Scan() {
		address = regexp.MustCompile(`http://\S+`).FindString(said.Text())
	}
	if address == "" {
		t.Fatalf("%s prints no address", line)
	}
	response, err := http.Get(address + "/flamegraph")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if page, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(page), "grid:8192x1x1") {
		t.Errorf("the flame graph at %s shows no kernel (%v)", address, err)
	}
}

// look checks that what the commands made is what README.md says.
func (w *ways) look(t *testing.T) {
	t.Helper()
	for command, want := range map[string]string{
		"proton viewer": "matmul_<grid:8192x1x1>", "proton diff": "+33", "proton gate": "FAIL: 1 of 1 rule broken; 5 runs before, 5 runs after",
	} {
		if !strings.Contains(w.said[command], want) {
			t.Errorf("%s does not say %q:\n%s", command, want, w.said[command])
		}
	}
	page, err := os.ReadFile(filepath.Join(w.folder, "train.html"))
	if err != nil || !strings.Contains(string(page), "<title>train.hatchet") {
		t.Errorf("train.html is not a report of train.hatchet (%v)", err)
	}
	trace, err := formats.ReadFile(filepath.Join(w.folder, "train.perfetto"))
	if err != nil || trace.Timeline == nil || len(trace.Timeline.Slices) < 300 {
		t.Errorf("train.perfetto has no timeline of 312 kernels (%v)", err)
	}
}
