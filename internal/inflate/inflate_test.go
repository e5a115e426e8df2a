package inflate

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
)

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
		bomb := testkit.Packed(t, testkit.Zeros(100<<20), layers)
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
	if n, err := unpackedSize(testkit.Packed(t, testkit.Zeros(2*Free), "gg")); n != 2*Free || err != nil {
		t.Errorf("%d bytes, error %v", n, err)
	}
}

// TestHonest: what is small, or shrinks as honest files do, is read; packed twice too.
func TestHonest(t *testing.T) {
	for _, layers := range []string{"", "g", "z", "gg", "zg"} {
		data := testkit.Packed(t, testkit.Zeros(Free), layers)
		if layers == "" {
			data, _ = io.ReadAll(testkit.Zeros(Free))
		}
		if n, err := unpackedSize(data); n != Free || err != nil {
			t.Errorf("%q: %d bytes, error %v", layers, n, err)
		}
	}
	if _, err := unpackedSize(testkit.Packed(t, testkit.Zeros(10), "ggg")); err == nil || !strings.Contains(err.Error(), "unpack it first") {
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
