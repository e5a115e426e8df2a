package runinfo

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRequests(t *testing.T) {
	folder := t.TempDir()
	if n := CheckpointRequests(folder); n != 0 {
		t.Errorf("%d requests before the first", n)
	}
	for want := int64(1); want <= 3; want++ {
		if n, err := RequestCheckpoint(folder); n != want || err != nil || CheckpointRequests(folder) != want {
			t.Errorf("request %d: got %d (%v), and %d are seen", want, n, err, CheckpointRequests(folder))
		}
	}
	if _, err := RequestCheckpoint(filepath.Join(folder, "gone")); err == nil {
		t.Error("a request in a folder that is gone passes")
	}
	if err := os.Mkdir(filepath.Join(folder, "other"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "other", requests), 0o700); err != nil {
		t.Fatal(err)
	}
	if n := CheckpointRequests(filepath.Join(folder, "other")); n != 0 {
		t.Errorf("a folder counts as %d requests", n)
	}
}
