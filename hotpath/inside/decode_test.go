package inside_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goproton/goproton/hotpath/hotpathtest"
	"github.com/goproton/goproton/hotpath/inside"
	"github.com/goproton/goproton/profile"
)

func kernel(warps int, units []int, rings int) *inside.Kernel {
	k := &inside.Kernel{Name: "k", SlotSize: hotpathtest.SlotSize(warps, rings), Warps: warps, Units: units, BufferSize: rings}
	for id := range 8 {
		k.Scopes = append(k.Scopes, inside.Scope{ID: id, Name: fmt.Sprint("s", id), Parent: -1})
	}
	return k
}

func decode(k *inside.Kernel, buffer []byte, blocks uint32) (list []inside.Block, losses profile.InsideLosses) {
	var d inside.Decoder
	losses = d.Decode(&inside.Launch{Kernel: k, Grid: [3]uint32{blocks, 1, 1}, Buffer: buffer}, func(b *inside.Block) {
		own := *b
		own.Pairs = slices.Clone(b.Pairs)
		list = append(list, own)
	})
	return list, losses
}

// A file of a HIP kernel with the scopes r0, r1 and r2, as far as its first warp goes: S0 S1 S2 E1 E0 E2.
const realSlot = `efbeadde 00000000 5e000000 00010000 5a0daa73 a1c10800 9a0eaa73 a1c10800 b20faa73 a1c10800
0c000000 00000000 00000000 00000000
08010000 ef6c69ba 08018000 376d69ba 08010001 8b6d69ba 08018080 df6d69ba 08010080 336e69ba 08010081 876e69ba 83b636b9 e5b66835`

func TestSlotOfAGPU(t *testing.T) {
	bytes, err := hex.DecodeString(strings.Join(strings.Fields(realSlot), ""))
	if err != nil {
		t.Fatal(err)
	}
	k := kernel(4, nil, 256)
	slot := make([]byte, k.SlotSize)
	copy(slot, bytes)
	blocks, losses := decode(k, slot, 1)
	if losses != (profile.InsideLosses{}) || len(blocks) != 1 {
		t.Fatalf("%d blocks, losses %+v", len(blocks), losses)
	}
	b := blocks[0]
	if b.SM != 94 || b.Init != 2464698988105050 || b.PreFinal != b.Init+320 || b.PostFinal != b.Init+600 {
		t.Errorf("header %+v", b)
	}
	const first = 0x108ba696cef
	got := ""
	for _, p := range b.Pairs {
		got += fmt.Sprintf("r%d %d..%d\n", p.Scope, p.Start&(1<<43-1)-first, p.End&(1<<43-1)-first)
	}
	if want := "r1 72..240\nr0 0..324\nr2 156..408\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// program makes the records of a warp: nested scopes one after another, n records in all if n is even.
func program(r *rand.Rand, n int, clock uint64) (list []hotpathtest.InsideRecord) {
	var open []int
	for len(list) < n {
		clock += uint64(1 + r.IntN(1000))
		left := n - len(list)
		if len(open) > 0 && (len(open) >= left || len(open) == 8 || r.IntN(2) == 0) {
			list = append(list, hotpathtest.InsideOut(open[len(open)-1], clock))
			open = open[:len(open)-1]
		} else {
			list = append(list, hotpathtest.InsideIn(len(open), clock))
			open = append(open, len(open))
		}
	}
	return list
}

// pairsOf joins records by a stack: a second way, which only nested scopes allow. The oldest are missing.
func pairsOf(warp int, records []hotpathtest.InsideRecord, missing int) (pairs []inside.Pair) {
	var open []int
	for i, r := range records {
		if !r.End {
			open = append(open, i)
			continue
		}
		start := open[len(open)-1]
		open = open[:len(open)-1]
		if start >= missing {
			pairs = append(pairs, inside.Pair{Start: records[start].Clock, End: r.Clock, Warp: uint16(warp), EndWarp: uint16(warp), Scope: uint8(r.Scope)})
		}
	}
	return pairs
}

const wraps = 1 << 43 // what the decoder adds

// Every number of records around the capacity of a ring, in rings of all warps and of selected ones, with clocks that wrap.
func TestEncodeDecode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, units := range [][]int{nil, {0}, {1, 3}, {0, 1, 2, 3}} {
		for _, clock32 := range []bool{false, true} {
			for _, from := range []uint64{5000, 1<<32 - 3000, 1<<43 - 3000} {
				for n := 0; n <= 44; n += 2 {
					check(t, r, units, clock32, from, n)
				}
			}
		}
	}
}

func check(t *testing.T, r *rand.Rand, units []int, clock32 bool, from uint64, n int) {
	t.Helper()
	const capacity = 16
	writers := units
	if writers == nil {
		writers = []int{0, 1, 2, 3}
	}
	k := kernel(4, units, capacity*8*len(writers))
	k.Clock32 = clock32
	blocks := make([]hotpathtest.InsideBlock, 3)
	want := make([][]inside.Pair, len(blocks))
	for i := range blocks {
		blocks[i] = hotpathtest.InsideBlock{SM: uint32(i), Init: 1000, PreFinal: 1e6, PostFinal: 1e6 + 1, Warps: map[int][]hotpathtest.InsideRecord{}}
		for _, w := range writers {
			records := program(r, n, from)
			blocks[i].Warps[w] = records
			want[i] = append(want[i], pairsOf(w, records, n-capacity)...)
		}
	}
	got, losses := decode(k, hotpathtest.InsideBuffer(k, 0xaa, blocks), uint32(len(blocks)))
	if len(got) != len(blocks) {
		t.Fatalf("%d records in %v: %d blocks, losses %+v", n, units, len(got), losses)
	}
	over := max(0, n-capacity) * len(writers) * len(blocks)
	if losses.Overwritten != uint64(over) || losses.Starts != 0 || losses.Ends != 0 || losses.Broken != 0 {
		t.Fatalf("%d records in %v: losses %+v, want %d overwritten", n, units, losses, over)
	}
	for i, b := range got {
		if len(b.Pairs) != len(want[i]) {
			t.Fatalf("%d records in %v: %d pairs, want %d", n, units, len(b.Pairs), len(want[i]))
		}
		mask := uint64(1<<43 - 1)
		if clock32 {
			mask = 1<<32 - 1
		}
		for j, p := range b.Pairs {
			w := want[i][j]
			if p.Cycles() != w.Cycles() || (p.Start-w.Start)&mask != 0 || p.Scope != w.Scope || p.Warp != w.Warp || p.EndWarp != w.Warp {
				t.Fatalf("%d records in %v from %d: pair %d is %+v, want %+v", n, units, from, j, p, w)
			}
		}
	}
	if n > capacity { // and with the size that it names nothing is lost
		k.BufferSize = int(losses.Need)
		k.SlotSize = hotpathtest.SlotSize(4, k.BufferSize)
		if _, losses = decode(k, hotpathtest.InsideBuffer(k, 0, blocks), uint32(len(blocks))); losses != (profile.InsideLosses{}) {
			t.Fatalf("%d records: with %d bytes %+v are lost", n, k.BufferSize, losses)
		}
	}
}

// A clock whose halves were read on both sides of a carry is 2^32 too late. It is repaired wherever it stands.
func TestTornClocks(t *testing.T) {
	k := kernel(1, nil, 128)
	clean := []hotpathtest.InsideRecord{hotpathtest.InsideIn(0, 1<<40), hotpathtest.InsideIn(1, 1<<40+10), hotpathtest.InsideOut(1, 1<<40+30), hotpathtest.InsideOut(0, 1<<40+70)}
	for torn := range clean {
		records := slices.Clone(clean)
		records[torn].Clock += 1 << 32
		blocks, losses := decode(k, hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{{Init: 5, PreFinal: 900, Warps: map[int][]hotpathtest.InsideRecord{0: records}}}), 1)
		if want := (profile.InsideLosses{Torn: 1}); losses != want {
			t.Errorf("entry %d: losses %+v", torn, losses)
		}
		if p := blocks[0].Pairs; len(p) != 2 || p[0].Cycles() != 20 || p[1].Cycles() != 70 {
			t.Errorf("entry %d: pairs %+v", torn, p)
		}
	}
}

// With sched_stores a start is stored just before its end: ring order is that of the ends.
func TestMovedStores(t *testing.T) {
	for _, clock32 := range []bool{false, true} {
		k := kernel(1, nil, 128)
		k.Mode, k.Clock32 = "default:optimizations=sched_stores", clock32
		records := []hotpathtest.InsideRecord{hotpathtest.InsideIn(1, 1<<32-10), hotpathtest.InsideOut(1, 1<<32+30), hotpathtest.InsideIn(0, 1<<32-50), hotpathtest.InsideOut(0, 1<<32+90)}
		blocks, losses := decode(k, hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{{PreFinal: 900, Warps: map[int][]hotpathtest.InsideRecord{0: records}}}), 1)
		if p := blocks[0].Pairs; losses != (profile.InsideLosses{}) || len(p) != 2 || p[0].Cycles() != 40 || p[1].Cycles() != 140 || p[0].Start-p[1].Start != 40 {
			t.Errorf("clock32 %v: %+v, losses %+v", clock32, p, losses)
		}
	}
}

// A scope of more than half a wrap of 32 bits, 1.1 s, is not one that ends before it starts. The warp's other scopes and what the block says
// of its clock stay right.
func TestLongScopesOf32Bits(t *testing.T) {
	const begin, long, seconds = 5 << 30, 3 << 30, 17 * 1e8 // at 1.9 GHz
	in, out := hotpathtest.InsideIn, hotpathtest.InsideOut
	for name, c := range map[string]struct {
		records []hotpathtest.InsideRecord
		lengths []uint64 // in order of the ends
	}{
		"the only one":                 {[]hotpathtest.InsideRecord{in(0, begin), out(0, begin+long)}, []uint64{long}},
		"around short ones":            {[]hotpathtest.InsideRecord{in(1, begin+10), out(1, begin+50), in(1, begin+long-60), out(1, begin+long-20), in(0, begin), out(0, begin+long)}, []uint64{40, 40, long}},
		"around a long one":            {[]hotpathtest.InsideRecord{in(1, begin+10), out(1, begin+long-10), in(0, begin), out(0, begin+long)}, []uint64{long - 20, long}},
		"around short ones at the end": {[]hotpathtest.InsideRecord{in(1, begin+long-60), out(1, begin+long-20), in(0, begin), out(0, begin+long)}, []uint64{40, long}},
	} {
		k := kernel(1, nil, 128)
		k.Mode, k.Clock32 = "default:optimizations=clock32,sched_stores", true
		blocks, losses := decode(k, hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{{PreFinal: seconds, Warps: map[int][]hotpathtest.InsideRecord{0: c.records}}}), 1)
		b := blocks[0]
		var lengths []uint64
		for _, p := range b.Pairs {
			lengths = append(lengths, p.Cycles())
		}
		if want := (profile.InsideLosses{Unsure: uint64(len(c.lengths))}); !slices.Equal(lengths, c.lengths) || losses != want {
			t.Errorf("%s: scopes of %v cycles, losses %+v", name, lengths, losses)
		}
		if got := b.Last - b.First; got != long {
			t.Errorf("%s: the block ran for %d cycles", name, got)
		}
	}
}

// An event may be ended by another warp; its own is preferred, then the oldest.
func TestEvents(t *testing.T) {
	event := func(r hotpathtest.InsideRecord) hotpathtest.InsideRecord { r.Event = true; return r }
	k := kernel(2, nil, 128)
	block := hotpathtest.InsideBlock{PreFinal: 900, Warps: map[int][]hotpathtest.InsideRecord{
		0: {event(hotpathtest.InsideIn(0, 100)), event(hotpathtest.InsideIn(1, 105)), event(hotpathtest.InsideIn(0, 110))},
		1: {event(hotpathtest.InsideIn(1, 120)), event(hotpathtest.InsideOut(1, 130)), event(hotpathtest.InsideOut(0, 150)), event(hotpathtest.InsideOut(0, 160)), event(hotpathtest.InsideOut(0, 170))},
	}}
	blocks, losses := decode(k, hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{block}), 1)
	want := []inside.Pair{
		{Start: wraps + 120, End: wraps + 130, Warp: 1, EndWarp: 1, Scope: 1, Event: true},
		{Start: wraps + 100, End: wraps + 150, Warp: 0, EndWarp: 1, Scope: 0, Event: true},
		{Start: wraps + 110, End: wraps + 160, Warp: 0, EndWarp: 1, Scope: 0, Event: true},
	}
	if got := blocks[0].Pairs; !slices.Equal(got, want) {
		t.Errorf("pairs %+v", got)
	}
	if want := (profile.InsideLosses{Starts: 1, Ends: 1}); losses != want {
		t.Errorf("losses %+v, want %+v", losses, want)
	}
}

// What a launch lacks is counted, and nothing else of it is.
func TestLosses(t *testing.T) {
	k := kernel(1, nil, 128)
	good := hotpathtest.InsideBlock{PreFinal: 900, Warps: map[int][]hotpathtest.InsideRecord{0: {hotpathtest.InsideIn(0, 1), hotpathtest.InsideOut(0, 5)}}}
	with := func(records ...hotpathtest.InsideRecord) hotpathtest.InsideBlock {
		b := good
		b.Warps = map[int][]hotpathtest.InsideRecord{0: records}
		return b
	}
	absent, backwards := good, good
	absent.Absent = true
	backwards.Init = 901
	for name, c := range map[string]struct {
		block hotpathtest.InsideBlock
		want  profile.InsideLosses
		pairs int
	}{
		"good":              {good, profile.InsideLosses{}, 1},
		"never started":     {absent, profile.InsideLosses{NotStarted: 1}, 0},
		"never ended":       {backwards, profile.InsideLosses{Unfinished: 1}, 0},
		"start without end": {with(hotpathtest.InsideIn(0, 1)), profile.InsideLosses{Starts: 1}, 0},
		"two starts":        {with(hotpathtest.InsideIn(0, 1), hotpathtest.InsideIn(0, 3), hotpathtest.InsideOut(0, 9)), profile.InsideLosses{Starts: 1}, 1},
		"end without start": {with(hotpathtest.InsideOut(0, 1)), profile.InsideLosses{Ends: 1}, 0},
		"two ends":          {with(hotpathtest.InsideIn(0, 1), hotpathtest.InsideOut(0, 2), hotpathtest.InsideOut(0, 3)), profile.InsideLosses{Ends: 1}, 1},
		"unknown scope":     {with(hotpathtest.InsideIn(9, 1), hotpathtest.InsideOut(9, 2)), profile.InsideLosses{Unknown: 1}, 1},
		"too long":          {with(hotpathtest.InsideIn(0, 1), hotpathtest.InsideOut(0, 1e6)), profile.InsideLosses{Broken: 1}, 0},
	} {
		blocks, losses := decode(k, hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{c.block}), 1)
		pairs := 0
		for _, b := range blocks {
			pairs += len(b.Pairs)
		}
		if losses != c.want || pairs != c.pairs {
			t.Errorf("%s: %d pairs, losses %+v, want %d, %+v", name, pairs, losses, c.pairs, c.want)
		}
		if losses.Any() != (c.want != profile.InsideLosses{}) {
			t.Errorf("%s: Any is %v", name, losses.Any())
		}
	}
	if _, losses := decode(k, make([]byte, k.SlotSize+5), 4); losses.NotStarted != 1 || losses.Missing != 3 {
		t.Errorf("a short buffer: %+v", losses)
	}
	wrong := *k
	wrong.Units = []int{1}
	if _, losses := decode(&wrong, hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{good}), 1); losses.Invalid != 1 {
		t.Errorf("a unit that the kernel does not have: %+v", losses)
	}
	slow := *k
	slow.Clock32 = true
	long := good
	long.PreFinal = 3e9
	if _, losses := decode(&slow, hotpathtest.InsideBuffer(&slow, 0, []hotpathtest.InsideBlock{long}), 1); losses.Unsure != 1 {
		t.Errorf("a block of 3 s with 32 bits: %+v", losses)
	}
}

// Whatever the bytes are, decoding ends and no pair is longer than its block.
func FuzzDecode(f *testing.F) {
	k := kernel(2, nil, 128)
	f.Add(hotpathtest.InsideBuffer(k, 0, []hotpathtest.InsideBlock{{PreFinal: 900, Warps: map[int][]hotpathtest.InsideRecord{0: {hotpathtest.InsideIn(0, 1), hotpathtest.InsideOut(0, 5)}}}}), uint8(2), uint8(0), uint32(1), false, "")
	f.Add(make([]byte, 500), uint8(4), uint8(5), uint32(2), true, "sched_stores")
	f.Fuzz(func(t *testing.T, buffer []byte, warps, units uint8, blocks uint32, clock32 bool, mode string) {
		k := kernel(int(warps%40), nil, 128)
		k.Clock32, k.Mode = clock32, mode
		k.SlotSize = max(k.SlotSize-int(units), 0)
		for w := range 8 {
			if units>>w&1 != 0 {
				k.Units = append(k.Units, w)
			}
		}
		decoded, losses := decode(k, buffer, blocks)
		if n := uint64(len(decoded)) + losses.NotStarted + losses.Unfinished + losses.Invalid + losses.Missing; n != uint64(blocks) {
			t.Errorf("%d blocks of %d are accounted for: %+v", n, blocks, losses)
		}
		for _, b := range decoded {
			for _, p := range b.Pairs {
				if longest := (b.PreFinal - b.Init + 1000) * 4; p.End < p.Start || longest>>43 == 0 && p.Cycles() > longest {
					t.Errorf("%+v in %+v", p, b)
				}
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	k := kernel(4, nil, 8192)
	r := rand.New(rand.NewPCG(1, 2))
	blocks := make([]hotpathtest.InsideBlock, 264)
	for i := range blocks {
		blocks[i] = hotpathtest.InsideBlock{SM: uint32(i % 132), Init: 1000, PreFinal: 1e6, Warps: map[int][]hotpathtest.InsideRecord{}}
		for w := range 4 {
			blocks[i].Warps[w] = program(r, 256, 1<<40)
		}
	}
	l := &inside.Launch{Kernel: k, Grid: [3]uint32{264, 1, 1}, Buffer: hotpathtest.InsideBuffer(k, 0, blocks)}
	var d inside.Decoder
	pairs := 0
	for b.Loop() {
		d.Decode(l, func(block *inside.Block) { pairs += len(block.Pairs) })
	}
	b.ReportMetric(float64(pairs)/b.Elapsed().Seconds()/1e6, "Mpairs/s")
}

// h200 is a launch of 64 blocks on an H200 with Triton 3.6.0: a loop of three rounds that loads and multiplies, and a store.
func h200(t testing.TB) *inside.Launch {
	t.Helper()
	packed, err := os.Open("testdata/h200.slots.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	slots, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := io.ReadAll(slots)
	if err != nil {
		t.Fatal(err)
	}
	k := &inside.Kernel{Name: "loop", Mode: "default", Triton: "3.6.0", Arch: "90", Backend: "cuda", SlotSize: 8320, Warps: 4, Scopes: []inside.Scope{
		{ID: 0, Name: "kernel", Parent: -1}, {ID: 1, Name: "load", Parent: 0}, {ID: 2, Name: "math", Parent: 0}, {ID: 3, Name: "store", Parent: 0},
	}}
	return &inside.Launch{Kernel: k, Grid: [3]uint32{64, 1, 1}, Buffer: buffer}
}

func TestSlotsOfAnH200(t *testing.T) {
	l := h200(t)
	var clock inside.Clock
	var d inside.Decoder
	var tally inside.Tally
	losses := d.Decode(l, func(b *inside.Block) {
		tally.Add(b, l.Kernel)
		clock.Add(b)
		counts := map[uint8]int{}
		for i := range b.Pairs {
			counts[b.Pairs[i].Scope]++
		}
		if fmt.Sprint(counts) != "map[0:4 1:12 2:12 3:4]" || b.Rings != 8192 || b.SM > 131 {
			t.Errorf("block %d on %d with %d bytes: %v", b.Program, b.SM, b.Rings, counts)
		}
	})
	sum := tally.Take(l.Kernel, &losses)
	if losses != (profile.InsideLosses{}) || sum.Kernel.Blocks != 64 || sum.Kernel.Warps != 256 {
		t.Errorf("%d blocks, losses %+v", sum.Kernel.Blocks, losses)
	}
	text := ""
	for _, s := range sum.Scopes {
		text += fmt.Sprintf("%s %d times, %d to %d cycles, median %.0f\n", strings.Join(l.Kernel.Path(s.ID), ">"), s.Count(), s.Each.Min, s.Each.Max, s.Each.Quantile(0.5))
	}
	want := `kernel 256 times, 766 to 1078 cycles, median 870
kernel>load 768 times, 28 to 30 cycles, median 28
kernel>math 768 times, 28 to 530 cycles, median 28
kernel>store 256 times, 54 to 70 cycles, median 63
`
	if text != want || sum.Kernel.Times.Min != 448 || sum.Kernel.Times.Max != 608 {
		t.Errorf("blocks of %d to %d ns\n%s", sum.Kernel.Times.Min, sum.Kernel.Times.Max, text)
	}
	// The GPU ran at 1.98 GHz. One launch of short blocks shows the part of it that lies between the first and the last entry.
	if rate := clock.Rate(); clock.Measured() || rate < 1.5 || rate > 1.98 {
		t.Errorf("rate %.3f", rate)
	}
}

// Trimmed slots decode to the same, and compress.
func TestTrimmed(t *testing.T) {
	k := kernel(4, []int{1, 3}, 512)
	r := rand.New(rand.NewPCG(11, 12))
	var blocks []hotpathtest.InsideBlock
	for i := range 6 {
		blocks = append(blocks, hotpathtest.InsideBlock{PreFinal: 1e6, Absent: i == 4, Warps: map[int][]hotpathtest.InsideRecord{1: program(r, 12*i, 100), 3: program(r, 10, 200)}})
	}
	full := hotpathtest.InsideBuffer(k, 0xaa, blocks)
	trimmed := (&inside.Launch{Kernel: k, Grid: [3]uint32{6, 1, 1}, Buffer: full}).Trimmed()
	want, wantLosses := decode(k, full, 6)
	got, losses := decode(k, trimmed, 6)
	if fmt.Sprint(got) != fmt.Sprint(want) || losses != wantLosses {
		t.Errorf("got %v %+v\nwant %v %+v", got, losses, want, wantLosses)
	}
	if left := bytes.Count(trimmed, []byte{0xaa}); left > 100 {
		t.Errorf("%d bytes of what was in memory before are left", left)
	}
}
