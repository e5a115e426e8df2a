package store

import (
	"bytes"
	standard "compress/flate"
	"io"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/klauspost/compress/flate"
)

func unpackRepeats(t testing.TB, z *repeats, text []byte) int {
	t.Helper()
	packed := z.pack(text)
	in := standard.NewReader(io.MultiReader(bytes.NewReader(packed), bytes.NewReader([]byte{3, 0})))
	got, err := io.ReadAll(in)
	if err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes are read back as %d, %v", len(text), len(got), err)
	}
	return len(packed)
}

// TestRepeats: launches are packed about as small as by a general compressor, and come out as they went in.
func TestRepeats(t *testing.T) {
	var z repeats
	text := bytes.Join(testkit.TraceRecords(t, "complex_.ndjson.gz")[1000:1050], nil)
	w, err := flate.NewWriter(io.Discard, 5)
	if err != nil {
		t.Fatal(err)
	}
	general, err := deflate(w, text)
	if err != nil {
		t.Fatal(err)
	}
	if n := unpackRepeats(t, &z, text); n > len(general)*3/2 {
		t.Errorf("%d bytes, %d by a general compressor", n, len(general))
	}
	for _, s := range []string{"", "a", "abcd", strings.Repeat("a", 1000), strings.Repeat("ab", 40000), strings.Repeat("x", 261) + "y"} {
		unpackRepeats(t, &z, []byte(s))
	}
}

// FuzzRepeats compares with the standard library's reader of deflate.
func FuzzRepeats(f *testing.F) {
	f.Add([]byte("abcdabcdabcd"), uint8(3))
	f.Add([]byte("{\"a\":1}\n"), uint8(200))
	f.Fuzz(func(t *testing.T, text []byte, times uint8) {
		var z repeats
		long := bytes.Repeat(text, int(times)+1)
		if len(long) > 1<<20 {
			return
		}
		for i := 97; i < len(long); i += 97 {
			long[i] += byte(i / 97)
		}
		unpackRepeats(t, &z, long)
		unpackRepeats(t, &z, long)
	})
}

func BenchmarkRepeats(b *testing.B) {
	text, err := testkit.Unpacked(testkit.TraceSamples(b) + "/dedicated_log_triton_trace_complex_.ndjson.gz")
	if err != nil {
		b.Fatal(err)
	}
	text = text[len(text)/2:][:ChunkSize]
	b.Run("repeats", func(b *testing.B) {
		var z repeats
		b.SetBytes(ChunkSize)
		for b.Loop() {
			b.ReportMetric(float64(len(z.pack(text))), "bytes")
		}
	})
	b.Run("general", func(b *testing.B) {
		w, _ := flate.NewWriter(io.Discard, 5)
		b.SetBytes(ChunkSize)
		for b.Loop() {
			p, _ := deflate(w, text)
			b.ReportMetric(float64(len(p)), "bytes")
		}
	})
}
