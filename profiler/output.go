package profiler

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/ownfile"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/msgpack"
)

// Output formats, in upstream's words, which are also the suffixes of files.
const (
	treeFormat    = "hatchet"
	msgpackFormat = "hatchet_msgpack"
	traceFormat   = "chrome_trace"
	traceSuffix   = "." + traceFormat
)

// treeCodecs write what a tree can be written as.
var treeCodecs = map[string]struct {
	write     func(io.Writer, *profile.Profile) error
	writeFile func(string, *profile.Profile) error
}{
	treeFormat:    {hatchet.Write, hatchet.WriteFile},
	msgpackFormat: {msgpack.Write, msgpack.WriteFile},
}

// formatFor is the format to write a session in; "" is what its kind of data is usually written in.
func (s *session) formatFor(wanted string) (string, error) {
	format := strings.ToLower(wanted)
	own := []string{treeFormat, msgpackFormat}
	if s.trace {
		own = []string{traceFormat}
	}
	switch {
	case format == "" && s.format != "":
		return s.format, nil
	case format == "" && s.periodic != "":
		return s.periodic, nil
	case format == "":
		return own[0], nil
	case slices.Contains(own, format):
		return format, nil
	case format == traceFormat || treeCodecs[format].write != nil:
		return "", &ArgumentError{"Output format not supported"}
	}
	return "", &ArgumentError{"Unknown output format: " + wanted}
}

// path is where a phase goes: the plain name unless the session ever advanced. "" is standard output.
func (s *session) path(phase int, format string) string {
	if s.name == "" || s.name == "-" {
		return ""
	}
	name := s.name
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.folder, name)
	}
	if s.phase == 0 {
		return name + "." + format
	}
	return fmt.Sprintf("%s.part_%d.%s", name, phase, format)
}

// streams tells whether files are written while the session goes on, without being asked for.
func (s *session) streams() bool { return s.trace || s.periodic != "" }

// writeTree writes one frozen phase; path "" is standard output.
func writeTree(path, format string, p *profile.Profile) error {
	codec := treeCodecs[format]
	if path == "" {
		if err := codec.write(ownfile.Stdout, p); err != nil {
			return fmt.Errorf("write the profile to standard output: %w", err)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("make the folder of %s: %w; give a name in a folder that can be written", path, err)
	}
	return codec.writeFile(path, p)
}
