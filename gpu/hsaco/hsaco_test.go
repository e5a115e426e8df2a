package hsaco

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu"
	"github.com/goproton/goproton/internal/testkit"
)

func image(t testing.TB, name string) []byte {
	t.Helper()
	return []byte(testkit.Read(t, "testdata/"+name+".hsaco"))
}

// TestInlinedChain: the multiplication of act, which twice calls, which the kernel calls; kernels.py has the lines. Triton calls inlined
// functions by the kernel's name.
func TestInlinedChain(t *testing.T) {
	f, _ := open(t, "testdata/inlined.gfx942.hsaco").Function(0, "inlined.kd")
	chains := map[string]int{}
	for at := range f.Offsets {
		chain := ""
		for _, frame := range f.Frames(at) {
			chain += fmt.Sprintf(" %d %s", frame.Line, frame.Func)
		}
		chains[chain]++
	}
	if chains[" 8 inlined 14 inlined 21 inlined"] == 0 || chains[" 19 inlined"] == 0 {
		t.Errorf("chains %v", chains)
	}
	if f.Name != "inlined" || f.Frames(f.Size) != nil || f.Frames(^uint64(0)) != nil {
		t.Errorf("what is behind %s has frames", f.Name)
	}
}

func TestCallersOfFunctions(t *testing.T) {
	for _, arch := range []string{"gfx942", "gfx1201"} {
		m := open(t, "testdata/calls."+arch+".hsaco")
		got := fmt.Sprint(m.Callers(), m.Kernels())
		if want := "map[kernels.stays_a_call__fp32_c3:[calls] kernels.stays_a_call__fp32_i32:[calls]] [calls]"; got != want {
			t.Errorf("%s: %s, want %s", arch, got, want)
		}
	}
}

// TestSpills: the assembly has 494 reloads and 418 spills; up to gfx90a they are buffer instructions.
func TestSpills(t *testing.T) {
	m, err := Open(testkit.Gunzip(t, "testdata/spills.gfx90a.hsaco.gz"))
	if err != nil {
		t.Fatal(err)
	}
	f, _ := m.Function(0, "softmax")
	if f.LocalLoads != 494 || f.LocalStores != 418 || f.Frame != 1172 || f.Registers != 64 || f.Scalars != 64 {
		t.Errorf("%d loads and %d stores in %d bytes, %d registers, %d scalars", f.LocalLoads, f.LocalStores, f.Frame, f.Registers, f.Scalars)
	}
}

// TestAssembly: every instruction of a function is a line of the text that it was assembled from, or fills a gap. A text of another
// function, of another compilation or that is cut off is not taken.
func TestAssembly(t *testing.T) {
	for _, name := range []string{"inlined.gfx942", "calls.gfx1201", "matmul.gfx950"} {
		m, text := open(t, "testdata/"+name+".hsaco"), testkit.Read(t, "testdata/"+name+".amdgcn")
		operations := map[string]string{} // by function and offset, from LLVM
		function := ""
		for line := range strings.Lines(testkit.Read(t, "testdata/"+name+".txt")) {
			if words := strings.Fields(line); words[0] == "function" {
				function = strings.TrimSuffix(words[2], ":")
			} else if function != "" {
				operations[function+words[0]] = words[1]
			}
		}
		for _, fn := range m.functions {
			f, _ := m.Function(uint32(fn.index), fn.name)
			f.AssembledFrom(text, &Format)
			code, err := disassemble(gpu.Disassembler{}, "", &f)
			if err != nil || f.Assembly == nil || code.Tool != "the trace" {
				t.Fatalf("%s: %s is not found in the assembly (%v)", name, f.Name, err)
			}
			for at := range f.Offsets {
				operation := operations[fmt.Sprintf("%s%04x", f.Name, at)]
				if name, _, _ := strings.Cut(code.Text[at], " "); name != operation {
					t.Errorf("%s: %s+%#x is %q, LLVM says %s", name, f.Name, at, code.Text[at], operation)
				}
			}
			if strings.Contains(text, ".LBB0_1:") != slices.Contains(slices.Collect(maps.Values(code.Labels)), ".LBB0_1") && fn.address == m.functions[0].address {
				t.Errorf("%s: labels %v", name, code.Labels)
			}
			for what, other := range map[string]string{
				"":                 "",
				"cut off":          text[:strings.Index(text, "s_endpgm")],
				"one more":         strings.ReplaceAll(text, "\ts_endpgm", "\ts_nop 0\n\ts_endpgm"),
				"another encoding": strings.ReplaceAll(text, "_e32", "_e64"),
			} {
				if lines := assembled(other, &f); fn.kernel && lines != nil {
					t.Errorf("%s: a text with %q is taken", name, what)
				}
			}
		}
	}
}

func TestBundle(t *testing.T) {
	inner := image(t, "inlined.gfx942")
	bundle := func(names ...string) []byte {
		entries, header := []byte(bundleMagic), len(bundleMagic)+8
		entries = binary.LittleEndian.AppendUint64(entries, uint64(len(names)))
		for _, name := range names {
			header += 24 + len(name)
		}
		for i, name := range names {
			size := len(inner)
			if strings.HasPrefix(name, "host") {
				size = 0
			}
			for _, v := range []int{header + i*len(inner), size, len(name)} {
				entries = binary.LittleEndian.AppendUint64(entries, uint64(v))
			}
			entries = append(entries, name...)
		}
		return append(entries, bytes.Repeat(inner, len(names))...)
	}
	one := bundle("host-x86_64-unknown-linux--", "hipv4-amdgcn-amd-amdhsa--gfx942")
	m, err := Open(one)
	if err != nil || !Is(one) || m.Arch() != "gfx942" || len(m.Kernels()) != 1 {
		t.Errorf("a bundle of one: %v", err)
	}
	if _, err := Open(bundle("hip-a", "hip-b")); err == nil || !strings.Contains(err.Error(), "2 code objects (hip-a, hip-b)") {
		t.Errorf("a bundle of two: %v", err)
	}
	for n := range 200 {
		Open(one[:n])
	}
}

// TestArchitectures: the ELF flags say it, and of GPUs that are not in the table the metadata.
func TestArchitectures(t *testing.T) {
	elf := image(t, "inlined.gfx942")
	for machine, want := range map[byte]string{0x3f: "gfx90a", 0x41: "gfx1100", 0x4f: "gfx950", 0x4e: "gfx1201", 0x30: "gfx908", 0x5f: "gfx9-4-generic", 0x7f: "gfx942", 0x50: "gfx942"} {
		elf[48] = machine
		if m, err := Open(elf); err != nil || m.Arch() != want {
			t.Errorf("%#x: %v, %v, want %s", machine, m, err, want)
		}
	}
	if got := architecture(make([]byte, 64), "amdgcn-amd-amdhsa--gfx1310:xnack+"); got != "gfx1310" {
		t.Error(got)
	}
}

func TestFilesThatAreNotCodeObjects(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "text": []byte("// a text"), "a host program": []byte(testkit.Read(t, program)),
		"a cubin": []byte(testkit.Read(t, "../cubin/testdata/inlined.sm90.cubin")),
	} {
		if _, err := Open(b); err == nil || !strings.HasPrefix(err.Error(), "read hsaco: ") || Is(b) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for _, name := range []string{"calls.gfx942", "softmax.gfx1100"} {
		if !Is(image(t, name)) {
			t.Errorf("%s is not recognised as a code object", name)
		}
	}
}

// TestWithoutSections: what is missing costs what depends on it.
func TestWithoutSections(t *testing.T) {
	whole := image(t, "calls.gfx942")
	for section, check := range map[string]func(*module) bool{
		".debug_line": func(m *module) bool {
			f, is := m.Function(0, "calls")
			return is && f.Frames(0) == nil && f.Registers == 6
		},
		".note": func(m *module) bool {
			f, is := m.Function(0, "calls")
			return is && f.Frames(0) != nil && f.Registers == 0
		},
		".symtab": func(m *module) bool { return len(m.functions) == 1 && len(m.Kernels()) == 1 }, // .dynsym is left
	} {
		b := bytes.Clone(whole)
		s := open(t, "testdata/calls.gfx942.hsaco").elf.Section(section)
		headers := binary.LittleEndian.Uint64(b[40:])
		for at := headers; at+64 <= uint64(len(b)); at += 64 {
			if binary.LittleEndian.Uint64(b[at+24:]) == s.Offset && binary.LittleEndian.Uint64(b[at+32:]) == s.Size {
				binary.LittleEndian.PutUint32(b[at+4:], 1)               // another type
				clear(b[s.Offset : s.Offset+s.Size])                     // and nothing in it
				binary.LittleEndian.PutUint64(b[at+32:], min(s.Size, 0)) // not even bytes
			}
		}
		m, err := read(b)
		if err != nil || !check(m) {
			t.Errorf("without %s: %v", section, err)
		}
	}
}

// TestDamage reads code objects with some bytes changed: an error or a module, and never a panic.
func TestDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"inlined.gfx942", "calls.gfx1201", "dwarf5.gfx942"} {
		whole := image(t, name)
		for range 1500 {
			damaged := bytes.Clone(whole)
			for range 1 + r.IntN(5) {
				damaged[r.IntN(len(damaged))] = byte(r.Uint32())
			}
			ask(damaged[:len(damaged)-r.IntN(2)*r.IntN(len(damaged))])
		}
	}
}

// ask asks everything about an image.
func ask(image []byte) {
	m, err := Open(image)
	if err != nil {
		return
	}
	m.Callers()
	m.Arch()
	for _, name := range m.Kernels() {
		f, _ := m.Function(0, name)
		Format.Occupancy(m, &f, 256, 1<<14)
		asked := 0
		for at := range f.Offsets {
			f.Frames(at)
			if asked++; asked == 200 {
				break
			}
		}
		f.Frames(0)
	}
}

func FuzzOpen(f *testing.F) {
	for _, name := range []string{"inlined.gfx942", "calls.gfx942", "calls.gfx1201", "dwarf5.gfx942"} {
		f.Add(image(f, name))
	}
	f.Fuzz(func(t *testing.T, image []byte) { ask(image) })
}

// FuzzNotes reads hostile metadata.
func FuzzNotes(f *testing.F) {
	s := open(f, "testdata/calls.gfx942.hsaco").elf.Section(".note")
	b, err := s.Data()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[20:])
	f.Add([]byte{0xdf, 0xff, 0xff, 0xff, 0xff, 0xa1, 'a', 0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) { (&module{kernels: map[string]kernel{}}).metadata(b) })
}

// FuzzDisassembly reads what a disassembler may print, and texts that may be assembly.
func FuzzDisassembly(f *testing.F) {
	f.Add([]byte(testkit.Read(f, "testdata/calls.gfx942.objdump")), uint64(456))
	f.Add([]byte("0 <calls>:\n\ts_branch 0 // FFFFFFFFFFFFFFFF: BF820000 <calls+0xffffffffffffffff>\ncalls:\n.p2align 15\ns_nop 0\n.size calls"), uint64(1<<63))
	f.Fuzz(func(t *testing.T, text []byte, size uint64) {
		for offset, text := range parse(text, "calls", size).Text {
			if offset >= size || strings.Contains(text, "\n") {
				t.Errorf("%#x of %#x: %q", offset, size, text)
			}
		}
		fn := gpu.Function{Name: "calls", Size: 12, Offsets: slices.Values([]uint64{0, 4, 8})}
		if fn.AssembledFrom(string(text), &Format); fn.Assembly != nil {
			fromAssembly(&fn)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	whole := image(b, "matmul.gfx950")
	b.SetBytes(int64(len(whole)))
	for range b.N {
		ask(whole)
	}
}

// TestHeadersOfLineTables: a damaged number of folders would have debug/dwarf take more memory than there is.
func TestHeadersOfLineTables(t *testing.T) {
	m := open(t, "testdata/dwarf5.gfx942.hsaco")
	lines, err := m.elf.Section(".debug_line").Data()
	if err != nil || !believable(lines) {
		t.Fatalf("the header of a line table is not believed (%v)", err)
	}
	const foldersAt = 33 // the number of folders, behind lengths of operations and one pair of what a folder has
	if lines[foldersAt-3] != 1 || lines[foldersAt] == 0 {
		t.Fatalf("header % x", lines[:40])
	}
	lines[foldersAt] = 0x7f
	if believable(lines) || believable(lines[:20]) {
		t.Error("the header of a damaged line table is believed")
	}
}

// TestSignificantInstructions: those that say what a line of the source does.
func TestSignificantInstructions(t *testing.T) {
	for text, want := range map[string]bool{
		"buffer_load_dwordx4 v[0:3], v1, s[4:7], 0 offen": true, "global_atomic_add_f32 v[0:1], v2, off": true, "ds_read_b128 v[0:3], v4": true,
		"v_mfma_f32_32x32x16_f16 a[0:15], v[0:3], v[4:7], a[0:15]": true, "v_smfmac_f32_16x16x64_f16 v[0:3], v[4:7], v[8:15], v16": true,
		"v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]": true, "v_fma_f32 v0, v1, v2, v3": false, "s_load_dwordx2 s[0:1], s[2:3], 0x0": false,
		"s_waitcnt lgkmcnt(0)": false,
	} {
		if got := Format.Significant.MatchString(text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestAlignment(t *testing.T) {
	for directive, want := range map[string]uint64{".p2align\t8": 0x100, ".p2align 6, 0x0": 0x40, ".p2align 6, , 8": 0x34, ".p2align 6, , 12": 0x40, ".p2align 6,,16": 0x40, ".p2alignl 4, 3214868480": 0x40, ".p2align": 0x34, ".p2align x": 0x34} {
		if got := aligned(0x34, directive); got != want {
			t.Errorf("%q: %#x, want %#x", directive, got, want)
		}
	}
}
