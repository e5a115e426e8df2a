package cupti

import (
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/gpu/cubin"
	"github.com/goproton/goproton/gpu/record"
)

// TestHashesAgree: code_hash in C and record.HashImage in Go give an image the same hash, whatever its length.
func TestHashesAgree(t *testing.T) {
	image := make([]byte, 100)
	for i := range image {
		image[i] = byte(i * 37)
	}
	seen := map[uint64]int{}
	for n := range image {
		want := record.HashImage(image[:n])
		if got := hashInC(image[:n]); got != want {
			t.Errorf("%d bytes: %016x in C, %016x in Go", n, got, want)
		}
		if other, twice := seen[want]; twice {
			t.Errorf("%d and %d bytes have one hash", n, other)
		}
		seen[want] = n
	}
}

func TestIntervalIsRoundedToAPowerOfTwo(t *testing.T) {
	for cycles, want := range map[uint64]int{0: 0, 1: 5, 32: 5, 33: 5, 1000: 10, 1535: 10, 1537: 11, 32768: 15, 60000: 16, 1 << 31: 31, 1 << 40: 31, 1<<64 - 1: 31} {
		if got := exponent(cycles); got != want {
			t.Errorf("%d cycles: 2^%d, want 2^%d", cycles, got, want)
		}
	}
}

// TestSymbols: cubin.Symbols finds the functions that cubin.Read finds.
func TestSymbols(t *testing.T) {
	files, err := filepath.Glob("../gpu/cubin/testdata/*.cubin*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cubins in ../gpu/cubin/testdata (%v)", err)
	}
	read := 0
	for _, file := range files {
		image, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := cubin.Read(image)
		if err != nil {
			continue // compressed, or damaged on purpose
		}
		read++
		got, err := cubin.Symbols(image)
		if err != nil || len(got) != len(want.Functions) {
			t.Errorf("%s: %d functions (%v), want %d", file, len(got), err, len(want.Functions))
		}
		for _, f := range want.Functions {
			if got[f.Name] != uint32(f.Index) {
				t.Errorf("%s: %s is symbol %d, want %d", file, f.Name, got[f.Name], f.Index)
			}
		}
	}
	if read == 0 {
		t.Error("none of the cubins could be read")
	}
	if _, err := cubin.Symbols([]byte(elf.ELFMAG)); err == nil {
		t.Error("four bytes have symbols")
	}
}

// TestSamplesOfABusyProgram: threads launch, load and unload code, and destroy contexts while samples are collected. No sample is
// lost or counted twice, under each sanitizer.
func TestSamplesOfABusyProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for -short: it compiles C with sanitizers")
	}
	for _, sanitizers := range sanitized() {
		t.Run(sanitizers, func(t *testing.T) {
			program := buildWith(t, sanitizers, "sampling.c", "sampling_config.c", "sampling_read.c", "sampling_thread.c", "sampling_gate.c", "claim.c", "code.c", "callback_sampled.c", "testdata/sampling.c")
			got := play(t, program)
			if want := "samples complete, half of them not issued: yes, reasons 2 wait selected\n"; got != want {
				t.Errorf("got %swant %s", got, want)
			}
		})
	}
}
