package ndjson

import (
	"io/fs"
	"os"
	"strings"

	"github.com/goproton/goproton/internal/inflate"
)

// IsFile is true for links to files too: folders of links are how large traces are put together.
func IsFile(path string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// extensions of raw traces, longest first; the first bytes say how a file is compressed.
var extensions = []string{".bin.ndjson", ".ndjson"}

// TrimExtension cuts what follows the name proper, and says whether it is that of a trace.
func TrimExtension(name string) (string, bool) {
	name = inflate.Unpacked(name)
	for _, e := range extensions {
		if stem, ok := strings.CutSuffix(name, e); ok {
			return stem, true
		}
	}
	return name, false
}
