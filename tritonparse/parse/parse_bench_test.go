package parse

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/goproton/goproton/internal/testkit"
	"github.com/goproton/goproton/tritonparse"
)

// BenchmarkParse parses the sample, repeated with other hashes: 38 MB of 25 compilations and 7,785 launches.
func BenchmarkParse(b *testing.B) {
	const copies = 5
	text, err := testkit.Unpacked("../testdata/" + tritonparse.Prefix + "complex_.ndjson.gz")
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	var all bytes.Buffer
	for i := range copies {
		// The five hashes of the sample begin so.
		t := text
		for _, hash := range []string{"72d67842", "e3f91167", "e648e0ca", "707cff48", "b04777ad"} {
			t = bytes.ReplaceAll(t, []byte(hash), fmt.Appendf(nil, "%02x%s", i, hash[2:]))
		}
		all.Write(t)
	}
	if err := os.WriteFile(filepath.Join(dir, tritonparse.Prefix+"big_.ndjson"), all.Bytes(), 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(all.Len()))
	for b.Loop() {
		if _, err := Parse(dir, b.TempDir(), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
