package cubin

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	instruction = regexp.MustCompile(`^\s*/\*([0-9a-f]+)\*/\s+(?:\{\s+)?(?:@!?U?P(?:\d|T)\s+)?([A-Z][A-Z0-9_]*)`)
)

// reading is what nvdisasm or this package reports of an instruction.
type reading struct {
	chain     string // places, innermost first
	operation string
}

// theirs is what nvdisasm says of every instruction: section+address → what. The option -gi asks for lines of the source
// with their calls, -g for lines of the source, -gp for lines of the PTX.
func theirs(t *testing.T, file, option string) map[string]reading {
	t.Helper()
	out, err := exec.Command(nvdisasm(t), option, "-c", file).Output()
	if err != nil {
		t.Fatalf("nvdisasm %s %s: %v", option, file, err)
	}
	all := map[string]reading{}
	section, chain, fresh := "", "", true
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		if m := textLabel.FindStringSubmatch(text); m != nil {
			section, chain = m[1], ""
		} else if m := sourceLine.FindStringSubmatch(text); m != nil {
			if fresh {
				chain = ""
			}
			chain, fresh = chain+m[1]+":"+m[2]+" ", false
		} else if m := instruction.FindStringSubmatch(text); m != nil {
			pc, _ := strconv.ParseUint(m[1], 16, 64)
			all[at(section, pc)] = reading{chain, m[2]}
			fresh = true
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func at(section string, pc uint64) string { return fmt.Sprintf("%s+%#x", section, pc) }

// section is where a function lies: that of a kernel, also for the functions that only this kernel calls.
func section(f *File, fn *Function) string {
	for i := range f.Functions {
		if k := &f.Functions[i]; k.section == fn.section && k.Entry {
			return k.Name
		}
	}
	return fn.Name
}

// ours is the same by us, of every instruction of every function. Those in a kernel's section come once for the kernel
// and once for themselves: if the two differed, it would show. nvdisasm says nothing where the innermost place stays
// and only the calls around it change, so its reader would see the calls from before; we know better, but compare what
// it shows.
func ours(t *testing.T, f *File, chainOf func(*Function, uint64) string) map[string]reading {
	t.Helper()
	all := map[string]reading{}
	functions := slices.Clone(f.Functions)
	slices.SortStableFunc(functions, func(a, b Function) int { return int(b.Size) - int(a.Size) }) // kernels before what they hold
	for i := range functions {
		fn := &functions[i]
		shown, innermost := "", ""
		for pc := uint64(0); pc < fn.Size; pc += InstructionSize {
			chain := chainOf(fn, pc)
			key := at(section(f, fn), fn.offset+pc)
			place, _, _ := strings.Cut(chain, " ")
			if place != innermost || place == "" {
				shown, innermost = chain, place
			}
			mine := reading{shown, Operation(fn.Code[pc:])}
			if kernel, twice := all[key]; twice {
				if by, _, _ := strings.Cut(kernel.chain, " "); by != place || kernel.operation != mine.operation {
					t.Errorf("%s: %v as a part of its kernel, and %v of %s", key, kernel, mine, fn.Name)
				}
				continue
			}
			all[key] = mine
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

func sourcePlace(fn *Function, pc uint64) string {
	for _, frame := range fn.Frames(pc) {
		return fmt.Sprintf("%s:%d ", frame.File, frame.Line)
	}
	return ""
}

func ptxChain(fn *Function, pc uint64) string {
	if line := fn.PTXLine(pc); line != 0 {
		return fmt.Sprintf(".nv_debug_ptx_txt:%d ", line)
	}
	return ""
}

// all compares the cubins of all compilers, and asks for lines without their calls, and for lines of the PTX, too: minutes.
var all = flag.Bool("all", false, "compare all cubins with nvdisasm in every way")

// TestEveryInstructionAgainstNvdisasm compares the places of all instructions with what NVIDIA's tool says of them, and
// the names of their operations.
func TestEveryInstructionAgainstNvdisasm(t *testing.T) {
	for _, file := range zoo(t) {
		t.Run(zooName(file), func(t *testing.T) {
			t.Parallel()
			f := open(t, file)
			want, have := theirs(t, file, "-gi"), ours(t, f, sourceChain)
			comparePlaces(t, "-gi", want, have)
			compareOperations(t, want, have)
			if *all || !strings.Contains(file, ".venv") {
				comparePlaces(t, "-g", theirs(t, file, "-g"), ours(t, f, sourcePlace))
				comparePlaces(t, "-gp", theirs(t, file, "-gp"), ours(t, f, ptxChain))
			}
		})
	}
}

// zooName is a file's name with the compiler's: cutlass/cute_gemm.sm90a.cubin.
func zooName(file string) string {
	return filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
}

func comparePlaces(t *testing.T, option string, want, have map[string]reading) {
	t.Helper()
	wrong, placed, inlined := 0, 0, 0
	for _, at := range slices.Sorted(maps.Keys(want)) {
		chain := want[at].chain
		if chain != "" {
			placed++
		}
		if strings.Count(chain, " ") > 1 {
			inlined++
		}
		if mine, is := have[at]; is && mine.chain == chain {
			continue
		}
		if wrong++; wrong <= 5 {
			t.Errorf("%s %s\n--- ours\n%s\n--- nvdisasm's\n%s", option, at, have[at].chain, chain)
		}
	}
	if len(want) != len(have) || len(want) == 0 {
		t.Errorf("%s: nvdisasm shows %d instructions, we have %d", option, len(want), len(have))
	}
	t.Logf("%s: %d instructions, %d with a place, %d of inlined code, %d differ", option, len(want), placed, inlined, wrong)
}

// compareOperations lists the names that we lack, or that are not NVIDIA's.
func compareOperations(t *testing.T, want, have map[string]reading) {
	t.Helper()
	wrong := map[string]bool{}
	for at, theirs := range want {
		if mine := have[at].operation; mine != theirs.operation {
			wrong[fmt.Sprintf("we say %s of %s", mine, theirs.operation)] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(wrong)) {
		t.Error(text)
	}
}
