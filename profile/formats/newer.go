package formats

import (
	"io"

	"github.com/goproton/goproton/internal/foreign"
	"github.com/goproton/goproton/internal/inflate"
	"github.com/goproton/goproton/internal/version"
)

// writtenByNewer returns what to say about a file that cannot be read, "" if no newer version of this program wrote it. All formats hold the
// name of the writer as text, wherever they have it.
func writtenByNewer(path string) string {
	f, err := foreign.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if plain, _ := plainFile(f); plain == nil { // a pipe has been read already
		return ""
	}
	u, err := inflate.NewReader(f)
	if err != nil {
		return ""
	}
	defer u.Close()
	const overlap = 64 // the name of a writer is shorter
	window := make([]byte, 0, 1<<20)
	for {
		n, err := io.ReadFull(u, window[len(window):cap(window)])
		window = window[:len(window)+n]
		for _, writer := range version.Pattern().FindAll(window, -1) {
			if newer := version.Newer(string(writer)); newer != "" {
				return newer
			}
		}
		if err != nil {
			return ""
		}
		window = window[:copy(window, window[len(window)-overlap:])]
	}
}
