package inflate

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// zeros gives n zero bytes without keeping them.
func zeros(n int64) io.Reader { return io.LimitReader(zeroReader{}, n) }

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// packed packs r once for each letter: g is gzip, z is zstd. The last letter is the outer layer.
func packed(t *testing.T, r io.Reader, layers string) []byte {
	t.Helper()
	var out []byte
	for _, l := range layers {
		var b bytes.Buffer
		var w io.WriteCloser = gzip.NewWriter(&b)
		if l == 'z' {
			w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
		}
		if _, err := io.Copy(w, r); err != nil {
			t.Fatal(err)
		}
		w.Close()
		out = b.Bytes()
		r = bytes.NewReader(out)
	}
	return out
}

func unpackedSize(data []byte) (int64, error) {
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return io.Copy(io.Discard, r)
}

// TestLayersCountTogether unpacks what grows by far too much. The second layer's own input is large, so a limit of each
// layer by itself would let it pass.
func TestLayersCountTogether(t *testing.T) {
	for _, layers := range []string{"z", "gg", "gz", "zz"} {
		bomb := packed(t, zeros(100<<20), layers)
		n, err := unpackedSize(bomb)
		if !errors.Is(err, ErrRatio) || n > Free+Ratio*int64(len(bomb))+bufferSize {
			t.Errorf("%s: %d bytes gave %d, error %v", layers, len(bomb), n, err)
		}
		if err != nil && !strings.Contains(err.Error(), "--"+Flag) {
			t.Errorf("the error does not name the way out: %v", err)
		}
	}
}

// TestAllowAnyRatio is the way out.
func TestAllowAnyRatio(t *testing.T) {
	defer anyRatio.Store(false)
	AllowAnyRatio()
	if n, err := unpackedSize(packed(t, zeros(2*Free), "gg")); n != 2*Free || err != nil {
		t.Errorf("%d bytes, error %v", n, err)
	}
}

// TestHonest: what is small, or shrinks as honest files do, is read; packed twice too.
func TestHonest(t *testing.T) {
	for _, layers := range []string{"", "g", "z", "gg", "zg"} {
		data := packed(t, zeros(Free), layers)
		if layers == "" {
			data, _ = io.ReadAll(zeros(Free))
		}
		if n, err := unpackedSize(data); n != Free || err != nil {
			t.Errorf("%q: %d bytes, error %v", layers, n, err)
		}
	}
	if _, err := unpackedSize(packed(t, zeros(10), "ggg")); err == nil || !strings.Contains(err.Error(), "unpack it first") {
		t.Errorf("packed three times: %v", err)
	}
}

// TestMemory: what a reader keeps may be Base and Multiple times what has been read.
func TestMemory(t *testing.T) {
	var m Memory
	if err := m.Keep(Base, 0); err != nil {
		t.Error(err)
	}
	if err := m.Keep(10*Multiple, 10); err != nil {
		t.Error(err)
	}
	if err := m.Keep(1, 10); !errors.Is(err, ErrDense) {
		t.Errorf("error %v", err)
	}
}
