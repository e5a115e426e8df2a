package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/goproton/goproton/profile"
	"github.com/goproton/goproton/viewer"
	"github.com/goproton/goproton/viewer/inside"
)

// flagsOfInside are those that --inside knows.
var flagsOfInside = []string{"inside", "json", "format", "full-names", "mangled", "width", "color", "ascii", "no-pager", "help", "allow-high-compression"}

// checkInside refuses flags that --inside does not know.
func (f *viewerFlags) checkInside(flags *pflag.FlagSet) error {
	if foreign := others(flags, flagsOfInside); len(foreign) > 0 {
		return fmt.Errorf("--inside excludes %s: it prints a table of its own", strings.Join(foreign, ", "))
	}
	return nil
}

// printInside prints the scopes inside of kernels.
func (f *viewerFlags) printInside(p *profile.Profile, out io.Writer) ([]string, error) {
	o := inside.Options{Terminal: f.terminal, Names: viewer.NameFormat(f.format)}
	pattern := f.samples.inside.pattern
	if f.samples.json {
		return nil, inside.WriteJSON(out, p, pattern)
	}
	return inside.Write(out, p, pattern, o)
}
