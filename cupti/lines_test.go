package cupti_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu/cubin"
)

// TestEveryInstructionAgainstCUPTI compares gpu/cubin's source lines with CUPTI's, for every instruction of the cubins in
// gpu/cubin/testdata and of those that its tests have compiled. The variable CUBINS names another folder, CUPTI another
// library than those of the pinned wheels.
func TestEveryInstructionAgainstCUPTI(t *testing.T) {
	program := filepath.Join(t.TempDir(), "lines")
	if out, err := exec.Command("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, "testdata/abi/lines.c", "-ldl").CombinedOutput(); err != nil {
		t.Fatalf("testdata/abi/lines.c: %v\n%s", err, out)
	}
	compared := 0
	for _, library := range libraries(t) {
		n := 0
		for _, file := range cubinFiles(t) {
			n += compare(t, program, library, file)
		}
		t.Logf("%s: %d instructions with lines compared", library, n)
		compared += n
	}
	if compared == 0 {
		t.Error("no instruction was compared")
	}
}

func libraries(t *testing.T) []string {
	t.Helper()
	if named := os.Getenv("CUPTI"); named != "" {
		return []string{named}
	}
	found, _ := filepath.Glob("../.venv/oracles/triton-*/triton/backends/nvidia/lib/cupti/libcupti.so.1?")
	if len(found) == 0 {
		t.Skip("needs a libcupti in .venv: run tools/oracles.sh where PyPI can be reached")
	}
	return found
}

func cubinFiles(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("../gpu/cubin/testdata/*.cubin")
	if len(files) == 0 {
		t.Fatal("no cubins in ../gpu/cubin/testdata")
	}
	more := "../.venv/oracles/cubins/*"
	if named := os.Getenv("CUBINS"); named != "" {
		more = named
	}
	for _, pattern := range []string{"*.cubin", "*/*.cubin"} {
		found, _ := filepath.Glob(filepath.Join(more, pattern))
		files = append(files, found...)
	}
	return files
}

// compare returns the number of instructions that CUPTI has a line for. CUPTI knows only kernels, no other functions.
func compare(t *testing.T, program, library, file string) int {
	t.Helper()
	image, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Read(image)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var questions strings.Builder
	ours := map[string]string{}
	for i := range f.Functions {
		fn := &f.Functions[i]
		if !fn.Entry {
			continue
		}
		size := fn.Size
		if !fn.Lines.Known() { // CUPTI is slow in the large modules of libraries: it is enough that it knows no lines either
			size = cubin.InstructionSize
		}
		fmt.Fprintf(&questions, "%s\t%s\t%d\n", file, fn.Name, size)
		for pc := uint64(0); pc < fn.Size; pc += cubin.InstructionSize {
			ours[fmt.Sprintf("%s+%#x", fn.Name, pc)] = place(fn, pc)
		}
	}
	ask := exec.Command(program, library)
	ask.Stdin = strings.NewReader(questions.String())
	out, err := ask.Output()
	if err != nil {
		t.Fatalf("%s: %v", library, err)
	}
	lined, wrong := 0, 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		at, theirs, _ := strings.Cut(line, "\t")
		if theirs == "/:0" || theirs == "!1" { // no line for this instruction, none in the module
			theirs = ""
		} else {
			lined++
		}
		if ours[at] == theirs {
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("%s: %s is %q, by CUPTI %q", file, at, ours[at], theirs)
		}
	}
	t.Logf("%s: %d kernel instructions, %d with a line, %d differ", filepath.Base(file), len(ours), lined, wrong)
	return lined
}

func place(f *cubin.Function, pc uint64) string {
	frames := f.Frames(pc)
	if len(frames) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", frames[0].File, frames[0].Line)
}
