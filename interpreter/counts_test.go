package interpreter

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/triton/ttir"
)

// amounts are the sums of a launch over its lines.
type amounts struct {
	loads, stores, atomics Access
	flops                  map[string]int64
	dots                   map[string]int64
}

func amountsOf(r *Result) amounts {
	a := amounts{flops: map[string]int64{}, dots: map[string]int64{}}
	for i := range r.Lines {
		l := &r.Lines[i]
		a.loads.Join(&l.Loads)
		a.stores.Join(&l.Stores)
		a.atomics.Join(&l.Atomics)
		for of, n := range l.Flops {
			a.flops[of] += n
		}
		for of, n := range l.DotFlops {
			a.dots[of] += n
		}
	}
	return a
}

func accessed(operations, lanes, active, size, first int64) Access {
	return Access{operations, lanes, active, lanes * size, active * size, first}
}

// byFormula is what launches of testdata/launches.py do, by what their kernels are.
func byFormula(m *made) (want amounts, spare int64, known bool) {
	number := func(i int) int64 { return m.Arguments[i].Int }
	up := func(n, by int64) int64 { return (n + by - 1) / by }
	programs := int64(m.Grid[0] * m.Grid[1] * m.Grid[2])
	want = amounts{flops: map[string]int64{}, dots: map[string]int64{}}
	switch m.Name {
	case "vector_add": // two vectors and their sum, by blocks of 1024
		n := number(3)
		want.loads, want.stores = accessed(2*programs, 2*1024*programs, 2*n, 4, 2*4*n), accessed(programs, 1024*programs, n, 4, 4*n)
		want.flops["f32"] = 1024 * programs
	case "softmax": // each row once; the largest and the sum combine 1024 elements
		rows, columns := number(2), number(3)
		want.loads, want.stores = accessed(rows, 1024*rows, rows*columns, 4, 4*rows*columns), accessed(rows, 1024*rows, rows*columns, 4, 4*rows*columns)
		want.flops["f32"] = rows * (3*1024 + 2*1023)
	case "matmul_fp16", "matmul_bf16", "matmul_fp32": // each tile of C reads its rows of A and its columns of B, by blocks of 32
		M, N, K := number(3), number(4), number(5)
		of, size := map[string]string{"matmul_fp16": "f16", "matmul_bf16": "bf16", "matmul_fp32": "tf32"}[m.Name], int64(sizeOfKind(m.Name[7:]))
		if m.Name == "matmul_bf16" {
			size = 2
		}
		blocks := programs * up(K, 32)
		want.loads = accessed(2*blocks, 2*32*32*blocks, int64(m.Grid[1])*M*K+int64(m.Grid[0])*K*N, size, size*(M*K+K*N))
		want.stores = accessed(programs, 32*32*programs, M*N, size, size*M*N)
		want.dots[of] = blocks * 2 * 32 * 32 * 32
	case "norm": // a row three times in blocks of 256, and the weights
		rows, columns := programs, number(3)
		blocks := up(columns, 256)
		want.loads = accessed(rows*4*blocks, rows*4*256*blocks, rows*4*columns, 2, 2*(rows*columns+columns))
		want.stores = accessed(rows*blocks, rows*256*blocks, rows*columns, 2, 2*rows*columns)
		want.flops["f32"] = rows * (blocks*256*(1+3+3) + 2*255 + 5)
	case "attention": // causal: a block of 32 rows sees the columns up to its own, by blocks of 16; of 32 elements each
		n, heads := number(5), int64(m.Grid[1])
		blocks, columns := int64(0), int64(0)
		for i := range int64(m.Grid[0]) {
			seen := min((i+1)*32, n)
			blocks += up(seen, 16)
			columns += min(up(seen, 16)*16, n)
		}
		want.loads = accessed(heads*(4+2*blocks), heads*(4*32+2*16*blocks)*32, heads*(n+2*columns)*32, 2, heads*3*n*32*2)
		want.stores = accessed(4*heads, 4*heads*32*32, heads*n*32, 2, heads*n*32*2)
		want.dots["f16"] = heads * blocks * 2 * (2 * 32 * 16 * 32)
		want.flops["f32"] = heads*blocks*(3*512+2*15*32+5*32+32*32) + 4*heads*32*32
		spare = heads * blocks // products of two scalars, which a pass may move out of the loop
	default:
		return want, 0, false
	}
	return want, spare, true
}

// TestCountsByFormula: what a launch loads, stores and computes, with its masks and turns of loops, is what its formula says, in both forms,
// and in parallel.
func TestCountsByFormula(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range launches(t) {
		want, spare, known := byFormula(&m)
		if !known {
			continue
		}
		seen[m.Name] = true
		for _, workers := range []int{1, 3} {
			_, r := m.run(t, Options{Touched: true, Workers: workers})
			got := amountsOf(r)
			extra := got.flops["f32"] - want.flops["f32"]
			if strings.HasPrefix(m.Name, "matmul") {
				got.flops = want.flops
			} else if extra >= 0 && extra <= spare {
				got.flops["f32"] -= extra
			}
			delete(got.flops, "f64")
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s/%s:\n%+v, and by the formula\n%+v", m.Name, m.Form, got, want)
			}
		}
	}
	if len(seen) != 7 {
		t.Errorf("launches of %v", slices.Collect(maps.Keys(seen)))
	}
}

// TestCountsAddUp: instances that run alone do together what they do in one launch. Bytes that are stored are those that do not keep what was
// there before, whatever it was.
func TestCountsAddUp(t *testing.T) {
	compared := 0
	for _, m := range launches(t) {
		if strings.HasPrefix(m.Name, "big_") || strings.Contains(m.TTIR, "atomic") || strings.Contains(m.TTIR, "descriptor_reduce") {
			continue
		}
		_, whole := m.run(t, Options{Touched: true})
		var sum []string
		parts := map[string]Access{}
		for z := range m.Grid[2] {
			for y := range m.Grid[1] {
				for x := range m.Grid[0] {
					_, r := m.run(t, Options{Touched: true, Programs: [][3]int32{{x, y, z}}})
					for i, l := range r.Lines {
						for k, a := range []Access{l.Loads, l.Stores} {
							key := fmt.Sprint(i, k)
							p := parts[key]
							parts[key] = Access{p.Operations + a.Operations, p.Lanes + a.Lanes, p.Active + a.Active, p.Bytes + a.Bytes, p.ActiveBytes + a.ActiveBytes, 0}
						}
					}
				}
			}
		}
		for i, l := range whole.Lines {
			for k, a := range []Access{l.Loads, l.Stores} {
				if a.FirstBytes = 0; parts[fmt.Sprint(i, k)] != a {
					sum = append(sum, fmt.Sprintf("%v: %+v, and %+v one by one", l.Frames[0], a, parts[fmt.Sprint(i, k)]))
				}
			}
		}
		if sum != nil {
			t.Errorf("%s/%s: %s", m.Name, m.Form, sum)
		}
		compared++
		m.storedByBits(t, whole)
	}
	if compared < 30 {
		t.Errorf("%d launches were compared", compared)
	}
}

// storedByBits compares the bytes that were stored with those that change when the buffer has other contents before. It is for buffers that are
// not loaded.
func (m *made) storedByBits(t *testing.T, r *Result) {
	t.Helper()
	for _, of := range r.Touched {
		if of.Loaded > 0 {
			continue
		}
		var after [2][]byte
		for k, fill := range []byte{0, 0xFF} {
			p := program(t, m.TTIR)
			buffers, list := m.arguments()
			b := buffers[of.Buffer.Name]
			for i := range b.Data {
				b.Data[i] = fill
			}
			if _, err := p.Launch("", m.Grid, list, Options{}); err != nil {
				t.Fatal(err)
			}
			after[k] = bytes.Clone(b.Data)
		}
		stored := int64(0)
		for i, a := range after[0] {
			if a != 0 || after[1][i] != 0xFF {
				stored++
			}
		}
		if stored != of.Stored {
			t.Errorf("%s/%s: %d bytes of %s were stored, and %d are counted", m.Name, m.Form, stored, of.Buffer.Name, of.Stored)
		}
	}
}

// TestTouchedLines: a byte counts for the first line of the program that loads it, and once for each line that loads it.
func TestTouchedLines(t *testing.T) {
	text := strings.NewReplacer("tt.store %ps, %w", "%again = tt.load %ps, %mask : tensor<16x!tt.ptr<f32>> loc(\"k.py\":8:20)\n tt.store %ps, %w").Replace(adding)
	for _, workers := range []int{1, 3} {
		x := &Buffer{Name: "x", Data: make([]byte, 160)}
		r, err := program(t, text).Launch("", [3]int32{3, 1, 1}, []Argument{Pointer(x, 0), Int(40)}, Options{Touched: true, Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, l := range r.Lines {
			for _, of := range l.Touched {
				got += fmt.Sprintf("line %d: %s %d %d, first %d %d; ", l.Frames[0].Line, of.Buffer.Name, of.Loaded, of.Stored, l.Loads.FirstBytes, l.Stores.FirstBytes)
			}
		}
		if want := "line 7: x 160 0, first 160 0; line 8: x 160 0, first 0 0; line 9: x 0 160, first 0 160; "; got != want {
			t.Errorf("%s", got)
		}
		if len(r.Touched) != 1 || r.Touched[0] != (Touched{x, 160, 160}) {
			t.Errorf("%+v", r.Touched)
		}
	}
}

// TestTouchedAtomics: what an atomic operation changes is loaded and stored.
func TestTouchedAtomics(t *testing.T) {
	p := program(t, body("%x: !tt.ptr<i32>", ` %one = arith.constant dense<1> : tensor<8xi32>
 %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
 %two = arith.constant dense<2> : tensor<8xi32>
 %h = arith.divsi %r, %two : tensor<8xi32>
 %s = tt.splat %x : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
 %a = tt.addptr %s, %h : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
 %m = arith.cmpi slt, %r, %two : tensor<8xi32>
 %old = tt.atomic_rmw add, acq_rel, gpu, %a, %one, %m : (tensor<8x!tt.ptr<i32>>, tensor<8xi32>, tensor<8xi1>) -> tensor<8xi32>`))
	x := &Buffer{Name: "x", Data: make([]byte, 16)}
	r, err := p.Launch("", [3]int32{1, 1, 1}, []Argument{Pointer(x, 0)}, Options{Touched: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := amountsOf(r); got.atomics != accessed(1, 8, 2, 4, 8) || got.loads != (Access{}) || r.Touched[0] != (Touched{x, 4, 4}) {
		t.Errorf("%+v %+v", got, r.Touched)
	}
}

// TestByteSet compares sets with a list of bytes.
func TestByteSet(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var sets [2]byteSet
		lists := [2]map[int64]bool{{}, {}}
		for which := range sets {
			for range r.IntN(8) {
				at, n := int64(r.IntN(3<<pageBits)), int64(1+r.IntN([]int{3, 70, 1000, 2 << pageBits}[r.IntN(4)]))
				sets[which].add(at, n)
				for i := range n {
					lists[which][at+i] = true
				}
			}
		}
		added := int64(0)
		for at := range lists[1] {
			if !lists[0][at] {
				added++
			}
		}
		if got, want := union(sets[:]), int64(len(lists[0]))+added; got != want {
			t.Fatalf("%d bytes together, and there are %d", got, want)
		}
		if got := sets[0].join(sets[1], r.IntN(2) == 0); got != added {
			t.Fatalf("%d bytes are added, and there are %d", got, added)
		}
		if got, want := union(sets[:1]), int64(len(lists[0]))+added; got != want {
			t.Fatalf("%d bytes, and there are %d", got, want)
		}
	}
}

// bruteForce counts accesses one element after another, from the addresses and masks that the launch has before each operation.
type bruteForce struct {
	i                      *Instance
	loads, stores, atomics Access
	loaded, stored         map[int64]bool // addresses
	lost                   bool           // of windows, whose addresses are not known here
}

func (b *bruteForce) Begin(i *Instance) error      { b.i = i; return nil }
func (b *bruteForce) Enter(*Point, *ttir.Function) {}
func (b *bruteForce) Leave(*Point)                 {}
func (b *bruteForce) Found(*Finding)               {}
func (b *bruteForce) End(*Finding) error           { return nil }

func (b *bruteForce) Before(p *Point) {
	mask := map[string]int{"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2, "tt.atomic_cas": -1, "tt.atomic_load": 1, "tt.atomic_store": 2, "tt.atomic_poll": -1}
	at, accesses := mask[p.Op.Name]
	if b.lost = b.lost || strings.Contains(p.Op.Name, "descriptor") || p.Op.Name == "tt.make_tensor_ptr"; !accesses || b.lost {
		return
	}
	addresses := p.Operands[0].Elements().([]int64)
	active := make([]int64, len(addresses))
	for i := range active {
		active[i] = 1
	}
	if at > 0 && at < len(p.Operands) && p.Operands[at].Known() {
		active = p.Operands[at].Elements().([]int64)
	}
	size := int64(max(1, p.Operands[0].Type().Scalar().Element.Bits/8))
	to, sets := &b.atomics, []map[int64]bool{b.loaded, b.stored}
	switch p.Op.Name {
	case "tt.load", "tt.atomic_load", "tt.atomic_poll":
		to, sets = &b.loads, sets[:1]
	case "tt.store", "tt.atomic_store":
		to, sets = &b.stores, sets[1:]
	}
	to.Operations++
	for i, a := range addresses {
		to.Lanes++
		to.Bytes += size
		if active[i] == 0 {
			continue
		}
		to.Active++
		to.ActiveBytes += size
		for _, set := range sets {
			for k := range size {
				if !set[a+k] {
					to.FirstBytes++
					set[a+k] = true
				}
			}
		}
	}
}

// TestCountsByBruteForce compares with a second way to count, for all launches.
func TestCountsByBruteForce(t *testing.T) {
	compared := 0
	for _, m := range launches(t) {
		if strings.HasPrefix(m.Name, "big_") {
			continue
		}
		b := &bruteForce{loaded: map[int64]bool{}, stored: map[int64]bool{}}
		m.run(t, Options{Observer: b})
		if b.lost {
			continue
		}
		compared++
		_, r := m.run(t, Options{Touched: true})
		got := amountsOf(r)
		first := got.loads.FirstBytes + got.stores.FirstBytes + got.atomics.FirstBytes
		want := b.loads.FirstBytes + b.stores.FirstBytes + b.atomics.FirstBytes
		for _, a := range []*Access{&got.loads, &got.stores, &got.atomics, &b.loads, &b.stores, &b.atomics} {
			a.FirstBytes = 0 // an atomic operation may be the first here, and another line in the order of the program
		}
		if got.loads != b.loads || got.stores != b.stores || got.atomics != b.atomics || first != want {
			t.Errorf("%s/%s: %+v %+v %+v %d, and one by one %+v %+v %+v %d", m.Name, m.Form, got.loads, got.stores, got.atomics, first, b.loads, b.stores, b.atomics, want)
		}
	}
	if compared < 50 {
		t.Errorf("%d launches were compared", compared)
	}
}

// TestSameWork: whether all instances execute the same, on one worker and on several.
func TestSameWork(t *testing.T) {
	text := `module { tt.func public @k(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %pid = tt.get_program_id x : i32
    scf.for %i = %c0 to BOUND step %c1 : i32 {
      %x = arith.addi %i, %n : i32
    }
    tt.return
  } }`
	for _, workers := range []int{1, 3} {
		for bound, want := range map[string]bool{"%n": true, "%pid": false} {
			p := program(t, strings.Replace(text, "BOUND", bound, 1))
			for range 2 { // machines are used again
				r, err := p.Launch("", [3]int32{7, 1, 1}, []Argument{Int(5)}, Options{Workers: workers})
				if err != nil || r.SameWork != want {
					t.Errorf("%d workers, as many turns as %s: %v, %v", workers, bound, r, err)
				}
			}
		}
	}
}
