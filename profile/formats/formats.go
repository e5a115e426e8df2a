// Package formats reads profiles of any format and writes them in any format.
//
// ReadFile finds the format by what a file holds, not by its name: first compression (gzip, zstd), then the first bytes of the
// format or the keys of JSON. TargetOf and TargetNamed find the format to write by its name or by the suffix of a path:
//
//	p, err := formats.ReadFile("run.hatchet.gz")
//	…
//	target, err := formats.TargetOf("run.pb.gz", nil)
//	…
//	for _, lost := range target.Drops(p) {
//		log.Println("pprof has no place for", lost)
//	}
//	err = target.WriteFile("run.pb.gz", p)
//
// The packages next to this one, such as hatchet and perfetto, have one format each. They read a stream and write one, and know
// nothing of compression, files and parts. The API of this package is promised, see CONTRIBUTING.md.
package formats

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/profile/chrometrace"
	"github.com/goproton/goproton/profile/collapsed"
	"github.com/goproton/goproton/profile/hatchet"
	"github.com/goproton/goproton/profile/internal/lanes"
	"github.com/goproton/goproton/profile/msgpack"
	"github.com/goproton/goproton/profile/perfetto"
	"github.com/goproton/goproton/profile/pprofile"
	"github.com/goproton/goproton/profile/speedscope"
)

// Format is one file format. What a codec has to bring is Read, Sniff unless it is JSON, and Write if it writes; Holds and
// Loses must be honest, because `proton convert` tells users by them what gets lost.
type Format struct {
	Name     string      // as users say it: "hatchet"
	Suffixes []string    // ends of file names, the usual one first: ".hatchet". Without .gz or .zst
	About    string      // half a line for --list and --help
	Holds    Holds       // what there is a place for
	Packed   Compression // by default; the path may say otherwise

	// Sniff says by the first bytes of a file (4096, or all of a shorter one, decompressed) whether it is in
	// this format. At most one format may say yes. It is nil for formats in JSON, which keys distinguish.
	Sniff func(head []byte) bool
	Read  func(r io.Reader) (*profile.Profile, error)
	// ReadAt reads a file that is not packed with several processors; nil where Read is all there is.
	ReadAt func(r io.ReaderAt, size int64) (*profile.Profile, error)
	Write  func(w io.Writer, p *profile.Profile) error // uncompressed; nil for a format that is only read

	// Loses says what a file loses of p in addition to what Holds excludes, one clause each; nil for nothing.
	Loses func(p *profile.Profile) []string

	// WriteMetric and LosesMetric are Write and Loses of one metric, "" for the usual one, instead of them: for a
	// format that holds a single metric.
	WriteMetric func(w io.Writer, p *profile.Profile, metric string) error
	LosesMetric func(p *profile.Profile, metric string) []string
}

// all in the order in which they are listed and tried.
var all = []*Format{
	{
		Name: "hatchet", Suffixes: []string{".hatchet"}, About: "JSON tree of Proton, proton-viewer and llnl-hatchet",
		Holds: Tree | Floats | Text | Vectors | Kinds | Devices | Info | Times | Samples | Launches | Inside,
		Read:  hatchet.Read, ReadAt: hatchet.ReadAt, Write: hatchet.Write, Loses: hatchet.Loses,
	},
	{
		Name: "hatchet_msgpack", Suffixes: []string{".hatchet_msgpack"}, About: "the same tree in MessagePack",
		Holds: Tree | Floats | Text | Vectors | Kinds | Devices | Info | Times | Samples | Launches | Inside,
		Sniff: msgpack.Sniff, Read: msgpack.Read, Write: msgpack.Write,
	},
	{
		Name: "pprof", Suffixes: []string{".pprof", ".pb"}, About: "profile.proto of pprof and most continuous profilers",
		Holds: Tree | Floats | Text | Vectors | Kinds | Devices | Info, Packed: Gzip,
		Sniff: pprofile.Sniff, Read: pprofile.Read, Write: pprofile.Write, Loses: pprofile.Loses,
	},
	{
		Name: "collapsed", Suffixes: []string{".collapsed", ".folded"}, About: "folded stacks of one metric, for flamegraph.pl and others",
		Holds: Tree | Bytes,
		Sniff: collapsed.Sniff, Read: collapsed.Read, Write: collapsed.Write,
		WriteMetric: collapsed.WriteMetric, LosesMetric: collapsed.Loses,
	},
	{
		Name: "speedscope", Suffixes: []string{".speedscope.json", ".speedscope"}, About: "flame graphs of speedscope.app, one per metric and lane",
		Holds: Tree | Floats | Timeline,
		Read:  speedscope.Read, Write: speedscope.Write, Loses: speedscope.Loses,
	},
	{
		Name: "chrome_trace", Suffixes: []string{".chrome_trace"}, About: "timeline as JSON, for Perfetto and chrome://tracing",
		Holds: Floats | Text | Vectors | Kinds | Devices | Info | Times | Timeline | Launches,
		Read:  chrometrace.Read, Write: chrometrace.Write, Loses: lanes.Loses,
	},
	{
		Name: "perfetto", Suffixes: []string{".perfetto", ".pftrace", ".perfetto-trace"}, About: "timeline as Perfetto's own trace, smaller and typed",
		Holds: Floats | Text | Vectors | Kinds | Devices | Info | Times | Timeline | Launches,
		Sniff: perfetto.Sniff, Read: perfetto.Read, Write: perfetto.Write, Loses: perfetto.Loses,
	},
}

// All lists the formats.
func All() []*Format { return all }

// ByName finds a format by its name.
func ByName(name string) (*Format, error) {
	for _, f := range all {
		if f.Name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("there is no format %q; there are %s", name, names())
}

// list joins what a function says of every format, "" for those it passes over.
func list(say func(*Format) string) string {
	var words []string
	for _, f := range all {
		if word := say(f); word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

func names() string { return list(func(f *Format) string { return f.Name }) }

// Stem is a path without the suffixes of its format and compression.
func Stem(path string) string {
	_, stem, _ := splitPath(path)
	return stem
}

// ByPath finds the format that the end of a path asks for, with or without .gz or .zst behind it; nil if it
// asks for none.
func ByPath(path string) *Format {
	f, _, _ := splitPath(path)
	return f
}

// splitPath takes "dir/run.hatchet.gz" apart: the format, what is left without its suffix, the compression.
func splitPath(path string) (f *Format, stem string, c Compression) {
	plain, c := cutCompression(path)
	for _, f := range all {
		for _, s := range f.Suffixes {
			if stem, found := strings.CutSuffix(plain, s); found && filepath.Base(plain) != s {
				return f, stem, c
			}
		}
	}
	return nil, plain, c
}
