package runinfo

import (
	"os"
	"path/filepath"
	"testing"
)

// A process that executes other programs leaves a status for each.
func TestStatusOfAProcessThatExecutesAnother(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "[run]") // which would be a pattern
	if err := os.Mkdir(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := MoveAside(folder, 7, ".json"); err != nil {
		t.Errorf("nothing to move: %v", err)
	}
	for kernels := range int64(3) {
		if err := MoveAside(folder, 7, ".json"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a checkpoint and the end
			if err := (Status{PID: 7, Kernels: kernels + 1}).Write(folder); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := (Status{PID: 5, Kernels: 10}).Write(folder); err != nil {
		t.Fatal(err)
	}
	list, err := ReadStatuses(folder)
	if err != nil {
		t.Fatal(err)
	}
	var kernels []int64
	var replaced []bool
	for _, s := range list {
		kernels, replaced = append(kernels, s.Kernels), append(replaced, s.Replaced)
	}
	if len(list) != 4 || list[0].PID != 5 || replaced[0] || !replaced[1] || !replaced[2] || replaced[3] || kernels[3] != 3 {
		t.Errorf("kernels %v, replaced %v", kernels, replaced)
	}
}

func TestStatusThatCannotBeWritten(t *testing.T) {
	if err := (Status{PID: 7}).Write(filepath.Join(t.TempDir(), "gone")); !os.IsNotExist(err) {
		t.Errorf("a folder that is gone: %v", err)
	}
}
