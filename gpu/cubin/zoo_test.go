package cubin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

const zooDir = "testdata/zoo"

// daily are the compilers whose cubins every run compares, and those that make check adds. With all of them, and CUTLASS,
// it is 100 cubins in ten minutes.
func daily() []string {
	if testkit.All() {
		return []string{"triton-3.9.0-90", "nvrtc-90"}
	}
	return []string{"nvrtc-90"}
}

// zoo returns the cubins that are compared with what NVIDIA's tools say: those of testdata, and where the compilers are in
// .venv, the daily ones, or with -all all for GPUs from sm_80 to sm_100. They are compiled once for all runs.
func zoo(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.cubin")
	if len(files) == 0 {
		t.Fatal("no cubins in testdata")
	}
	if named := os.Getenv("CUBINS"); named != "" {
		return append(files, within(named)...)
	}
	if testing.Short() {
		return files
	}
	folder := compiled(t)
	if *all {
		return append(files, within(folder)...)
	}
	for _, name := range daily() {
		files = append(files, within(filepath.Join(folder, name))...)
	}
	return files
}

func within(folder string) []string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.cubin"))
	deeper, _ := filepath.Glob(filepath.Join(folder, "*/*.cubin"))
	return append(files, deeper...)
}

// compiled is the folder with what make.py compiles of the sources as they are now.
func compiled(t *testing.T) string {
	t.Helper()
	folder := filepath.Join("../../.venv/oracles/cubins", sourcesHash(t))
	if _, err := os.Stat("../../.venv/bin/python"); err != nil {
		return folder
	}
	args := []string{"-B", filepath.Join(zooDir, "make.py"), "../../.venv/oracles", folder}
	if !*all {
		args = append(args, daily()...)
	}
	out, err := exec.Command("../../.venv/bin/python", args...).CombinedOutput()
	if err != nil {
		t.Errorf("compile cubins: %v: %s", err, out)
	}
	if len(out) > 0 {
		t.Logf("%s", out)
	}
	return folder
}

func sourcesHash(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	files, _ := filepath.Glob(zooDir + "/*.*")
	for _, file := range append(files, "testdata/calls.cu", "testdata/two.cu") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		h.Write(b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
