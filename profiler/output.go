package profiler

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goproton/goproton/internal/lookup"
	"github.com/goproton/goproton/internal/runinfo"
	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/msgpack"
)

// Output formats, in upstream's words, which are also the suffixes of files.
const (
	treeFormat     = "hatchet"
	msgpackFormat  = "hatchet_msgpack"
	timelineFormat = "chrome_trace"
	timelineSuffix = "." + timelineFormat
)

// writeTree writes a tree in one of its formats. Package formats knows all formats, but it would bring the codecs of the others
// into every process that is profiled: 2.3 MB of libproton.so.
func writeTree(w io.Writer, p *profile.Profile, format string) error {
	if format == msgpackFormat {
		return msgpack.Write(w, p)
	}
	return hatchet.Write(w, p)
}

// formatFor is the format to write a session in; "" is what its kind of data is usually written in.
func (s *session) formatFor(wanted string) (string, error) {
	format := strings.ToLower(wanted)
	own := runinfo.Formats("tree")
	if s.timeline {
		own = runinfo.Formats("trace")
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
	case isFormat(format):
		return "", &ArgumentError{"Output format not supported: " + wanted + "; use " + lookup.Or(own)}
	}
	return "", Unknown("output format", wanted, own)
}

func isFormat(word string) bool {
	return slices.Contains(runinfo.Formats("tree"), word) || slices.Contains(runinfo.Formats("trace"), word)
}

// path is where a phase goes: the plain name unless the session ever advanced. "" is standard output.
func (s *session) path(phase int, format string) string {
	if s.name == "" || s.name == "-" {
		return ""
	}
	if s.phase == 0 && !s.split {
		return s.stem() + "." + format
	}
	return s.run(format).path(phase)
}

// stem is what the paths of all phases begin with.
func (s *session) stem() string {
	if filepath.IsAbs(s.name) {
		return s.name
	}
	return filepath.Join(s.folder, s.name)
}

// run describes the files of the session's phases.
func (s *session) run(format string) partRun {
	return partRun{stem: s.stem(), format: format, windows: s.split}
}

// streams reports whether files are written while the session goes on, without being asked for.
func (s *session) streams() bool { return s.timeline || s.periodic != "" }
