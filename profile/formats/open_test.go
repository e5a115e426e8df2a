//go:build unix

package formats_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/profile/formats"
)

func TestDevicesAreRefused(t *testing.T) {
	link := filepath.Join(t.TempDir(), "run.hatchet")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	if _, err := formats.ReadFile(link); err == nil || !strings.Contains(err.Error(), "it is a device") {
		t.Errorf("reading %s: %v", link, err)
	}
}
