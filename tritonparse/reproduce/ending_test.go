package reproduce

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goproton/goproton/internal/testkit"
)

// A process that ends ends the scripts that it runs, and none begins any more; what waits for them goes on and removes what it has made.
func TestEndAll(t *testing.T) {
	t.Cleanup(func() { ending.Store(false) })
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	script := filepath.Join(t.TempDir(), "endless.sh")
	if err := os.WriteFile(script, []byte("exec sleep 600\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	measured := make(chan error, 1)
	measure := func() { _, _, err := Measure(Interpreter{Python: "sh"}, script); measured <- err }
	go measure()
	testkit.Await(t, "the script begins", func() bool { return len(glob(temporary)) == 1 && length() == 1 })
	EndAll()
	for range 2 { // the one that runs, and one that begins afterwards
		select {
		case err := <-measured:
			if err == nil || length() > 0 || len(glob(temporary)) > 0 {
				t.Errorf("%v, %d scripts, and %q are left", err, length(), glob(temporary))
			}
		case <-time.After(time.Minute):
			t.Fatal("the script was not ended")
		}
		go measure()
	}
	<-measured
}

func glob(folder string) []string {
	all, _ := filepath.Glob(folder + "/*") //nolint:errcheck // the pattern is right
	return all
}

func length() (n int) {
	running.Range(func(_, _ any) bool { n++; return true })
	return n
}
