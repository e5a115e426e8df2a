package cubin

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const zooDir = "testdata/zoo"

// zoo returns the cubins that are compared with what NVIDIA's tools say: those of testdata, and where the compilers are in
// .venv, some ninety more for GPUs from sm_80 to sm_100, which are compiled once for all runs.
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
	return append(files, within(compiled(t))...)
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
	out, err := exec.Command("../../.venv/bin/python", "-B", filepath.Join(zooDir, "make.py"), "../../.venv/oracles", folder).CombinedOutput()
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
