package roctracer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

// TestRoom runs testdata/room.c, under the sanitizers that the compiler has.
func TestRoom(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skipf("needs a C compiler: %v", err)
	}
	sources := []string{"testdata/room.c"}
	for _, name := range []string{"calls", "driver", "graphs", "hip_calls", "legacy", "loaded", "names", "nodes", "ranges", "record", "record_legacy", "records"} {
		sources = append(sources, name+".c")
	}
	for _, sanitizer := range []string{"address,undefined", "thread"} {
		t.Run(sanitizer, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "room")
			args := append([]string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=" + sanitizer, "-I../hotpath", "-I../hotpath/recorder", "-o", program}, sources...)
			if out, err := exec.Command(cc, append(args, "-ldl", "-pthread")...).CombinedOutput(); err != nil {
				if strings.Contains(string(out), "cannot find -l") || strings.Contains(string(out), "unsupported") {
					t.Skipf("needs the library of -fsanitize=%s", sanitizer)
				}
				t.Fatalf("testdata/room.c does not compile: %v\n%s", err, out)
			}
			rounds := "2000"
			if testkit.All() {
				rounds = "200000"
			}
			if out, err := exec.Command(program, rounds).CombinedOutput(); err != nil {
				t.Errorf("%v\n%.6000s", err, out)
			}
		})
	}
}
