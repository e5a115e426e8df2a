package idle_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/viewer/idle"
)

// TestTreeAgreesWithTimeline replays one recording of an H200 twice: the sums of the tree are those of the timeline.
func TestTreeAgreesWithTimeline(t *testing.T) {
	env := testkit.Built(t)
	folder := t.TempDir()
	run := func(name, flags string) *idle.Report {
		t.Helper()
		capture := filepath.Join(testkit.Root(t), "testdata/captures/overlap.capture.gz")
		cmd := exec.Command("sh", "-c", "proton run "+flags+" --backend replay "+capture)
		cmd.Dir, cmd.Env = folder, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", flags, err, out)
		}
		p, err := formats.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		r, err := idle.Of(p, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	tree := run("tree.hatchet", "--idle -n tree").Devices[0]
	timeline := run("timeline.chrome_trace", "--data timeline -n timeline")
	d := timeline.Devices[0]
	if tree.Busy != d.Busy || tree.Idle != d.Idle || tree.Gaps != d.Gaps || tree.Idle == 0 {
		t.Errorf("the tree has busy %d, idle %d in %d gaps; the timeline %d, %d in %d", tree.Busy, tree.Idle, tree.Gaps, d.Busy, d.Idle, d.Gaps)
	}
}
