package cubin

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// nvdisasm is NVIDIA's disassembler, from the pinned Triton wheel.
func nvdisasm(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("../../.venv/oracles/triton-*/triton/backends/nvidia/bin/nvdisasm")
	if len(found) == 0 {
		t.Skip("no nvdisasm in .venv (tools/oracles.sh fetches it)")
	}
	return found[len(found)-1]
}

var (
	textLabel   = regexp.MustCompile(`^\.text\.(\S+):$`)
	sourceLine  = regexp.MustCompile(`^\s*//## File "(.*?)", line (\d+)(?: inlined at "(.*?)", line (\d+))?$`)
	instruction = regexp.MustCompile(`^\s*/\*([0-9a-f]+)\*/\s`)
)

// theirs is what nvdisasm says of every instruction: function+address → chain of places, innermost first. The option
// -gi asks for lines of the source, -gp for lines of the PTX.
func theirs(t *testing.T, file, option string) map[string]string {
	t.Helper()
	out, err := exec.Command(nvdisasm(t), option, "-c", file).Output()
	if err != nil {
		t.Skipf("nvdisasm %s: %v", file, err)
	}
	all := map[string]string{}
	function, chain, fresh := "", "", true
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		if m := textLabel.FindStringSubmatch(text); m != nil {
			function, chain = m[1], ""
		} else if m := sourceLine.FindStringSubmatch(text); m != nil {
			if fresh {
				chain = ""
			}
			chain, fresh = chain+m[1]+":"+m[2]+" ", false
		} else if m := instruction.FindStringSubmatch(text); m != nil {
			pc, _ := strconv.ParseUint(m[1], 16, 64)
			all[fmt.Sprintf("%s+%#x", function, pc)] = chain
			fresh = true
		}
	}
	return all
}

// ours is the same by us. nvdisasm says nothing where the innermost place stays and only the calls around it change,
// so its reader would see the calls from before; we know better, but compare what it shows.
func ours(f *File, chainOf func(*Function, uint64) string) map[string]string {
	all := map[string]string{}
	for i := range f.Functions {
		fn := &f.Functions[i]
		shown, innermost := "", ""
		for pc := uint64(0); pc < fn.Size; pc += InstructionSize {
			chain := chainOf(fn, pc)
			if place, _, _ := strings.Cut(chain, " "); place != innermost || place == "" {
				shown, innermost = chain, place
			}
			all[fmt.Sprintf("%s+%#x", fn.Name, pc)] = shown
		}
	}
	return all
}

func sourceChain(fn *Function, pc uint64) string {
	chain := ""
	for _, frame := range fn.Frames(pc) {
		chain += fmt.Sprintf("%s:%d ", frame.File, frame.Line)
	}
	return chain
}

func ptxChain(fn *Function, pc uint64) string {
	if line := fn.PTXLine(pc); line != 0 {
		return fmt.Sprintf(".nv_debug_ptx_txt:%d ", line)
	}
	return ""
}

// cubins are those of testdata, and of the folder that CUBINS names.
func cubins(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob("testdata/*.cubin")
	if more := os.Getenv("CUBINS"); more != "" {
		extra, _ := filepath.Glob(filepath.Join(more, "*.cubin"))
		files = append(files, extra...)
	}
	if len(files) == 0 {
		t.Fatal("no cubins in testdata")
	}
	return files
}

func TestEveryInstructionAgainstNvdisasm(t *testing.T) {
	for _, file := range cubins(t) {
		f := open(t, file)
		for option, chainOf := range map[string]func(*Function, uint64) string{"-gi": sourceChain, "-gp": ptxChain} {
			want, have := theirs(t, file, option), ours(f, chainOf)
			wrong, inlined := 0, 0
			for at, chain := range want {
				if strings.Count(chain, " ") > 1 {
					inlined++
				}
				if have[at] == chain {
					continue
				}
				if wrong++; wrong <= 5 {
					t.Errorf("%s %s %s\n--- ours\n%s\n--- nvdisasm's\n%s", file, option, at, have[at], chain)
				}
			}
			if len(want) == 0 {
				t.Errorf("%s: nvdisasm %s showed no instruction", file, option)
			}
			t.Logf("%s %s: %d instructions, %d of inlined code, %d differ", filepath.Base(file), option, len(want), inlined, wrong)
		}
	}
}
