package cubin

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/gpu"
)

func open(t testing.TB, file string) *File {
	t.Helper()
	image, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(image)
	if err != nil {
		t.Fatal(err)
	}
	if f.LineError != nil {
		t.Errorf("%s: %v", file, f.LineError)
	}
	return f
}

func outline(f *File) string {
	var b strings.Builder
	for i := range f.Functions {
		fn := &f.Functions[i]
		fmt.Fprintf(&b, "%d %s sm_%d: %d bytes, entry %v, %d registers, shared %d, frame %d, local %d/%d, threads %d\n", fn.Index, fn.Name, f.SM,
			fn.Size, fn.Entry, fn.Registers, fn.Shared, fn.Frame, fn.LocalLoads, fn.LocalStores, fn.MaxThreads)
	}
	return b.String()
}

func TestFunctionsAndWhatTheyNeed(t *testing.T) {
	for file, want := range map[string]string{
		"two.sm90": `6 $second$_Z4slowfi sm_90: 2688 bytes, entry false, 0 registers, shared 0, frame 256, local 0/0, threads 0
14 second sm_90: 18688 bytes, entry true, 32 registers, shared 3072, frame 256, local 2/16, threads 0
15 first sm_90: 512 bytes, entry true, 12 registers, shared 0, frame 0, local 0/0, threads 256
`,
		"matmul.sm80": "10 matmul sm_80: 14336 bytes, entry true, 168 registers, shared 0, frame 0, local 0/0, threads 128\n",
	} {
		if got := outline(open(t, "testdata/"+file+".cubin")); got != want {
			t.Errorf("%s:\n--- got\n%s--- want\n%s", file, got, want)
		}
	}
}

func TestCallersOfFunctions(t *testing.T) {
	for file, want := range map[string]string{
		// Copies for one kernel each.
		"calls.sm90": `$__internal_0_$__cuda_sm20_sqrt_rn_f32_slowpath: through_pointers
$__internal_1_$__cuda_sm3x_div_rn_noftz_f32_slowpath: through_pointers
$__internal_2_$__cuda_sm20_div_rn_f64_full: divides
$__internal_3_$__cuda_sm3x_div_rn_noftz_f32_slowpath: divides
$own_leaf$_Z4leaffi: own_leaf
$own_leaf$_Z5twiceIZ8own_leafEUlfE_EfT_f: own_leaf
$recursive$_Z5stepsi: recursive
$shared_leaf$_Z4leaffi: shared_leaf
$shared_leaf$_Z6middlefi: shared_leaf
$through_pointers$_Z7half_off: through_pointers
$through_pointers$_Z8third_off: through_pointers
$through_pointers$_ZNK6Circle4areaEf: through_pointers
$through_pointers$_ZNK6Square4areaEf: through_pointers
`,
		// Sections of their own, and a call graph. "two" calls leaf itself, "one" through middle.
		"shared.sm90": `_Z11unused_twinf: pointers
_Z4leaff: one, two
_Z5againi: pointers
_Z6chosenf: pointers
_Z6middlef: one
`,
		"matmul.sm80": "",
	} {
		image, err := os.ReadFile("testdata/" + file + ".cubin")
		if err != nil {
			t.Fatal(err)
		}
		callers, err := Callers(image)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, name := range slices.Sorted(maps.Keys(callers)) {
			got += name + ": " + strings.Join(callers[name], ", ") + "\n"
		}
		if got != want {
			t.Errorf("%s:\n--- got\n%s--- want\n%s", file, got, want)
		}
	}
}

// The multiplication of act, which twice calls, which the kernel calls: kernels.py has the lines.
func TestInlinedChain(t *testing.T) {
	f := open(t, "testdata/inlined.sm90.cubin")
	fn := f.Function("inlined")
	var got []string
	for _, frame := range fn.Frames(0x150) {
		got = append(got, fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line))
	}
	if s := strings.Join(got, " < "); s != "kernels.py:13 < kernels.py:18 < kernels.py:25" {
		t.Errorf("the chain is %s", s)
	}
	if line := fn.PTXLine(0x150); !strings.Contains(f.PTX[line-1], "mul.f32") {
		t.Errorf("PTX line %d is %q, want the multiplication", line, f.PTX[line-1])
	}
	if frames := fn.Frames(fn.Size); frames != nil || fn.PTXLine(fn.Size) != 0 {
		t.Errorf("what is behind the function comes from %v", frames)
	}
}

func TestFunctionNamesOfInlinedCode(t *testing.T) {
	f := open(t, "testdata/two.sm90.cubin")
	names := map[string]bool{}
	fn := f.Function("first")
	for pc := uint64(0); pc < fn.Size; pc += InstructionSize {
		var chain []string
		for _, frame := range fn.Frames(pc) {
			chain = append(chain, frame.Func)
		}
		names[strings.Join(chain, " < ")] = true
	}
	for _, want := range []string{"first", "_Z5scaleff < _Z10polynomialf < first", "_ZNK4Half5twiceEv < first"} {
		if !names[want] {
			t.Errorf("no instruction has the chain %s; there are %v", want, names)
		}
	}
	// A function that only one kernel calls lies within the kernel's code, and so do its lines: a sample may name either.
	slow, second := f.Function("$second$_Z4slowfi"), f.Function("second")
	frames, same := slow.Frames(0), second.Frames(slow.offset-second.offset)
	if len(frames) != 1 || filepath.Base(frames[0].File) != "two.cu" || frames[0].Func != "_Z4slowfi" || !slices.Equal(frames, same) {
		t.Errorf("the function that is not inlined starts at %v, as a part of its kernel at %v", frames, same)
	}
}

func TestABrokenLineTableCostsOnlyLines(t *testing.T) {
	image, err := os.ReadFile("testdata/inlined.sm90.cubin")
	if err != nil {
		t.Fatal(err)
	}
	program := bytes.Index(image, []byte("/home/user\x00"))
	for at := program - 40; at < program; at++ {
		broken := bytes.Clone(image)
		broken[at] ^= 0x55
		f, err := Read(broken)
		if err != nil || len(f.Functions) != 1 {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

func TestFilesThatAreNotCubins(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for name, image := range map[string][]byte{"nothing": nil, "text": []byte("// PTX\n.version 8.0"), "a host program": host} {
		if _, err := Read(image); err == nil || !strings.HasPrefix(err.Error(), "read cubin: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// FuzzLines runs hostile line programs: the part of a cubin that is a language.
func FuzzLines(f *testing.F) {
	for _, file := range []string{"testdata/inlined.sm80.cubin", "testdata/inlined.sm90.cubin"} {
		image, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		start := bytes.Index(image, []byte("/home/user\x00")) - 24 // the header up to the first folder
		f.Add(image[start : start+356])
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		m := machine{data: program, strings: program}
		if err := m.run(); err != nil {
			return
		}
		fn := Function{Function: gpu.Function{Name: "f", Size: 1 << 62}}
		for _, s := range m.sequences {
			fn.Lines = Lines{rows: s.rows}
			fn.Frames(16)
		}
	})
}

// TestDamage reads cubins with some bytes changed: an error or a file, and never a panic.
func TestDamage(t *testing.T) {
	for _, file := range []string{"testdata/inlined.sm90.cubin", "testdata/shared.sm90.cubin"} {
		image, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		damage(t, image)
	}
}

func damage(t *testing.T, image []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		damaged := bytes.Clone(image)
		for range 1 + r.IntN(5) {
			damaged[r.IntN(len(damaged))] = byte(r.Uint32())
		}
		damaged = damaged[:len(damaged)-r.IntN(2)*r.IntN(len(damaged))]
		Callers(damaged)
		f, err := Read(damaged)
		if err != nil {
			continue
		}
		for i := range f.Functions {
			fn := &f.Functions[i]
			for pc := uint64(0); pc < min(fn.Size, 4096); pc += InstructionSize {
				fn.Frames(pc)
				fn.PTXLine(pc)
			}
		}
	}
}

func BenchmarkRead(b *testing.B) {
	image, err := os.ReadFile("testdata/matmul.sm80.cubin")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(image)))
	for range b.N {
		if _, err := Read(image); err != nil {
			b.Fatal(err)
		}
	}
}
