// Package formats opens any profile and writes any format: the one door to the codecs below package profile.
//
// Reading goes by what a file holds, never by its name: compression first (gzip, zstd), then the format's own
// first bytes. Writing goes by name: "hatchet", or the end of the path that is asked for.
package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/hatchet"
)

// Format is one file format.
type Format struct {
	Name     string   // as users say it: "hatchet"
	Suffixes []string // ends of file names, the usual one first: ".hatchet"
	About    string   // half a line for --help
	Sniff    func(head []byte) bool
	Read     func(r io.Reader) (*profile.Profile, error)
	Write    func(w io.Writer, p *profile.Profile) error // nil for a format that is only read
	Loses    func(p *profile.Profile) []string           // what the format cannot hold of p, one clause each
}

// all in the order in which they are tried and listed.
var all = []*Format{
	{
		Name: "hatchet", Suffixes: []string{".hatchet"}, About: "JSON tree of Proton, proton-viewer and llnl-hatchet",
		Sniff: func(head []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(head, " \r\n\t"), []byte("[")) },
		Read:  hatchet.Read, Write: hatchet.Write,
	},
}

// All lists the formats.
func All() []*Format { return all }

// ByName finds a format by its name.
func ByName(name string) (*Format, error) {
	var names []string
	for _, f := range all {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return nil, fmt.Errorf("there is no format %q; there are %s", name, strings.Join(names, ", "))
}

// headSize is how much of a file a format sees before it says whether the file is its own.
const headSize = 4096

// Read reads a profile in any format.
func Read(r io.Reader) (*profile.Profile, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	head, err := buffered.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for _, f := range all {
		if f.Sniff(head) {
			return f.Read(buffered)
		}
	}
	return all[0].Read(buffered) // its error says what is there instead
}

// ReadFile reads the profile in a file.
func ReadFile(path string) (*profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	defer f.Close()
	p, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("read profile %s: %w", path, err)
	}
	return p, nil
}

// ByPath finds the format that the end of a path asks for; nil if it asks for none.
func ByPath(path string) *Format {
	base := filepath.Base(path)
	for _, f := range all {
		for _, s := range f.Suffixes {
			if strings.HasSuffix(base, s) {
				return f
			}
		}
	}
	return nil
}

// NotThere says whether an error of ReadFile is that the file could not be opened, rather than understood.
func NotThere(err error) bool {
	var cannot *fs.PathError
	return errors.As(err, &cannot)
}
