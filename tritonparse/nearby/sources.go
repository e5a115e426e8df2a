package nearby

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goproton/goproton/tritonparse"
	"github.com/goproton/goproton/tritonparse/backend"
)

// Sources are folders of this machine whose files may be read because a trace names them, in addition to the trace's own
// folder. The user names them. A trace may come from an untrusted source and may name any file, and what is read is copied into
// files that are made to be shared: a key in the home folder must not be copied with them.
type Sources []string

// CheckSources returns an error if one of them is not a folder.
func CheckSources(folders []string) error {
	for _, folder := range folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("read --files-from %q: it is not a folder; give one below which a trace's files may be read", folder)
		}
	}
	return nil
}

// FileNames is what a file must be to be read. It is decided by the file's name after all links.
type FileNames struct{ names *regexp.Regexp }

// The kinds of files that traces name.
var (
	MachineCode = FileNames{regexp.MustCompile(`\.(` + strings.Join(backend.Binaries(), "|") + `)$`)}
	Contents    = FileNames{regexp.MustCompile(`^[0-9a-f]+\.bin(\.gz)?$`)} // of tensors
	Python      = FileNames{regexp.MustCompile(`\.py$`)}
)

// Find returns the first of several places that has a file of that kind which may be read, and "" if there is none. The file is
// a regular one that lies, with all links followed, below the folder of the trace's file or below one of the sources.
func (s Sources) Find(trace string, kind FileNames, places ...string) string {
	for _, place := range places {
		if real := regular(place); real != "" && kind.names.MatchString(filepath.Base(real)) && s.has(trace, real) {
			return real
		}
	}
	return ""
}

// Outside returns the first of several places that has a file of that kind, which may not be read, and "" if there is none.
func (s Sources) Outside(trace string, kind FileNames, places ...string) string {
	for _, place := range places {
		if real := regular(place); real != "" && kind.names.MatchString(filepath.Base(real)) && !s.has(trace, real) {
			return place
		}
	}
	return ""
}

// regular is a file's path without links, "" if it is not a regular file.
func regular(path string) string {
	if path == "" {
		return ""
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return ""
	}
	if info, err := os.Lstat(real); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return real
}

// has reports whether a path without links is below one of the folders.
func (s Sources) has(trace, real string) bool {
	own := filepath.Dir(trace)
	// A parsed trace may lie in a folder of its own below the raw one's.
	for _, folder := range append([]string{own, filepath.Join(filepath.Dir(own), tensors)}, s...) {
		root, err := filepath.EvalSymlinks(folder)
		if err == nil {
			root, err = filepath.Abs(root)
		}
		if err != nil {
			continue
		}
		if rel, err := filepath.Rel(root, real); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// Code returns the file with the machine code of a compilation, or "" and, for a file that exists, why it may not be read.
func (s Sources) Code(c *tritonparse.Compilation) (file, why string) {
	places := c.CubinPlaces()
	if file = s.Find(c.File, MachineCode, places...); file != "" {
		return file, ""
	}
	if outside := s.Outside(c.File, MachineCode, places...); outside != "" {
		return "", outsideText(outside)
	}
	return "", ""
}

// outsideText says why a file may not be read, and what to do.
func outsideText(file string) string {
	return fmt.Sprintf("%s lies outside of the trace's folder; give --files-from %s to have it read", file, filepath.Dir(file))
}

// TensorPlaces returns where the contents of a tensor may be: the places next to the trace, which may have been moved, and the one
// where they were recorded. trace is the file of the launch.
func TensorPlaces(trace, recorded string) []string {
	base := recorded[strings.LastIndexAny(recorded, `/\`)+1:]
	folder := filepath.Dir(trace)
	tail := filepath.Join(tensors, base[:min(2, len(base))], base)
	return []string{filepath.Join(folder, tail), recorded, filepath.Join(filepath.Dir(folder), tail), filepath.Join(folder, base)}
}
