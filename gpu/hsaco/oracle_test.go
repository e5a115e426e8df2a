package hsaco

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/internal/testkit"
)

// A description of a code object has lines of three kinds: what the metadata says of a kernel, a function, and an instruction of it with its
// offset, operation, and places in the source, innermost first. The goldens are LLVM's, see llvms.

// own is the description by this package. Operations come from llvm-objdump alone.
func own(t *testing.T, file string) string {
	t.Helper()
	m := open(t, file)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", m.arch)
	for _, name := range m.Kernels() {
		k := m.kernels[name]
		fmt.Fprintf(&b, "kernel %s: %d vector registers, %d scalar, shared %d, private %d, wave of %d\n", name, k.vector, k.scalar, k.shared, k.private, k.threads)
	}
	functions := slices.Clone(m.functions)
	slices.SortFunc(functions, func(a, b function) int { return cmp.Compare(a.address, b.address) })
	for _, fn := range functions {
		f, _ := m.Function(uint32(fn.index), fn.name)
		fmt.Fprintf(&b, "function %d %s: %d bytes at %#x\n", f.Index, f.Name, f.Size, fn.address)
		for at := range f.Offsets {
			fmt.Fprintf(&b, "%04x -", at)
			for _, place := range f.Frames(at) {
				fmt.Fprintf(&b, " %s:%d", filepath.Base(place.File), place.Line)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func open(t testing.TB, file string) *module {
	t.Helper()
	m, err := Open([]byte(testkit.Read(t, file)))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return m.(*module)
}

var operation = regexp.MustCompile(`(?m)^([0-9a-f]{4,}) \S+`)

// TestDescriptions compares what this package says of the code objects with what LLVM's tools said when the goldens were made.
func TestDescriptions(t *testing.T) {
	for _, file := range objects(t) {
		got, want := own(t, file), operation.ReplaceAllString(testkit.Read(t, golden(file)), "$1 -")
		if got != want {
			t.Errorf("%s:\n%s", file, testkit.FirstDifference(got, want))
		}
	}
}

func objects(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.hsaco")
	if err != nil || len(files) == 0 {
		t.Fatalf("no code objects in testdata (%v)", err)
	}
	return files
}

func golden(file string) string { return strings.TrimSuffix(file, ".hsaco") + ".txt" }

// TestAgainstLLVM compares it with what LLVM says, also for the code objects of the folder that HSACOS names. LLVM names the folder of its
// programs; by default they are those that tools/rocm.sh has fetched, or those of PATH. -update writes the goldens.
func TestAgainstLLVM(t *testing.T) {
	files, compared := objects(t), 0
	if folder := os.Getenv("HSACOS"); folder != "" {
		more, err := filepath.Glob(filepath.Join(folder, "*.hsaco"))
		if err != nil || len(more) == 0 {
			t.Fatalf("no code objects in %s (%v)", folder, err)
		}
		files = append(files, more...)
	}
	for _, file := range files {
		want, err := llvms(file)
		if err != nil {
			t.Logf("%s: %v", file, err)
			continue
		}
		compared++
		if got := own(t, file); got != operation.ReplaceAllString(want, "$1 -") {
			t.Errorf("%s:\n%s", file, testkit.FirstDifference(got, operation.ReplaceAllString(want, "$1 -")))
		}
		if testkit.Update() && slices.Contains(objects(t), file) {
			if err := os.WriteFile(golden(file), []byte(want), 0o666); err != nil {
				t.Error(err)
			}
		}
	}
	if compared == 0 {
		t.Skip("no llvm-objdump, llvm-readelf and llvm-symbolizer in PATH that know these GPUs: LLVM 22 knows all of them: run tools/rocm.sh, or set LLVM to the folder that it is in")
	}
	t.Logf("%d of %d code objects were compared", compared, len(files))
}

func llvm(tool string, input string, arguments ...string) (string, error) {
	folder := os.Getenv("LLVM")
	if fetched := "../../.venv/oracles/rocm/llvm-22/bin"; folder == "" {
		if _, err := os.Stat(fetched); err == nil {
			folder = fetched
		}
	}
	if folder != "" {
		tool = filepath.Join(folder, tool)
	}
	cmd := exec.Command(tool, arguments...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.Output()
	return string(out), err
}

var (
	llvmTarget   = regexp.MustCompile(`Flags: .*(gfx[0-9a-f]+)`)
	llvmNote     = regexp.MustCompile(`(?m)^  [- ] (\.\w+): +(\S+)$`)
	llvmFunction = regexp.MustCompile(`(?m)^ *(\d+): ([0-9a-f]+) +(\d+) FUNC .* (\S+)$`)
	llvmCode     = regexp.MustCompile(`^\s+(\S+).*// ([0-9A-F]+): [0-9A-F ]+`)
)

// llvms is the description by LLVM's tools.
func llvms(file string) (string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	elf, err := llvm("llvm-readelf", "", "-h", "-s", "-W", "--notes", file)
	if err != nil {
		return "", err
	}
	code, err := llvm("llvm-objdump", "", "-d", realTrue16, file)
	if err != nil {
		return "", err
	}
	target := llvmTarget.FindStringSubmatch(elf)
	if target == nil {
		return "", errors.New("llvm-readelf does not know the GPU")
	}
	_, table, _ := strings.Cut(elf, "Symbol table '.symtab'")
	operations := map[uint64]string{}
	for line := range strings.Lines(code) {
		if m := llvmCode.FindStringSubmatch(line); m != nil && m[1] != ".long" {
			address, _ := strconv.ParseUint(m[2], 16, 64)
			operations[address] = m[1]
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", target[1])
	note := map[string]string{}
	for _, m := range llvmNote.FindAllStringSubmatch(elf, -1) {
		if note[m[1]] = m[2]; m[1] == ".wavefront_size" {
			fmt.Fprintf(&b, "kernel %s: %s vector registers, %s scalar, shared %s, private %s, wave of %s\n", note[".name"], note[".vgpr_count"],
				note[".sgpr_count"], note[".group_segment_fixed_size"], note[".private_segment_fixed_size"], note[".wavefront_size"])
		}
	}
	functions := llvmFunction.FindAllStringSubmatch(table, -1)
	slices.SortFunc(functions, func(a, b []string) int { return cmp.Compare(a[2], b[2]) })
	for _, f := range functions {
		address, _ := strconv.ParseUint(f[2], 16, 64)
		size, _ := strconv.ParseUint(f[3], 10, 64)
		fmt.Fprintf(&b, "function %s %s: %d bytes at %#x\n", f[1], f[4], size, address)
		if err := llvmInstructions(&b, file, operations, address, size); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func llvmInstructions(b *strings.Builder, file string, operations map[uint64]string, address, size uint64) error {
	var all []uint64
	var input strings.Builder
	for at := address; at < address+size; at += 4 {
		if operations[at] != "" {
			all = append(all, at)
			fmt.Fprintf(&input, "%#x\n", at)
		}
	}
	out, err := llvm("llvm-symbolizer", input.String(), "--obj="+file, "--inlines", "--functions=none")
	if err != nil {
		return err
	}
	answers := strings.Split(out, "\n\n")
	if len(answers) != len(all)+1 {
		return fmt.Errorf("llvm-symbolizer has %d answers for %d instructions", len(answers)-1, len(all))
	}
	for i, at := range all {
		fmt.Fprintf(b, "%04x %s", at-address, operations[at])
		for _, place := range strings.Split(strings.TrimSpace(answers[i]), "\n") {
			place = place[:max(strings.LastIndexByte(place, ':'), 0)] // without the column
			if !strings.HasSuffix(place, ":0") {
				fmt.Fprintf(b, " %s", filepath.Base(place))
			}
		}
		b.WriteByte('\n')
	}
	return nil
}

// TestDisassembly: what llvm-objdump prints of a function, with labels for the targets of branches.
func TestDisassembly(t *testing.T) {
	f, _ := open(t, "testdata/calls.gfx942.hsaco").Function(0, "calls")
	out := []byte(testkit.Read(t, "testdata/calls.gfx942.objdump"))
	tool, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := gpu.Disassembler{
		Env: func(name string) (string, bool) { return tool, name == "PROTON_OBJDUMP" },
		Run: func(_, _ string, index int) ([]byte, error) { return out, nil },
	}
	code, err := disassemble(d, "calls.hsaco", &f)
	if err != nil {
		t.Fatal(err)
	}
	instructions := 0
	for at := range f.Offsets {
		if instructions++; code.Text[at] == "" {
			t.Errorf("no text of the instruction at %#x", at)
		}
	}
	if len(code.Text) != instructions {
		t.Errorf("%d instructions, and the text has %d", instructions, len(code.Text))
	}
	if code.Text[0x14] != "s_branch .L0100" || len(code.Labels) != 2 || code.Labels[0x100] != ".L0100" || code.Labels[0x1c4] != ".L01c4" {
		t.Errorf("%q at 0x14, labels %v", code.Text[0x14], code.Labels)
	}
	d.Env = func(name string) (string, bool) { return "", name == "PROTON_OBJDUMP" }
	if code, err = disassemble(d, "calls.hsaco", &f); err == nil || len(code.Text) > 0 {
		t.Errorf("without a disassembler: %v, %v", code.Text, err)
	}
}
