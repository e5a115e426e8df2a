package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goproton/goproton/profile/formats"
	"github.com/goproton/goproton/replay"
	"github.com/goproton/goproton/tritonparse"
)

// The mutation fuzzer: files that readers accept, changed at random, are read as the commands read them. It runs for as long
// as -mutate says, by default only for a moment:
//
//	go test ./cmd/proton -run TestMutations -timeout 0 -mutate 10m -mutate-memory 1024 -mutate-seed 7
//
// A panic, a reader that takes a minute, or more memory than the budget ends it with the number of the execution, and the
// file is kept. The same seed makes the same files; -mutate-from begins at an execution.
var (
	mutateFor    = flag.Duration("mutate", 2*time.Second, "how long TestMutations runs")
	mutateMemory = flag.Uint64("mutate-memory", 1024, "MiB that the process of TestMutations may have")
	mutateSeed   = flag.Uint64("mutate-seed", 1, "seed of TestMutations")
	mutateFrom   = flag.Uint64("mutate-from", 0, "first execution of TestMutations")
)

// seed is a file to begin with, and what reads it.
type seed struct {
	name string
	data []byte // unpacked
	read func(data []byte) error
}

func readAnyProfile(data []byte) error {
	_, err := formats.Read(bytes.NewReader(data))
	return err
}

func readAnyCapture(data []byte) error {
	_, err := replay.Read(bytes.NewReader(data))
	return err
}

func readAnyTrace(path string) func(data []byte) error {
	return func(data []byte) error {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
		_, err := tritonparse.ReadInfo(path, tritonparse.InfoOptions{Kernel: "matmul_kernel", Args: true})
		_, openErr := tritonparse.Open(path, tritonparse.OpenOptions{Kinds: true})
		return errors.Join(err, openErr)
	}
}

// mutationSeeds are small files of every kind: profiles in all formats, traces and captures.
func mutationSeeds(t *testing.T) (seeds []seed) {
	add := func(read func([]byte) error, largest int, patterns ...string) {
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join("../..", pattern))
			if err != nil || len(files) == 0 {
				t.Fatalf("%s: %v, %v", pattern, files, err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if z, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
					if data, err = io.ReadAll(z); err != nil {
						t.Fatal(err)
					}
				}
				if len(data) <= largest {
					seeds = append(seeds, seed{file, data, read})
				}
			}
		}
	}
	add(readAnyProfile, 64<<10, "viewer/testdata/profiles/*", "testdata/upstream/*.json")
	for _, s := range seeds { // in all other formats, too
		p, err := formats.Read(bytes.NewReader(s.data))
		if err != nil {
			continue
		}
		for _, f := range formats.All() {
			var file bytes.Buffer
			if f.Write != nil && f.Write(&file, p) == nil && file.Len() < 64<<10 {
				seeds = append(seeds, seed{s.name + " as " + f.Name, bytes.Clone(file.Bytes()), readAnyProfile})
			}
		}
	}
	add(readAnyTrace(filepath.Join(t.TempDir(), "trace.ndjson")), 128<<10, "tritonparse/testdata/*.ndjson*")
	add(readAnyCapture, 256<<10, "testdata/captures/*.capture.gz")
	return seeds
}

// mutated changes a file in one to eight places. Now and then it is packed.
func mutated(r *rand.Rand, data, other []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + r.IntN(8) {
		if len(data) == 0 {
			break
		}
		at := r.IntN(len(data))
		size := min(1+r.IntN(1<<r.IntN(10)), len(data)-at)
		switch r.IntN(9) {
		case 0:
			data[at] ^= 1 << r.IntN(8)
		case 1:
			data[at] = []byte{0, 1, 0x7f, 0x80, 0xff, '"', '[', '{', ']', '}', ',', '-', '9', 0xdd, 0xdf, 0xdb}[r.IntN(16)]
		case 2:
			data = append(data[:at], data[at+size:]...)
		case 3:
			data = append(data[:at:at], append(bytes.Clone(data[at:at+size]), data[at:]...)...)
		case 4:
			from := r.IntN(len(other))
			copy(data[at:at+size], other[from:])
		case 5:
			data = data[:at]
		case 6: // replace a number by a large one
			if len(data)-at >= 8 {
				binary.BigEndian.PutUint64(data[at:], r.Uint64()>>r.IntN(64))
			}
		case 7:
			for i := at; i < len(data) && data[i] >= '0' && data[i] <= '9'; i++ {
				data[i] = '9'
			}
		case 8: // many times over, for what is not linear
			if part := data[at : at+size]; len(data) < 64<<10 {
				data = append(data[:at:at], append(bytes.Repeat(part, 1+r.IntN(1<<r.IntN(11))), data[at:]...)...)
			}
		}
	}
	if r.IntN(32) == 0 {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(data)
		z.Close()
		data = packed.Bytes()
	}
	return data[:min(len(data), 1<<20)]
}

// TestMutations is the mutation fuzzer.
func TestMutations(t *testing.T) {
	seeds := mutationSeeds(t)
	var number, began atomic.Uint64
	number.Store(*mutateFrom)
	file := func(n uint64) (seed, []byte) {
		r := rand.New(rand.NewPCG(*mutateSeed, n))
		s := seeds[r.IntN(len(seeds))]
		return s, mutated(r, s.data, seeds[r.IntN(len(seeds))].data)
	}
	fail := func(why string) {
		s, data := file(number.Load())
		path := filepath.Join(os.TempDir(), fmt.Sprintf("goproton-mutation-%d-%d", *mutateSeed, number.Load()))
		_ = os.WriteFile(path, data, 0o600)
		panic(fmt.Sprintf("execution %d (-mutate-seed %d) of %s: %s; the file is %s", number.Load(), *mutateSeed, s.name, why, path))
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(*mutateMemory) << 19)) // garbage is collected long before the budget is reached
	ended := make(chan struct{})
	defer close(ended)
	go watchMutations(ended, &began, fail)
	rejected, start := 0, time.Now()
	for time.Since(start) < *mutateFor {
		n := number.Load()
		s, data := file(n)
		began.Store(uint64(time.Now().UnixNano()))
		func() {
			defer func() {
				if what := recover(); what != nil {
					fail(fmt.Sprintf("%v\n%s", what, debug.Stack()))
				}
			}()
			if err := s.read(data); err != nil {
				rejected++
				if strings.ContainsAny(err.Error(), "\x1b\x00") {
					fail(fmt.Sprintf("the error holds what must not reach a terminal: %q", err))
				}
			}
		}()
		number.Store(n + 1)
	}
	n := number.Load() - *mutateFrom
	t.Logf("%d executions of %d seeds in %.0f s, %d of them refused", n, len(seeds), time.Since(start).Seconds(), rejected)
	if rejected == 0 || uint64(rejected) == n {
		t.Errorf("of %d files %d were refused: the mutations do too much or nothing", n, rejected)
	}
}

// watchMutations fails an execution that takes too long or too much memory.
func watchMutations(ended <-chan struct{}, began *atomic.Uint64, fail func(why string)) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		select {
		case <-ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
		metrics.Read(samples)
		if mb := (samples[0].Value.Uint64() - samples[1].Value.Uint64()) >> 20; mb > *mutateMemory {
			fail(fmt.Sprintf("it takes %d MiB", mb))
		}
		if at := began.Load(); at > 0 && time.Since(time.Unix(0, int64(at))) > time.Minute {
			fail("it takes more than a minute")
		}
	}
}
