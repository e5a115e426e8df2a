package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestIdleOfBothRecordings: the sums that proton run --idle makes while the program runs are those that are made of its timeline.
func TestIdleOfBothRecordings(t *testing.T) {
	env, folder := testkit.Built(t), t.TempDir()
	capture := filepath.Join(testkit.Root(t), "testdata/captures/overlap.capture.gz")
	proton := func(args ...string) string {
		cmd := exec.Command("sh", append([]string{"-c", `exec proton "$@"`, "sh"}, args...)...) // found in the PATH of env
		cmd.Dir, cmd.Env = folder, env
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("proton %v: %v", args, err)
		}
		return string(out)
	}
	proton("run", "--idle", "--backend", "replay", "--name", "sums", capture)
	proton("run", "-d", "trace", "--backend", "replay", "--name", "timeline", capture)
	var heads [][]string
	for _, file := range []string{"sums.hatchet", "timeline.chrome_trace"} {
		text := proton("viewer", "--idle", file)
		_, rest, found := strings.Cut(text, "gaps\n")
		line, _, ended := strings.Cut(rest, "\n")
		fields := strings.Fields(line)
		if !found || !ended || len(fields) < 9 {
			t.Fatalf("%s", text)
		}
		heads = append(heads, fields[:9]) // wall, busy, its share, idle, its share, gaps
	}
	if !slices.Equal(heads[0], heads[1]) || heads[0][0] == "0" {
		t.Errorf("sums made while the program ran %q, of its timeline %q", heads[0], heads[1])
	}
}
