package tensor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/testkit"
)

// TestUnpackedSize: a packed tensor has the size that its trace promises, or that its elements need. A trace that promises more
// than the packed file could honestly hold needs the user's word.
func TestUnpackedSize(t *testing.T) {
	const size = 64 << 20
	path := filepath.Join(t.TempDir(), "zeros")
	if err := os.WriteFile(path, testkit.Packed(t, testkit.Zeros(size), "g"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		recorded Recorded
		want     string // in the error
	}{
		{Recorded{Size: size}, ""},
		{Recorded{Size: size - 1}, "more than the 67108863 bytes that the trace says"},
		{Recorded{Elements: size - 4096}, ""},
		{Recorded{Elements: 4096}, "--allow-high-compression"},
		{Recorded{}, "--allow-high-compression"},
		{Recorded{Elements: -1}, "--allow-high-compression"},
	} {
		if _, err := Hash(path, c.recorded); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.recorded, err)
		}
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, r := range []Recorded{{Size: 1 << 40}, {Elements: 1<<63 - 1}} {
		in, err := r.bounded(bytes.NewReader(make([]byte, 2)), file)
		if err != nil || in.(*bounded).left != mostUnpacked {
			t.Fatalf("%+v: %+v, %v", r, in, err)
		}
		in.(*bounded).left = 1
		if _, err := io.ReadAll(in); !errors.Is(err, inflate.ErrRatio) || !strings.Contains(err.Error(), "--"+inflate.Flag) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}
